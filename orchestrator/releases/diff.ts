// What differs between two releases: routes, functions, their settings, static files, proxies. Pure.
import { ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import type { Release, ReleaseFunction } from "./release.ts";

export interface ReleaseDiff {
  readonly from: string;
  readonly to: string;
  readonly functions: readonly FunctionDiff[]; // Those that differ, by route.
  readonly site: "same" | "changed" | "added" | "removed";
  readonly proxies: readonly { readonly environment: Environment; readonly from: string | null; readonly to: string | null }[];
}

export interface FunctionDiff {
  readonly name: string;
  readonly route: string;
  readonly change: "added" | "removed" | "rebuilt" | "settings"; // "rebuilt": its code differs, and maybe its settings.
  readonly settings: readonly SettingDiff[];
}

interface SettingDiff {
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

const SETTINGS = ["name", "generation", "concurrency", "timeoutMs", "memoryBytesMax", "rawJson", "bareQuery", "seesVariables"] as const;

export function diffReleases(from: Release, to: Release): ReleaseDiff {
  const before = new Map(from.functions.map((fn) => [routeOf(fn), fn]));
  const after = new Map(to.functions.map((fn) => [routeOf(fn), fn]));
  const routes = [...new Set([...before.keys(), ...after.keys()])].toSorted(byPath);
  return {
    from: from.releaseId,
    to: to.releaseId,
    functions: routes.flatMap((route) => diffOf(route, before.get(route), after.get(route)) ?? []),
    site: siteDiff(from, to),
    proxies: ENVIRONMENTS.flatMap((environment) => {
      const [one = null, other = null] = [from.proxyUrls[environment], to.proxyUrls[environment]];
      return one === other ? [] : [{ environment, from: one, to: other }];
    }),
  };
}

const routeOf = ({ method, path }: ReleaseFunction): string => `${method} ${path}`;

/** By path, then by method: what belongs together stands together. */
function byPath(one: string, other: string): number {
  const [left, right] = [turned(one), turned(other)];
  return left < right ? -1 : Number(left > right);
}

const turned = (route: string): string => route.split(" ").toReversed().join(" ");

function diffOf(route: string, before: ReleaseFunction | undefined, after: ReleaseFunction | undefined): FunctionDiff | null {
  if (before === undefined || after === undefined) {
    const fn = before ?? after;
    return fn === undefined ? null : { name: fn.name, route, change: before === undefined ? "added" : "removed", settings: [] };
  }
  const settings = SETTINGS.flatMap((name): SettingDiff[] => {
    const [one, other] = [String(before[name] ?? DEFAULTS[name]), String(after[name] ?? DEFAULTS[name])];
    return one === other ? [] : [{ name, from: one, to: other }];
  });
  if (before.buildId !== after.buildId) return { name: after.name, route, change: "rebuilt", settings };
  return settings.length === 0 ? null : { name: after.name, route, change: "settings", settings };
}

/** What a release that does not say means. */
const DEFAULTS: Readonly<Partial<Record<(typeof SETTINGS)[number], boolean>>> = { rawJson: false, bareQuery: false, seesVariables: true };

function siteDiff({ site: one }: Release, { site: other }: Release): ReleaseDiff["site"] {
  if (one === null || other === null) {
    if (one === other) return "same";
    return one === null ? "added" : "removed";
  }
  return JSON.stringify(one) === JSON.stringify(other) ? "same" : "changed";
}

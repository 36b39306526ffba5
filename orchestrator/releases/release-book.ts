// Remembers the releases of an app and what is live where, in the control state; nothing else of a deploy is written down.
import { ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { DEPLOYMENT_COUNT_REMEMBERED } from "../../runtime-image/contract/limits.ts";
import type { Release } from "./release.ts";

/** Durable and small; keys of letters, digits, dots and dashes. */
export interface ControlState {
  read(key: string): Promise<{ readonly value: unknown; readonly revision: number } | null>;
  /** Null where the key is not at the revision that was expected (0: not there). */
  write(key: string, value: unknown, options?: { readonly expectedRevision?: number }): Promise<number | null>;
  remove(key: string): Promise<void>;
  /** Every key below a prefix: "a" finds "a.b". */
  list(prefix: string): Promise<readonly { readonly key: string; readonly value: unknown }[]>;
}

/** Where a release comes from. */
export interface ReleaseOrigin {
  readonly by: string; // The name of a token, or "up" for a folder that is watched.
  readonly commit: string | null;
  readonly message: string | null;
  readonly deliveryId: string | null;
}

export const RELEASE_OUTCOMES = ["green", "red", "superseded"] as const;
/** "green": it ran on staging; "red": its functions do not start; "superseded": a later one came first. */
export type ReleaseOutcome = (typeof RELEASE_OUTCOMES)[number];

export interface KnownRelease {
  readonly release: Release;
  readonly origin: ReleaseOrigin;
  readonly outcome: ReleaseOutcome;
}

export interface Pointer {
  readonly releaseId: string;
  /** What was live before, the latest last; a rollback takes its last one. */
  readonly earlier: readonly string[];
}

export interface ReleaseBook {
  /** A release that was green once stays green: it ran. */
  keep(known: KnownRelease): Promise<void>;
  /** Null where there is none of that id. */
  find(releaseId: string): Promise<KnownRelease | null>;
  list(): Promise<readonly KnownRelease[]>;
  forget(releaseId: string): Promise<void>;
  pointer(environment: Environment): Promise<Pointer | null>;
  /** From what it was to what it is to be. */
  point(environment: Environment, move: (before: Pointer | null) => Pointer): Promise<void>;
  deployed(environment: Environment): Promise<Release | null>;
  /** Everything of this app. */
  clear(): Promise<void>;
}

const NO_ORIGIN: ReleaseOrigin = { by: "up", commit: null, message: null, deliveryId: null };
const POINT_ATTEMPT_COUNT_MAX = 5; // A second writer exists only while one orchestrator takes over from another.

export function createReleaseBook(state: ControlState, appId: string): ReleaseBook {
  const releaseKey = (releaseId: string): string => `release.${appId}.${releaseId}`;
  const pointerKey = (environment: Environment): string => `deployment.${appId}.${environment}`;
  const find = async (releaseId: string): Promise<KnownRelease | null> => knownIn((await state.read(releaseKey(releaseId)))?.value);
  const pointer = async (environment: Environment): Promise<Pointer | null> =>
    pointerIn((await state.read(pointerKey(environment)))?.value);
  return {
    async keep({ release, origin, outcome }) {
      const before = await find(release.releaseId);
      const kept = before?.outcome === "green" ? { ...before, ...(outcome === "green" ? { origin } : {}) } : { release, origin, outcome };
      if (JSON.stringify(kept) === JSON.stringify(before)) return;
      await state.write(releaseKey(release.releaseId), { ...kept.release, origin: kept.origin, outcome: kept.outcome });
    },
    find,
    list: async () => (await state.list(`release.${appId}`)).flatMap(({ value }) => knownIn(value) ?? []),
    forget: async (releaseId) => state.remove(releaseKey(releaseId)),
    pointer,
    async point(environment, move) {
      for (let attempt = 1; attempt <= POINT_ATTEMPT_COUNT_MAX; attempt += 1) {
        const entry = await state.read(pointerKey(environment));
        const { releaseId, earlier } = move(pointerIn(entry?.value));
        const value = { releaseId, earlier: earlier.slice(-DEPLOYMENT_COUNT_REMEMBERED) };
        if ((await state.write(pointerKey(environment), value, { expectedRevision: entry?.revision ?? 0 })) !== null) return;
      }
      throw new PlatformError("NATS_FAILED", { detail: `What is live on ${environment} changed under ${POINT_ATTEMPT_COUNT_MAX} writes.` });
    },
    async deployed(environment) {
      const live = await pointer(environment);
      return live === null ? null : ((await find(live.releaseId))?.release ?? null);
    },
    async clear() {
      for (const environment of ENVIRONMENTS) await state.remove(pointerKey(environment));
      for (const { key } of await state.list(`release.${appId}`)) await state.remove(key);
    },
  };
}

/** What a deploy or a promote makes of the pointer. */
export const movedTo =
  (releaseId: string) =>
  (before: Pointer | null): Pointer => {
    if (before === null) return { releaseId, earlier: [] };
    return before.releaseId === releaseId ? before : { releaseId, earlier: [...before.earlier, before.releaseId] };
  };

/** What a rollback makes of it: what came after its target is no longer an earlier one. */
export const backTo =
  (releaseId: string) =>
  (before: Pointer | null): Pointer => {
    const earlier = before?.earlier ?? [];
    const position = earlier.lastIndexOf(releaseId);
    return position < 0 ? movedTo(releaseId)(before) : { releaseId, earlier: earlier.slice(0, position) };
  };

function pointerIn(value: unknown): Pointer | null {
  if (typeof value !== "object" || value === null || !("releaseId" in value) || typeof value.releaseId !== "string") return null;
  const earlier = "earlier" in value && Array.isArray(value.earlier) ? value.earlier.map(String) : [];
  return { releaseId: value.releaseId, earlier };
}

/** Only this file writes releases, so their outline is enough to know one. Those of the first days knew no sites, proxies and origins. */
function knownIn(value: unknown): KnownRelease | null {
  if (!isRelease(value)) return null;
  const { origin, outcome, ...release } = value;
  return {
    release: { ...release, site: release.site ?? null, proxyUrls: release.proxyUrls ?? {} },
    origin: origin ?? NO_ORIGIN,
    outcome: outcome ?? "green",
  };
}

type KeptRelease = Omit<Release, "site" | "proxyUrls"> & Partial<Release> & { origin?: ReleaseOrigin; outcome?: ReleaseOutcome };

const isRelease = (value: unknown): value is KeptRelease =>
  typeof value === "object" && value !== null && "releaseId" in value && "functions" in value && Array.isArray(value.functions);

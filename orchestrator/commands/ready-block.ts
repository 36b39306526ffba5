// What `orchestrator up` shows once an app answers: where, and what answers on which path. Pure.
import type { AppSource, FunctionSource } from "../apps/app-source.ts";
import type { UpSettings } from "../config.ts";
import { addressesOf } from "./addresses.ts";
import { listenRow } from "./platform-flags.ts";

export interface ReadyFacts {
  readonly settings: UpSettings;
  readonly app: AppSource;
  readonly engineLine: string;
  readonly isPromoted: boolean;
  readonly sizedSite: { readonly fileCount: number; readonly answersRoot: boolean } | null;
}

const ROUTES_SHOWN_MAX = 20; // More than this pushes the addresses out of a terminal of 40 lines.

export function readyLines(facts: ReadyFacts): string[] {
  const { settings, app, engineLine, isPromoted } = facts;
  const { staging, production, api } = addressesOf(settings);
  const rows: (readonly [label: string, text: string])[] = [
    ["staging", staging],
    ["production", isPromoted ? production : `${production}   (answers 503 until you promote: orchestrator promote)`],
    ...listenRow(settings),
    ["management API", api],
    ["engine", engineLine],
    ...(app.generation === "current" ? [] : [["generation", app.generation] as const]),
    ...routeRows(app.functions),
    ...restRows(facts),
  ];
  const end = settings.isWatching ? "Save a file to reload its function. Ctrl-C stops everything." : "Ctrl-C stops everything.";
  return ["", `  ${app.appName} is up`, "", ...rows.map(([label, text]) => `  ${label.padEnd(16)}${text}`), "", `  ${end}`, ""];
}

/** The same for programs. */
export function readyValue({ settings, app, engineLine, isPromoted, sizedSite }: ReadyFacts): object {
  return {
    app: app.appName,
    generation: app.generation,
    ...addressesOf(settings),
    engine: engineLine,
    home: settings.home,
    isPromoted,
    routes: app.functions.map((fn) => ({ method: fn.method, path: fn.path, function: fn.name, generation: fn.generation })),
    staticFiles: sizedSite?.fileCount ?? 0,
    proxy: app.proxyUrls,
  };
}

function routeRows(functions: readonly FunctionSource[]): (readonly [string, string])[] {
  const shown = functions.slice(0, ROUTES_SHOWN_MAX);
  const width = Math.max(...shown.map((fn) => routeOf(fn).length));
  const lines = shown.map((fn) => `${routeOf(fn).padEnd(width)}   ${fn.name}`);
  if (functions.length > shown.length) lines.push(`… and ${functions.length - shown.length} more`);
  return lines.map((line, index) => [index === 0 ? "routes" : "", line]);
}

const routeOf = (fn: FunctionSource): string => `${fn.method.padEnd(6)} ${fn.path}`;

/** What answers where no route does. */
function restRows({ app, sizedSite }: ReadyFacts): (readonly [string, string])[] {
  const { staging, production } = app.proxyUrls;
  const rows: (readonly [string, string])[] = [];
  if (sizedSite !== null) {
    const files = `${sizedSite.fileCount} file${sizedSite.fileCount === 1 ? "" : "s"} of ${app.site?.folder.slice(app.folder.length + 1)}/`;
    rows.push(["static", `${files} below /_static${sizedSite.answersRoot ? rootText({ staging, production }) : ""}`]);
  }
  if (staging !== undefined && staging === production) rows.push(["proxy", `paths without a route go to ${staging}`]);
  else {
    if (staging !== undefined) rows.push(["proxy", `paths without a route go to ${staging} on staging`]);
    if (production !== undefined) rows.push(["proxy", `paths without a route go to ${production} on production`]);
  }
  return rows;
}

/** A proxy comes before the files: they answer only where there is none. */
function rootText(proxies: { readonly staging: string | undefined; readonly production: string | undefined }): string {
  const urls = Object.values(proxies).filter((url) => url !== undefined);
  if (urls.length === 2) return "";
  return urls.length === 0 ? " and on every path without a route" : " and, where there is no proxy, on every path without a route";
}

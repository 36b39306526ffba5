// Decides what answers a request of an app: a function, a static file, the proxied upstream, or nothing. Pure.
import { matchRoute, type RouteMatch } from "./match.ts";
import type { RouteTable } from "./table.ts";

export type Target =
  | { readonly kind: "function"; readonly match: RouteMatch }
  | { readonly kind: "site"; readonly area: "static" | "root" } // Below /_static, or anywhere in an app without GET /.
  | { readonly kind: "proxy"; readonly url: string }
  | { readonly kind: "nothing" };

/** What of a deployment decides it. */
export interface TargetFacts {
  readonly table: RouteTable;
  readonly site: { readonly answersRoot: boolean } | null;
  readonly proxyUrl: string | null;
}

const STATIC = "/_static";

export function chooseTarget(facts: TargetFacts, request: { readonly method: string; readonly path: string }): Target {
  const { site, proxyUrl } = facts;
  if (isBelowStatic(request.path)) return site === null ? { kind: "nothing" } : { kind: "site", area: "static" };
  const match = matchRoute(facts.table, request);
  if (match !== null && match.route !== "$default") return { kind: "function", match };
  if (proxyUrl !== null) return { kind: "proxy", url: proxyUrl };
  if (match !== null) return { kind: "function", match };
  return site?.answersRoot === true ? { kind: "site", area: "root" } : { kind: "nothing" };
}

const isBelowStatic = (path: string): boolean => path.startsWith(STATIC) && (path.length === STATIC.length || path[STATIC.length] === "/");

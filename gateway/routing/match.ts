// Finds the route of a request. The cost depends on the path, never on how many routes an app has.
import { decodeOrNull } from "../target.ts";
import type { Route, RouteNode, RouteTable } from "./table.ts";

export interface RouteMatch {
  readonly key: string; // Which function: the route as its manifest writes it.
  readonly route: string; // What the function is told: the key, or "$default".
  readonly params: Readonly<Record<string, string>> | null;
}

export function matchRoute(table: RouteTable, request: { readonly method: string; readonly path: string }): RouteMatch | null {
  const segments = splitPath(request.path);
  const values: string[] = [];
  const found = descend(table.root, { method: request.method, segments, values }, 0);
  if (found !== null) return { key: found.key, route: found.key, params: paramsOf(found, values) };
  if (table.fallback === null) return null;
  return { key: table.fallback.key, route: "$default", params: null };
}

/** Decoded segments; one slash at the end of a path does not count, unless what stands before it is empty. */
export function splitPath(path: string): string[] {
  const end = path.length > 1 && path.endsWith("/") && path[path.length - 2] !== "/" ? path.length - 1 : path.length;
  const inner = path.slice(1, end);
  if (inner === "") return [];
  const segments = inner.split("/");
  if (!inner.includes("%")) return segments;
  return segments.map((segment) => decodeOrNull(segment) ?? segment);
}

interface Search {
  readonly method: string;
  readonly segments: readonly string[];
  readonly values: string[]; // Of the params on the way down; taken back when a branch leads nowhere.
}

// Static before param before catch-all at every segment; a branch without the method is left for the next one.
function descend(node: RouteNode, search: Search, index: number): Route | null {
  const segment = search.segments[index];
  if (segment === undefined) return byMethod(node.ends, search.method);
  const child = node.statics.get(segment);
  if (child !== undefined) {
    const found = descend(child, search, index + 1);
    if (found !== null) return found;
  }
  if (node.param !== null && segment !== "") {
    search.values.push(segment);
    const found = descend(node.param, search, index + 1);
    if (found !== null) return found;
    search.values.pop();
  }
  const rest = byMethod(node.rests, search.method);
  if (rest !== null) search.values.push(search.segments.slice(index).join("/"));
  return rest;
}

function byMethod(routes: ReadonlyMap<string, Route>, method: string): Route | null {
  if (routes.size === 0) return null;
  return routes.get(method) ?? (method === "HEAD" ? routes.get("GET") : undefined) ?? routes.get("ANY") ?? null;
}

function paramsOf(route: Route, values: readonly string[]): Record<string, string> | null {
  if (route.paramNames.length === 0) return null;
  return Object.fromEntries(route.paramNames.map((name, index) => [name, values[index] ?? ""]));
}

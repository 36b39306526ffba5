// Builds what requests of one app are matched against: a tree with one level per path segment.
import type { FunctionSnapshot } from "../../runtime-image/contract/snapshot.ts";
import { decodeOrNull } from "../target.ts";

export interface Route {
  readonly key: string; // As the manifest writes it: "GET /shop/:item".
  readonly paramNames: readonly string[];
}

export interface RouteNode {
  readonly statics: Map<string, RouteNode>;
  param: RouteNode | null;
  readonly ends: Map<string, Route>; // By method: routes whose path ends here.
  readonly rests: Map<string, Route>; // By method: routes whose catch-all begins here.
}

export interface RouteTable {
  readonly root: RouteNode;
  readonly fallback: Route | null; // What answers where nothing matches.
}

type RoutedFunction = Pick<FunctionSnapshot, "method" | "path">;

export const routeKeyOf = (served: RoutedFunction): string => `${served.method} ${served.path}`;

export function buildRouteTable(functions: readonly RoutedFunction[]): RouteTable {
  const root = emptyNode();
  for (const served of functions) insert(root, served);
  return { root, fallback: root.ends.get("GET") ?? root.ends.get("ANY") ?? null };
}

function insert(root: RouteNode, served: RoutedFunction): void {
  const segments = routeSegments(served.path);
  const paramNames: string[] = [];
  let node = root;
  for (const [index, segment] of segments.entries()) {
    if (segment === "*" && index === segments.length - 1) {
      paramNames.push("proxy");
      node.rests.set(served.method, { key: routeKeyOf(served), paramNames });
      return;
    }
    if (segment.startsWith(":")) {
      paramNames.push(segment.slice(1));
      node.param ??= emptyNode();
      node = node.param;
    } else {
      node = staticChild(node, decodeOrNull(segment) ?? segment);
    }
  }
  node.ends.set(served.method, { key: routeKeyOf(served), paramNames });
}

function routeSegments(path: string): string[] {
  const inner = path.slice(1);
  const trimmed = inner.endsWith("/") ? inner.slice(0, -1) : inner;
  return trimmed === "" ? [] : trimmed.split("/");
}

function staticChild(node: RouteNode, segment: string): RouteNode {
  let child = node.statics.get(segment);
  if (child === undefined) {
    child = emptyNode();
    node.statics.set(segment, child);
  }
  return child;
}

const emptyNode = (): RouteNode => ({ statics: new Map(), param: null, ends: new Map(), rests: new Map() });

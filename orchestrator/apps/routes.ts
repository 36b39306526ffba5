// Rules about routes that need no file: which paths are possible, which two routes say the same, which folder a route lives in. Pure.
import { ROUTE_METHODS, type RouteMethod } from "../../runtime-image/contract/snapshot.ts";

export interface Route {
  readonly method: RouteMethod;
  readonly path: string;
}

const PATH = /^\/[a-zA-Z0-9/\-:._*]*$/;

/** What is wrong with a path, as the end of a sentence about it; null if nothing is. */
export function pathProblem(path: string): string | null {
  if (!path.startsWith("/")) return 'should begin with "/"';
  if (!PATH.test(path)) return "may hold letters, digits and / - . _ : * only";
  if (path === "/") return null;
  if (path.endsWith("/")) return 'should not end in "/"';
  const segments = path.slice(1).split("/");
  if (segments.includes("")) return 'should not hold "//"';
  if (segments[0] === "_static") return "lies under /_static, which is kept for static files";
  for (const [index, segment] of segments.entries()) {
    if (segment === "*" ? index !== segments.length - 1 : segment.includes("*")) return "may have * as its last part only";
    if (segment.startsWith(":") ? !/^:[a-zA-Z0-9_.-]+$/.test(segment) : segment.includes(":"))
      return "should write a parameter as a whole part, such as /:name";
    if (/[-._]$/.test(segment)) return `has a part that ends in ${segment.at(-1)}`;
  }
  const names = segments.filter((segment) => segment.startsWith(":")).map((segment) => segment.slice(1));
  if (new Set(names).size !== names.length) return "names a parameter twice";
  if (segments.at(-1) === "*" && names.includes("proxy")) return "has a parameter :proxy, which is what handlers call the * at the end";
  return null;
}

/** Two routes that match the same requests: equal but for the names of parameters. The origin is what the owner finds a route by. */
export function duplicateProblems(routes: readonly (Route & { readonly origin: string })[]): string[] {
  const seen = new Map<string, Route & { readonly origin: string }>();
  const problems: string[] = [];
  for (const route of routes) {
    const shape = `${route.method} ${route.path.replaceAll(/:[^/]+/g, ":")}`;
    const earlier = seen.get(shape);
    if (earlier === undefined) seen.set(shape, route);
    else problems.push(`${bothOf(earlier, route)} answer the same requests; keep one of them`);
  }
  return problems;
}

const bothOf = (one: Route & { origin: string }, other: Route & { origin: string }): string =>
  one.origin === other.origin
    ? `${one.origin}: "${nameOf(one)}" and "${nameOf(other)}"`
    : `"${nameOf(one)}" (${one.origin}) and "${nameOf(other)}" (${other.origin})`;

export const nameOf = (route: Route): string => `${route.method.toLowerCase()} ${route.path}`;

/** Null for what is no method of a route. */
export function methodOf(value: unknown): RouteMethod | null {
  if (typeof value !== "string") return null;
  const upper = value.toUpperCase();
  return ROUTE_METHODS.find((method) => method === upper) ?? null;
}

/** Folder names that may hold a route, the preferred one first: the originals write "-" and "." as "_", the contract keeps dashes. */
export function folderNames(route: Route): string[] {
  const method = route.method.toLowerCase();
  if (route.path === "/") return [`${method}-index`];
  const name = (path: string): string => path.slice(1).replaceAll("/", "-").replaceAll(":", "000").replaceAll("*", "catchall");
  const preferred = `${method}-${name(route.path.replaceAll(/[-.]/g, "_"))}`;
  const plain = `${method}-${name(route.path)}`;
  return preferred === plain ? [preferred] : [preferred, plain];
}

/** Endings of files: where no manifest says it, "get-sw_js" is much sooner /sw.js than /sw-js. */
const FILE_ENDING = /_(css|csv|gif|htm|html|ico|ics|jpg|js|json|map|mjs|pdf|png|rss|svg|txt|webmanifest|webp|xml)$/;

/** The route of a folder, where no manifest says it; null where the name is none. */
export function routeOfFolder(folderName: string): Route | null {
  const match = /^([a-z]+)-(.+)$/.exec(folderName);
  const [, word = "", name = ""] = match ?? [];
  const method = methodOf(word);
  if (method === null) return null;
  if (name === "index") return { method, path: "/" };
  const segments = name.split("-").map((segment, index, all) => {
    if (segment.startsWith("000")) return `:${segment.slice(3)}`;
    const isLast = index === all.length - 1;
    if (segment === "catchall" && isLast) return "*";
    return (isLast ? segment.replace(FILE_ENDING, ".$1") : segment).replaceAll("_", "-");
  });
  const path = `/${segments.join("/")}`;
  return pathProblem(path) === null ? { method, path } : null;
}

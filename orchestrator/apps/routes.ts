// Rules about routes that need no file: which paths are possible, which two routes say the same, which folder a route lives in. Pure.
import type { RouteMethod } from "../../runtime-image/contract/snapshot.ts";

interface Route {
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
  const names = segments.filter((segment) => segment.startsWith(":")).map((segment) => segment.slice(1));
  if (new Set(names).size !== names.length) return "names a parameter twice";
  for (const [index, segment] of segments.entries()) {
    if (segment === "*" ? index !== segments.length - 1 : segment.includes("*")) return "may have * as its last part only";
    if (segment.startsWith(":") ? !/^:[a-zA-Z0-9_]+$/.test(segment) : segment.includes(":"))
      return "should write a parameter as a whole part, such as /:name";
    if (/[-._]$/.test(segment)) return `has a part that ends in ${segment.at(-1)}`;
  }
  return null;
}

/** Two routes that match the same requests: equal but for the names of parameters. */
export function duplicateProblems(routes: readonly Route[]): string[] {
  const seen = new Map<string, Route>();
  const problems: string[] = [];
  for (const route of routes) {
    const shape = `${route.method} ${route.path.replaceAll(/:[^/]+/g, ":")}`;
    const earlier = seen.get(shape);
    if (earlier === undefined) seen.set(shape, route);
    else problems.push(`@http: "${nameOf(earlier)}" and "${nameOf(route)}" answer the same requests; keep one of them`);
  }
  return problems;
}

const nameOf = (route: Route): string => `${route.method.toLowerCase()} ${route.path}`;

/** Folder names that may hold a route, the preferred one first: the originals write "-" and "." as "_", the contract keeps dashes. */
export function folderNames(route: Route): string[] {
  const method = route.method.toLowerCase();
  if (route.path === "/") return [`${method}-index`];
  const name = (path: string): string => path.slice(1).replaceAll("/", "-").replaceAll(":", "000").replaceAll("*", "catchall");
  const preferred = `${method}-${name(route.path.replaceAll(/[-.]/g, "_"))}`;
  const plain = `${method}-${name(route.path)}`;
  return preferred === plain ? [preferred] : [preferred, plain];
}

/** The route of a folder, where no manifest says it; null where the name is none. */
export function routeOfFolder(folderName: string): { method: RouteMethod; path: string } | null {
  const match = /^(get|post|patch|put|delete|head|options|any)-(.+)$/.exec(folderName);
  if (match === null) return null;
  const [, method = "", name = ""] = match;
  const segments = name.split("-").map((segment, index, all) => {
    if (segment.startsWith("000")) return `:${segment.slice(3)}`;
    if (segment === "catchall" && index === all.length - 1) return "*";
    return segment.replaceAll("_", "-");
  });
  // The expression above lists the methods in lower case and nothing else.
  return { method: method.toUpperCase() as RouteMethod, path: name === "index" ? "/" : `/${segments.join("/")}` };
}

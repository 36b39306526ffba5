// Reads a route as it is written in a command, "POST /api/submit", and holds new ones to the rules for routes that are not written by hand. Pure.
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { NEW_ROUTE_PATH_LENGTH_MAX } from "../../runtime-image/contract/limits.ts";
import { ROUTE_METHODS } from "../../runtime-image/contract/snapshot.ts";
import type { KindOfRoute } from "./manifest-piece.ts";
import { show } from "./pragmas.ts";
import { type Route, methodOf, pathProblem } from "./routes.ts";

export const ROUTE_KINDS = ["http", "html", "json"] as const;
export type RouteKind = (typeof ROUTE_KINDS)[number];

/** Throws ROUTE_INVALID with every problem of the text. */
export function newRoute({ route: text, kind }: { readonly route: string; readonly kind: RouteKind }): KindOfRoute & { kind: RouteKind } {
  const [word = "", path = "", ...more] = wordsOf(text);
  const method = methodOf(word);
  const problems = path === "" || more.length > 0 ? [`${cut(text)} should be a method and a path, such as "POST /api/submit"`] : [];
  if (path !== "" && method === null) problems.push(`the method should be one of ${ROUTE_METHODS.join(", ")}, got ${cut(word)}`);
  if (method !== null && kind !== "http" && !WRAPPED.includes(method))
    problems.push(`the method of a route of kind ${kind} should be one of ${WRAPPED.join(", ")}, got ${method}`);
  if (path !== "") problems.push(...newPathProblems(path).map((problem) => `the path ${cut(path)} ${problem}`));
  if (method !== null && problems.length === 0) return { kind, method, path };
  throw new PlatformError("ROUTE_INVALID", {
    detail: `${cut(text)} has ${problems.length} problem${problems.length === 1 ? "" : "s"}.`,
    problems,
    remedy: "Longer paths, and those with - . _ or *, may be written into the app's manifest by hand.",
  });
}

/** A route that an app may have, by whatever rules it was made; null where the text is none. */
export function routeOfText(text: string): Route | null {
  const [word, path, ...more] = wordsOf(text);
  const method = methodOf(word);
  return method === null || path === undefined || more.length > 0 ? null : { method, path };
}

/** As people and commits call it. */
export const titleOf = (route: Route): string => `${route.method} ${route.path}`;

/** What of a text fits into a message. */
export const cut = (text: string): string => show(text.length > 64 ? `${text.slice(0, 64)}…` : text);

const WRAPPED: readonly string[] = ["GET", "POST", "PATCH", "PUT", "DELETE"]; // The library has a wrapper for each of these.

const wordsOf = (text: string): string[] => text.slice(0, TEXT_LENGTH_READ).trim().split(/\s+/);
const TEXT_LENGTH_READ = 4_096; // No route is nearly as long.

function newPathProblems(path: string): string[] {
  const problems: string[] = [];
  if (path.length > NEW_ROUTE_PATH_LENGTH_MAX)
    problems.push(`is longer than ${NEW_ROUTE_PATH_LENGTH_MAX} characters: it has ${path.length}`);
  if (!/[^a-zA-Z0-9/:]/.test(path)) return [...problems, ...[pathProblem(path)].filter((problem) => problem !== null)];
  if (!path.startsWith("/")) problems.push('should begin with "/"');
  return [...problems, "may hold letters, digits, slashes and parameters such as /:name only"];
}

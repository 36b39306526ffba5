// The routes that a manifest lists, of every kind and in every form that the originals took. Pure.
import { ROUTE_METHODS, type RouteMethod } from "../../runtime-image/contract/snapshot.ts";
import { FUNCTION_KINDS, type FunctionKind } from "./app-source.ts";
import type { RawManifest } from "./manifest-text.ts";
import { type Findings, isList, isRecord, show, valuesOf } from "./pragmas.ts";
import { type Route, duplicateProblems, methodOf, pathProblem } from "./routes.ts";

export interface ManifestRoute extends Route {
  readonly kind: FunctionKind;
  readonly source: string | null; // A folder that the manifest names, relative to the app's; null: the folder that follows from the route.
}

/** Kinds whose routes answer GET and may be written as a path alone. */
const PATH_ONLY: ReadonlySet<FunctionKind> = new Set(["css", "js", "text", "xml"]);

export function readRoutes(raw: RawManifest, findings: Findings): ManifestRoute[] {
  const routes = FUNCTION_KINDS.flatMap((kind) => (raw[kind] ?? []).flatMap((item, index) => routesOf(item, { kind, index }, findings)));
  findings.problems.push(...duplicateProblems(routes.map((route) => ({ ...route, origin: `@${route.kind}` }))));
  return routes;
}

interface Place {
  readonly kind: FunctionKind;
  readonly index: number;
}

function routesOf(item: unknown, place: Place, findings: Findings): ManifestRoute[] {
  const where = `@${place.kind} route ${place.index + 1}`;
  const parts = routeParts(item, PATH_ONLY.has(place.kind));
  if (parts === null) {
    const expected = PATH_ONLY.has(place.kind) ? "a path" : '"<method> <path>" or a path with a method below it';
    findings.problems.push(`${where}: should be ${expected}, got ${show(item)}`);
    return [];
  }
  const methods = parts.methods.map(methodOf);
  for (const [index, method] of methods.entries())
    if (method === null) findings.problems.push(`${where}: the method should be one of ${METHODS}, got ${show(parts.methods[index])}`);
  const problem = typeof parts.path === "string" ? pathProblem(parts.path) : `should be text, got ${show(parts.path)}`;
  if (problem !== null) findings.problems.push(`${where}: the path ${show(parts.path)} ${problem}`);
  const { source } = parts;
  if (source !== null && (typeof source !== "string" || source === ""))
    findings.problems.push(`${where}: src should be a folder, got ${show(source)}`);
  if (problem !== null) return [];
  return methods
    .filter((method) => method !== null)
    .map((method) => ({ kind: place.kind, method, path: String(parts.path), source: typeof source === "string" ? source : null }));
}

const METHODS = ROUTE_METHODS.join(", ").toLowerCase();

interface RouteParts {
  readonly methods: readonly unknown[];
  readonly path: unknown;
  readonly source: unknown;
}

/** ["get", "/"], "get /", "/style.css" where a path is enough, and {"/": …} with method and src all name routes. */
function routeParts(item: unknown, pathIsEnough: boolean): RouteParts | null {
  if (typeof item === "string" && item.includes(" ")) return routeParts(item.trim().split(/ +/), pathIsEnough);
  if (typeof item === "string") return pathIsEnough ? { methods: ["get"], path: item, source: null } : null;
  if (isList(item)) return item.length === 2 ? { methods: [item[0]], path: item[1], source: null } : null;
  if (!isRecord(item)) return null;
  const [path = "", block] = Object.entries(item)[0] ?? [];
  const methods = methodsOf(block) ?? (pathIsEnough ? ["get"] : undefined);
  if (!path.startsWith("/") || methods === undefined) return null;
  const sources = valuesOf(block, "src");
  return { methods, path, source: sources === undefined ? null : sources.length === 1 ? sources[0] : sources };
}

/** A block may name several methods, in one line or in several. */
function methodsOf(block: unknown): readonly unknown[] | undefined {
  if (!isList(block)) return valuesOf(block, "method");
  const named = block.flatMap((line: unknown) => (isList(line) && line[0] === "method" ? line.slice(1) : []));
  return named.length === 0 ? valuesOf(block, "method") : named;
}

/** The routes that a list inside another pragma picks out: "get /a", one per line. */
export function readPicks(content: unknown): readonly { readonly method: RouteMethod; readonly path: string }[] | null {
  const lines: readonly unknown[] = isRecord(content) ? Object.entries(content) : isList(content) ? content : [content];
  const picks = lines.map((line) => routeParts(isRecord(line) ? Object.entries(line)[0] : line, false));
  const routes = picks.flatMap((parts) => {
    const method = methodOf(parts?.methods[0]);
    return method === null || typeof parts?.path !== "string" ? [] : [{ method, path: parts.path }];
  });
  return routes.length === lines.length ? routes : null;
}

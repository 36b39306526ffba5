// What a manifest says, checked as a whole: the app's name, its generation, its routes and the limits of its functions. Pure.
import { ROUTE_METHODS, type RouteMethod } from "../../runtime-image/contract/snapshot.ts";
import { GENERATIONS, type Generation } from "../../runtime-image/contract/instance-manifest.ts";
import { HANDLER_TIMEOUT_MS_MAX } from "../../runtime-image/contract/limits.ts";
import type { RawManifest } from "./manifest-text.ts";
import { duplicateProblems, pathProblem } from "./routes.ts";

export interface AppManifest {
  readonly appName: string;
  readonly generation: Generation;
  readonly routes: readonly ManifestRoute[];
  readonly settings: FunctionSettings;
}

export interface ManifestRoute {
  readonly method: RouteMethod;
  readonly path: string;
  readonly source: string | null; // A folder that the manifest names, relative to the app's; null: the folder that follows from the route.
}

export interface FunctionSettings {
  readonly timeoutMs?: number;
  readonly memoryBytesMax?: number;
}

export interface Checked<Value> {
  readonly value: Value;
  readonly problems: readonly string[];
}

export function readManifest(raw: RawManifest, fallbackName: string): Checked<AppManifest> {
  const problems: string[] = [];
  const appName = readAppName(raw["app"], fallbackName, problems);
  const generation = readGeneration(raw, problems);
  const routes = readRoutes(raw["http"], problems);
  problems.push(...duplicateProblems(routes));
  const settings = readSettings(raw["aws"], problems);
  return { value: { appName, generation, routes, settings }, problems };
}

const APP_NAME = /^[a-z][a-z0-9-]{0,62}$/;

function readAppName(value: unknown, fallbackName: string, problems: string[]): string {
  if (value === undefined) return fallbackName;
  const name: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof name === "string" && APP_NAME.test(name)) return name;
  problems.push(`@app: should be one name of lower-case letters, digits and dashes that begins with a letter, got ${show(value)}`);
  return fallbackName;
}

/** Our own pragma wins over the originals' "@aws apigateway". */
function readGeneration(raw: RawManifest, problems: string[]): Generation {
  const own = raw["generation"];
  if (own !== undefined) {
    const name: unknown = Array.isArray(own) ? own[0] : own;
    const known = GENERATIONS.find((generation) => generation === name);
    if (known === undefined) problems.push(`@generation: should be one of ${GENERATIONS.join(", ")}, got ${show(own)}`);
    return known ?? "current";
  }
  const gateway = settingOf(raw["aws"], "apigateway");
  switch (gateway) {
    case undefined:
    case "http":
    case "httpv2":
      return "current";
    case "rest":
    case "httpv1":
      return "legacy";
    default:
      problems.push(`@aws apigateway: should be one of http, httpv1, httpv2, rest, got ${show(gateway)}`);
      return "current";
  }
}

function readRoutes(value: unknown, problems: string[]): ManifestRoute[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    problems.push(`@http: should be a list of routes such as "get /shop/:item", got ${show(value)}`);
    return [];
  }
  return value.flatMap((item: unknown, index) => {
    const where = `@http route ${index + 1}`;
    const parts = routeParts(item);
    if (parts === null) {
      problems.push(`${where}: should be "<method> <path>" or a path with a method below it, got ${show(item)}`);
      return [];
    }
    const method = methodOf(parts.method);
    if (method === null)
      problems.push(`${where}: the method should be one of ${ROUTE_METHODS.join(", ").toLowerCase()}, got ${show(parts.method)}`);
    const problem = typeof parts.path === "string" ? pathProblem(parts.path) : `should be text, got ${show(parts.path)}`;
    if (problem !== null) problems.push(`${where}: the path ${show(parts.path)} ${problem}`);
    if (parts.source !== null && typeof parts.source !== "string")
      problems.push(`${where}: src should be a folder, got ${show(parts.source)}`);
    if (method === null || problem !== null || typeof parts.path !== "string") return [];
    return [{ method, path: parts.path, source: typeof parts.source === "string" ? parts.source : null }];
  });
}

/** ["get", "/"], {"get": "/"} and {"/": {"method": "get", "src": "lib/root"}} all name a route. */
function routeParts(item: unknown): { method: unknown; path: unknown; source: unknown } | null {
  if (Array.isArray(item)) return item.length === 2 ? { method: item[0], path: item[1], source: null } : null;
  if (typeof item !== "object" || item === null) return null;
  const entries: [string, unknown][] = Object.entries(item);
  const [first] = entries;
  if (first === undefined || entries.length !== 1) return null;
  const [key, value] = first;
  if (!key.startsWith("/")) return { method: key, path: value, source: null };
  if (typeof value !== "object" || value === null) return null;
  return { method: "method" in value ? value.method : undefined, path: key, source: "src" in value ? value.src : null };
}

function methodOf(value: unknown): RouteMethod | null {
  if (typeof value !== "string") return null;
  const upper = value.toUpperCase();
  return ROUTE_METHODS.find((method) => method === upper) ?? null;
}

/** "@aws" of a manifest, or of a function's own config file. */
export function readSettings(aws: unknown, problems: string[]): FunctionSettings {
  const timeoutS = settingOf(aws, "timeout");
  const memoryMb = settingOf(aws, "memory");
  const timeoutIsFine = isBetween(timeoutS, 1, HANDLER_TIMEOUT_MS_MAX / 1000);
  const memoryIsFine = isBetween(memoryMb, 64, 10_240);
  if (timeoutS !== undefined && !timeoutIsFine) problems.push(`@aws timeout: should be 1 to 900 seconds, got ${show(timeoutS)}`);
  if (memoryMb !== undefined && !memoryIsFine) problems.push(`@aws memory: should be 64 to 10240 MB, got ${show(memoryMb)}`);
  return {
    ...(timeoutIsFine ? { timeoutMs: timeoutS * 1000 } : {}),
    ...(memoryIsFine ? { memoryBytesMax: memoryMb * 1_000_000 } : {}),
  };
}

const isBetween = (value: unknown, least: number, most: number): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= least && value <= most;

/** A setting is a pair in a list ("timeout 30"), or a key of an object in the JSON form. */
function settingOf(pragma: unknown, name: string): unknown {
  if (Array.isArray(pragma)) {
    const pair: unknown = pragma.find((item: unknown) => Array.isArray(item) && item[0] === name);
    if (Array.isArray(pair)) return pair[1];
    return pragma.map((item: unknown) => (isRecord(item) ? item[name] : undefined)).find((value) => value !== undefined);
  }
  return isRecord(pragma) ? pragma[name] : undefined;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

const show = (value: unknown): string => JSON.stringify(value) ?? String(value);

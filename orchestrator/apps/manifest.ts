// What a manifest says, checked as a whole: name, generation, routes, limits, shared code, static files, proxies, switches. Pure.
import type { Environment, Generation } from "../../runtime-image/contract/instance-manifest.ts";
import { ENVIRONMENTS } from "../../runtime-image/contract/instance-manifest.ts";
import { FUNCTION_FOLDER_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import type { RouteMethod } from "../../runtime-image/contract/snapshot.ts";
import type { AppSettings, FunctionKind, FunctionSettings, SharedPackage, SiteSource } from "./app-source.ts";
import { FUNCTION_KINDS } from "./app-source.ts";
import { readSettings } from "./function-settings.ts";
import { type ManifestRoute, readPicks, readRoutes } from "./manifest-routes.ts";
import type { RawManifest } from "./manifest-text.ts";
import {
  type Checked,
  type Findings,
  flagOf,
  isRecord,
  onlyValueOf,
  pragmaWarnings,
  settingNames,
  settingOf,
  show,
  valuesOf,
} from "./pragmas.ts";

export interface AppManifest {
  readonly appName: string;
  readonly generation: AppGeneration;
  readonly routes: readonly ManifestRoute[];
  readonly settings: FunctionSettings; // Of every function that says nothing else.
  readonly shared: readonly SharedSetting[];
  readonly site: SiteSetting | null; // Null: turned off.
  readonly proxyUrls: Readonly<Partial<Record<Environment, string>>>;
  readonly appSettings: AppSettings;
}

/** What functions of src/http may speak; the other generations follow from folders of their own. */
export const APP_GENERATIONS = ["current", "legacy", "simple"] as const satisfies readonly Generation[];
export type AppGeneration = (typeof APP_GENERATIONS)[number];

export interface SharedSetting {
  readonly packageName: SharedPackage;
  readonly folder: string | null; // Null: the usual one, if it is there.
  readonly picks: readonly SharedPick[] | null; // The only functions that see it; null: all that may.
}

export interface SharedPick {
  readonly kind: FunctionKind;
  readonly method: RouteMethod;
  readonly path: string;
}

export interface SiteSetting extends Omit<SiteSource, "folder"> {
  readonly folder: string | null; // Null: public/, if it is there.
}

export function readManifest(raw: RawManifest, fallbackName: string): Checked<AppManifest> {
  const findings: Findings = { problems: [], warnings: pragmaWarnings(raw) };
  const value: AppManifest = {
    appName: readAppName(raw, fallbackName, findings),
    generation: readGeneration(raw, findings),
    routes: readRoutes(raw, findings),
    settings: readSettings(raw["aws"], findings),
    shared: [readShared(raw, "shared", findings), readShared(raw, "views", findings)],
    site: readSite(raw["static"] ?? [], findings),
    proxyUrls: readProxyUrls(raw["proxy"] ?? [], findings),
    appSettings: readAppSettings(raw["orchestrator"] ?? [], findings),
  };
  return { value, ...findings };
}

/** What holds where there is no manifest. */
export const scannedManifest = (appName: string, routes: readonly ManifestRoute[]): AppManifest => ({
  ...readManifest({}, appName).value,
  routes,
});

const APP_NAME = /^[a-z][a-z0-9_-]{0,62}$/;

function readAppName(raw: RawManifest, fallbackName: string, { problems }: Findings): string {
  const name = onlyValueOf(raw, "app");
  if (name === undefined) return fallbackName;
  if (typeof name === "string" && APP_NAME.test(name)) return name;
  problems.push(`@app: should be one name of lower-case letters, digits, - and _ that begins with a letter, got ${show(name)}`);
  return fallbackName;
}

/** Our own pragma wins over the originals' "@aws apigateway". */
function readGeneration(raw: RawManifest, { problems }: Findings): AppGeneration {
  const own = onlyValueOf(raw, "generation");
  if (own !== undefined) {
    const known = APP_GENERATIONS.find((generation) => generation === own);
    if (known === undefined) problems.push(`@generation: should be one of ${APP_GENERATIONS.join(", ")}, got ${show(own)}`);
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

/** "src <folder>", and lists of the only functions that see it: below "http" one "<method> <path>" per line. */
function readShared(raw: RawManifest, pragma: "shared" | "views", { problems }: Findings): SharedSetting {
  const items = raw[pragma] ?? [];
  const packageName: SharedPackage = `@architect/${pragma}`;
  const source = settingOf(items, "src");
  if (source !== undefined && (typeof source !== "string" || source === ""))
    problems.push(`@${pragma} src: should be a folder, got ${show(source)}`);
  const picks = items.flatMap((item): SharedPick[] => {
    const [name = "", content] = isRecord(item) ? (Object.entries(item)[0] ?? []) : [];
    if (name === "src" || (Array.isArray(item) && item[0] === "src")) return [];
    if (!isRecord(item)) problems.push(`@${pragma}: should hold src and lists of functions such as http, got ${show(item)}`);
    const kind = FUNCTION_KINDS.find((one) => one === name);
    if (kind === undefined) return []; // Lists of functions that are not run here.
    const routes = readPicks(content);
    if (routes === null) problems.push(`@${pragma} ${kind}: should list routes such as "get /", got ${show(content)}`);
    return (routes ?? []).map((route) => ({ kind, ...route }));
  });
  const hasLists = items.some((item) => isRecord(item) && !Object.hasOwn(item, "src"));
  return { packageName, folder: typeof source === "string" && source !== "" ? source : null, picks: hasLists ? picks : null };
}

const OFF: readonly unknown[] = [false, "false", "off", "disable", "disabled"];

function readSite(items: readonly unknown[], findings: Findings): SiteSetting | null {
  if (OFF.includes(items[0])) return null;
  const folder = settingOf(items, "folder");
  if (folder !== undefined && (typeof folder !== "string" || folder === ""))
    findings.problems.push(`@static folder: should be a folder, got ${show(folder)}`);
  const ignored = valuesOf(items, "ignore") ?? [];
  if (ignored.some((part) => typeof part !== "string" || part === ""))
    findings.problems.push(`@static ignore: should be parts of file names, got ${show(ignored)}`);
  return {
    folder: typeof folder === "string" && folder !== "" ? folder : null,
    fingerprint: readFingerprint(settingOf(items, "fingerprint"), findings),
    isSpa: flagOf(items, { pragma: "static", name: "spa" }, findings),
    ignore: ignored.filter((part) => typeof part === "string" && part !== "").map(String),
  };
}

function readFingerprint(value: unknown, { problems }: Findings): SiteSource["fingerprint"] {
  switch (value) {
    case undefined:
    case false:
    case "false":
      return "off";
    case true:
    case "true":
      return "on";
    case "external":
      return "external";
    default:
      problems.push(`@static fingerprint: should be true, false or external, got ${show(value)}`);
      return "off";
  }
}

function readProxyUrls(items: readonly unknown[], { problems, warnings }: Findings): Partial<Record<Environment, string>> {
  const urls: Partial<Record<Environment, string>> = {};
  for (const environment of ENVIRONMENTS) {
    const url = settingOf(items, environment);
    if (url === undefined) continue;
    const problem = typeof url === "string" ? urlProblem(url) : `should be a URL, got ${show(url)}`;
    if (problem !== null) problems.push(`@proxy ${environment}: ${problem}`);
    else if (typeof url === "string") urls[environment] = url;
  }
  const others = settingNames(items).filter((name) => name !== "testing" && !ENVIRONMENTS.some((environment) => environment === name));
  for (const name of others) problems.push(`@proxy: should name testing, staging or production, got ${show(name)}`);
  if (items.length > 0 && others.length === 0)
    for (const environment of ENVIRONMENTS)
      if (settingOf(items, environment) === undefined)
        warnings.push(`@proxy: has no URL for ${environment}, so nothing is passed on there`);
  return urls;
}

function urlProblem(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol)) return `should be a URL with http:// or https://, got ${show(text)}`;
  if (url.username !== "" || url.password !== "") return "should have no user name and no password in it"; // Nor is it shown here.
  return url.search === "" && url.hash === "" ? null : `should end with its path, got ${show(text)}`;
}

const APP_SETTINGS = ["raw-json", "bare-query", "install-scripts", "function-size"];
const FUNCTION_SIZE_MB_MAX = 250; // What the originals' cloud allowed a function at most.

/** Switches of this platform alone: whoever misspells one is told. */
function readAppSettings(items: readonly unknown[], findings: Findings): AppSettings {
  const pragma = "orchestrator";
  for (const name of settingNames(items))
    if (!APP_SETTINGS.includes(name)) findings.problems.push(`@orchestrator: should hold ${APP_SETTINGS.join(", ")}, got ${show(name)}`);
  const sizeMb = settingOf(items, "function-size");
  const sizeIsFine = typeof sizeMb === "number" && sizeMb > 0 && sizeMb <= FUNCTION_SIZE_MB_MAX;
  if (sizeMb !== undefined && !sizeIsFine)
    findings.problems.push(`@orchestrator function-size: should be a number of MB up to ${FUNCTION_SIZE_MB_MAX}, got ${show(sizeMb)}`);
  return {
    rawJson: flagOf(items, { pragma, name: "raw-json" }, findings),
    bareQuery: flagOf(items, { pragma, name: "bare-query" }, findings),
    allowsInstallScripts: flagOf(items, { pragma, name: "install-scripts" }, findings),
    functionBytesMax: sizeIsFine ? sizeMb * 1_000_000 : FUNCTION_FOLDER_BYTES_MAX,
  };
}

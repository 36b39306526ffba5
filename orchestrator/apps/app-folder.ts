// Reads an app's folder: its manifest in whatever file it is, or its routes from the names of its folders, every problem at once.
import { readFile, readdir, stat } from "node:fs/promises";
import { basename, join, relative, resolve, sep } from "node:path";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { FUNCTION_FOLDER_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import type { AppSource, FunctionSource } from "./app-source.ts";
import { type AppManifest, type Checked, type FunctionSettings, type ManifestRoute, readManifest, readSettings } from "./manifest.ts";
import { type ManifestFormat, type RawManifest, parseManifestText } from "./manifest-text.ts";
import { duplicateProblems, folderNames, routeOfFolder } from "./routes.ts";

/** Throws one error that names every problem of the folder's manifest and layout. */
export async function readAppFolder(path: string): Promise<AppSource> {
  const folder = resolve(path);
  if (!(await isFolder(folder)))
    throw new PlatformError("APP_FOLDER_INVALID", {
      detail: `${folder} is no folder.`,
      remedy: "Name the folder that holds src/http, or make a new app: orchestrator init <folder>.",
    });
  const found = await findManifest(folder);
  const { value: manifest, problems: manifestProblems } =
    found === null ? await scannedManifest(folder) : readManifest(found.raw, defaultAppName(folder));
  const problems = manifestProblems.map((problem) => (found === null ? problem : `${found.fileName}: ${problem}`));
  const functions: FunctionSource[] = [];
  for (const route of manifest.routes) {
    const checked = await functionSource(folder, manifest, route);
    problems.push(...checked.problems);
    if (checked.value !== null) functions.push(checked.value);
  }
  if (manifest.generation !== "current")
    problems.push(`${found?.fileName ?? folder}: functions of the generation "${manifest.generation}" cannot be run yet; "current" can`);
  if (problems.length > 0)
    throw new PlatformError("MANIFEST_INVALID", {
      detail: `${folder} has ${problems.length} problem${problems.length === 1 ? "" : "s"}.`,
      problems,
    });
  if (functions.length === 0)
    throw new PlatformError("APP_FOLDER_INVALID", {
      detail: `${folder} has no routes.`,
      remedy:
        'Write "get /" below @http in app.arc and put a handler into src/http/get-index/index.js, or make a new app: orchestrator init <folder>.',
    });
  return {
    folder,
    appName: manifest.appName,
    functions,
    shared: [],
    site: null,
    proxyUrls: {},
    settings: { rawJson: false, allowsInstallScripts: false, functionBytesMax: FUNCTION_FOLDER_BYTES_MAX },
    variables: { staging: {}, production: {} },
  };
}

const MANIFEST_FILES: readonly { readonly fileName: string; readonly format: ManifestFormat }[] = [
  { fileName: "app.arc", format: "arc" },
  { fileName: ".arc", format: "arc" },
  { fileName: "app.json", format: "json" },
  { fileName: "arc.json", format: "json" },
  { fileName: "app.yaml", format: "yaml" },
  { fileName: "arc.yaml", format: "yaml" },
  { fileName: "arc.yml", format: "yaml" },
];

/** Files whose change can change the routes of an app. */
export const MANIFEST_FILE_NAMES: readonly string[] = [...MANIFEST_FILES.map((file) => file.fileName), "package.json"];

async function findManifest(folder: string): Promise<{ fileName: string; raw: RawManifest } | null> {
  for (const { fileName, format } of MANIFEST_FILES) {
    const text = await textOf(join(folder, fileName));
    if (text !== null) return { fileName, raw: parsed(fileName, () => parseManifestText(text, format)) };
  }
  const text = await textOf(join(folder, "package.json"));
  if (text === null) return null;
  const content = parsed("package.json", (): unknown => JSON.parse(text));
  const key = isRecord(content) ? ["arc", "architect"].find((name) => content[name] !== undefined) : undefined;
  if (!isRecord(content) || key === undefined) return null;
  const arc = JSON.stringify(content[key]);
  return { fileName: `package.json ("${key}")`, raw: parsed("package.json", () => parseManifestText(arc, "json")) };
}

function parsed<Value>(fileName: string, read: () => Value): Value {
  try {
    return read();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new PlatformError("MANIFEST_INVALID", { detail: `${fileName} cannot be read.`, problems: [`${fileName}: ${reason}`] }, { cause });
  }
}

async function scannedManifest(folder: string): Promise<Checked<AppManifest>> {
  const problems: string[] = [];
  const routes: ManifestRoute[] = [];
  for (const name of (await folderNamesIn(join(folder, "src/http"))).toSorted()) {
    const route = routeOfFolder(name);
    if (route === null)
      problems.push(`src/http/${name}: a function's folder is named <method>-<path>, such as get-index or post-api-submit`);
    else routes.push({ ...route, source: `src/http/${name}` });
  }
  for (const kind of ["html", "json"])
    for (const name of await folderNamesIn(join(folder, "src", kind)))
      problems.push(`src/${kind}/${name}: functions of the generation "${kind}" cannot be run yet`);
  problems.push(...duplicateProblems(routes));
  return { value: { appName: defaultAppName(folder), generation: "current", routes, settings: {} }, problems };
}

async function functionSource(folder: string, manifest: AppManifest, route: ManifestRoute): Promise<Checked<FunctionSource | null>> {
  const candidates = route.source === null ? folderNames(route).map((name) => `src/http/${name}`) : [route.source.replace(/^\/+/, "")];
  for (const candidate of candidates) {
    const absolute = resolve(folder, candidate);
    if (!isInside(folder, absolute)) return { value: null, problems: [`${candidate}: the folder of a function lies inside the app's`] };
    if (!(await isFolder(absolute))) continue;
    const name = relative(folder, absolute).split(sep).join("/");
    const own = await ownSettings(absolute, name);
    const value: FunctionSource = {
      name,
      folder: absolute,
      kind: "http",
      packages: [],
      method: route.method,
      path: route.path,
      generation: manifest.generation,
      settings: { ...manifest.settings, ...own.value },
    };
    return { value, problems: own.problems };
  }
  const written = `${route.method.toLowerCase()} ${route.path}`;
  return {
    value: null,
    problems: [`${candidates[0]}: missing, though the manifest has the route "${written}"; make the folder with an index.js in it`],
  };
}

/** A function's own config file, as the originals had it: "@aws" with timeout and memory. */
async function ownSettings(folder: string, name: string): Promise<Checked<FunctionSettings>> {
  for (const fileName of ["config.arc", ".arc-config"]) {
    const text = await textOf(join(folder, fileName));
    if (text === null) continue;
    const problems: string[] = [];
    const settings = readSettings(parsed(`${name}/${fileName}`, () => parseManifestText(text, "arc"))["aws"], problems);
    return { value: settings, problems: problems.map((problem) => `${name}/${fileName}: ${problem}`) };
  }
  return { value: {}, problems: [] };
}

export const isInside = (folder: string, path: string): boolean => path === folder || path.startsWith(folder + sep);

const defaultAppName = (folder: string): string => {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .replace(/^[^a-z]+/, "");
  return name === "" ? "app" : name.slice(0, 63);
};

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null && !Array.isArray(value);

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}

async function folderNamesIn(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}

async function textOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && (cause.code === "ENOENT" || cause.code === "EISDIR" || cause.code === "ENOTDIR"))
      return null;
    throw cause;
  }
}

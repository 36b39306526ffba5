// Reads an app's folder: its manifest or the names of its folders, shared code, static files and variables, every problem at once.
import { basename, join, resolve } from "node:path";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { type AppSource, FUNCTION_KINDS, type SharedPackage, type SharedSource, type SiteSource } from "./app-source.ts";
import { folderNamesIn, inApp, isFolder, placeProblem } from "./folders.ts";
import { findFunctions, pickProblems } from "./function-folders.ts";
import { type AppGeneration, type AppManifest, readManifest, scannedManifest } from "./manifest.ts";
import { type FoundManifest, findManifest } from "./manifest-files.ts";
import type { ManifestRoute } from "./manifest-routes.ts";
import type { Findings } from "./pragmas.ts";
import { duplicateProblems, routeOfFolder } from "./routes.ts";
import { readVariables } from "./variables.ts";

export interface ReadOptions {
  readonly generation?: AppGeneration | null; // What the platform was told of the app; it wins over the manifest.
}

/** Throws one error that names every problem of the folder's manifest and layout. */
export async function readAppFolder(path: string, options: ReadOptions = {}): Promise<AppSource> {
  const folder = resolve(path);
  if (!(await isFolder(folder)))
    throw new PlatformError("APP_FOLDER_INVALID", {
      detail: `${folder} is no folder.`,
      remedy: "Name the folder that holds src/http, or make a new app: orchestrator init <folder>.",
    });
  const findings: Findings = { problems: [], warnings: [] };
  const { manifest } = await findAppManifest(folder, findings);
  const generation = options.generation ?? manifest.generation;
  const shared = await findShared(folder, manifest, findings);
  const functions = await findFunctions({ appFolder: folder, manifest, generation, shared }, findings);
  const site = await findSite(folder, manifest, findings);
  const variables = await readVariables(folder);
  findings.warnings.push(...variables.warnings);
  assertSound(folder, findings.problems, variables.problems);
  const { appName, proxyUrls, appSettings } = manifest;
  if (functions.length === 0 && site === null && Object.keys(proxyUrls).length === 0) throw emptyApp(folder, findings.warnings);
  return {
    folder,
    appName,
    generation,
    functions,
    shared,
    site,
    proxyUrls,
    settings: appSettings,
    variables: variables.value,
    warnings: findings.warnings,
    watchedFolders: watchedFolders(folder, manifest),
  };
}

/** What an app says of itself in its manifest or, where it has none, in the names of its folders. */
export async function findAppManifest(
  folder: string,
  findings: Findings,
): Promise<{ readonly manifest: AppManifest; readonly found: FoundManifest | null }> {
  const found = await findManifest(folder);
  return { manifest: found === null ? await scanFolders(folder, findings) : manifestOf(found, folder, findings), found };
}

function manifestOf(found: FoundManifest, folder: string, findings: Findings): AppManifest {
  const { value, problems, warnings } = readManifest(found.raw, defaultAppName(folder));
  for (const problem of [...problems, ...pickProblems(value)]) findings.problems.push(`${found.fileName}: ${problem}`);
  for (const warning of warnings) findings.warnings.push(`${found.fileName}: ${warning}`);
  return value;
}

async function scanFolders(folder: string, findings: Findings): Promise<AppManifest> {
  const routes: ManifestRoute[] = [];
  for (const kind of FUNCTION_KINDS)
    for (const name of await folderNamesIn(join(folder, "src", kind))) {
      const source = `src/${kind}/${name}`;
      const route = routeOfFolder(name);
      if (route !== null) routes.push({ ...route, kind, source });
      else if (!isPlainFolder(name))
        findings.problems.push(`${source}: a function's folder is named <method>-<path>, such as get-index or post-api-submit`);
    }
  findings.problems.push(...duplicateProblems(routes.map((route) => ({ ...route, origin: route.source ?? "" }))));
  return scannedManifest(defaultAppName(folder), routes);
}

const isPlainFolder = (name: string): boolean => name.startsWith(".") || name === "node_modules";

const USUAL_FOLDERS: Record<SharedPackage, string> = { "@architect/shared": "src/shared", "@architect/views": "src/views" };

async function findShared(folder: string, manifest: AppManifest, { problems }: Findings): Promise<SharedSource[]> {
  const found: SharedSource[] = [];
  for (const { packageName, folder: named } of manifest.shared) {
    const written = named ?? USUAL_FOLDERS[packageName];
    const absolute = inApp(folder, written);
    const problem = await placeProblem(folder, absolute);
    if (problem !== null) problems.push(`${written}: the folder of ${packageName} ${problem}`);
    else if (await isFolder(absolute)) found.push({ packageName, folder: absolute });
    else if (named !== null) problems.push(`${written}: missing, though the manifest names it as the folder of ${packageName}`);
  }
  return found;
}

const USUAL_SITE = "public";

export async function findSite(folder: string, { site }: AppManifest, { problems, warnings }: Findings): Promise<SiteSource | null> {
  if (site === null) return null;
  const { folder: named, ...rest } = site;
  const written = named ?? USUAL_SITE;
  const absolute = inApp(folder, written);
  const problem = await placeProblem(folder, absolute);
  if (problem !== null) problems.push(`${written}: the folder of static files ${problem}`);
  else if (await isFolder(absolute)) return { folder: absolute, ...rest };
  else if (named !== null) warnings.push(`${written}: the folder of static files is not there, so none are served`);
  return null;
}

function watchedFolders(folder: string, manifest: AppManifest): string[] {
  const sources = manifest.routes.flatMap((route) => route.source ?? []);
  const shared = manifest.shared.flatMap((setting) => setting.folder ?? []);
  const site = manifest.site === null ? [] : [manifest.site.folder ?? USUAL_SITE];
  return [...new Set(["src", ...site, ...shared, ...sources].map((written) => inApp(folder, written)))];
}

function assertSound(folder: string, problems: readonly string[], variableProblems: readonly string[]): void {
  const all = [...problems, ...variableProblems];
  if (all.length === 0) return;
  const detail = `${folder} has ${all.length} problem${all.length === 1 ? "" : "s"}.`;
  throw new PlatformError(problems.length === 0 ? "VARIABLES_INVALID" : "MANIFEST_INVALID", { detail, problems: all });
}

const emptyApp = (folder: string, warnings: readonly string[]): PlatformError =>
  new PlatformError("APP_FOLDER_INVALID", {
    detail: `${folder} has no routes, no static files and no @proxy.`,
    ...(warnings.length === 0 ? {} : { problems: warnings }),
    remedy:
      'Write "get /" below @http in app.arc and put a handler into src/http/get-index/index.js, put files into public/, or make a new app: orchestrator init <folder>.',
  });

const defaultAppName = (folder: string): string => {
  const name = basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .replace(/^[^a-z]+/, "");
  return name === "" ? "app" : name.slice(0, 63);
};

// Finds the folder that each route's function lives in, reads its own settings, and says which shared code it sees.
import type { Generation } from "../../runtime-image/contract/instance-manifest.ts";
import type { FunctionKind, FunctionSource, SharedPackage, SharedSource } from "./app-source.ts";
import { inApp, isFolder, nameInApp, placeProblem } from "./folders.ts";
import { readOptOuts, readSettings } from "./function-settings.ts";
import { findFunctionConfig } from "./manifest-files.ts";
import type { AppManifest, AppGeneration, SharedSetting } from "./manifest.ts";
import type { ManifestRoute } from "./manifest-routes.ts";
import type { Findings } from "./pragmas.ts";
import { folderNames, nameOf } from "./routes.ts";

export interface FunctionSurroundings {
  readonly appFolder: string;
  readonly manifest: AppManifest;
  readonly generation: AppGeneration;
  readonly shared: readonly SharedSource[];
}

export async function findFunctions(surroundings: FunctionSurroundings, findings: Findings): Promise<FunctionSource[]> {
  const { routes } = surroundings.manifest;
  const preferred = new Set(routes.filter((route) => route.source === null).map((route) => candidatesOf(route)[0]));
  const found = await Promise.all(
    routes.map(async (route) => {
      // "get-my-event" may be /my-event written with the contract's dash, but not where /my/event lays claim to it.
      const candidates = candidatesOf(route).filter((name, index) => index === 0 || !preferred.has(name));
      const own: Findings = { problems: [], warnings: [] };
      return { fn: await findFunction(route, candidates, surroundings, own), own };
    }),
  );
  for (const { own } of found) findings.problems.push(...own.problems.filter((problem) => !findings.problems.includes(problem)));
  return found.map(({ fn }) => fn).filter((fn) => fn !== null);
}

/** Where a route's function may live, the place that is its own first; relative to the app's folder. */
export const candidatesOf = (route: ManifestRoute): string[] =>
  route.source === null ? folderNames(route).map((name) => `src/${route.kind}/${name}`) : [route.source];

async function findFunction(
  route: ManifestRoute,
  candidates: readonly string[],
  surroundings: FunctionSurroundings,
  findings: Findings,
): Promise<FunctionSource | null> {
  const { appFolder, manifest, generation } = surroundings;
  for (const candidate of candidates) {
    const folder = inApp(appFolder, candidate);
    const problem = await placeProblem(appFolder, folder);
    if (problem !== null) {
      findings.problems.push(`${candidate}: the folder of "${nameOf(route)}" ${problem}`);
      return null;
    }
    if (!(await isFolder(folder))) continue;
    const name = nameInApp(appFolder, folder);
    const own = await ownSettings(folder, name, findings);
    const { kind, method, path } = route;
    return {
      name,
      folder,
      kind,
      method,
      path,
      generation: kind === "http" ? generation : GENERATION_OF[kind],
      settings: { ...manifest.settings, ...own.settings, ...(own.optOuts.variables ? { seesVariables: false } : {}) },
      packages: packagesOf(route, own.optOuts.packages, surroundings),
    };
  }
  const missing = `${candidates[0]}: missing, though the manifest has the route "${nameOf(route)}"`;
  findings.problems.push(`${missing}; make the folder with an index.js in it`);
  return null;
}

/** Styles, scripts and texts are answered by the library's wrappers, each with a key of its own, just as pages are. */
const GENERATION_OF: Record<Exclude<FunctionKind, "http">, Generation> = {
  html: "html",
  json: "json",
  css: "html",
  js: "html",
  text: "html",
  xml: "html",
};

async function ownSettings(folder: string, name: string, findings: Findings) {
  const found = await findFunctionConfig(folder, name);
  const own: Findings = { problems: [], warnings: [] };
  const settings = readSettings(found?.raw["aws"], own);
  const optOuts = readOptOuts(found?.raw["arc"], own);
  findings.problems.push(...own.problems.map((problem) => `${found?.fileName}: ${problem}`));
  return { settings, optOuts };
}

function packagesOf(route: ManifestRoute, optOuts: readonly SharedPackage[], { manifest, shared }: FunctionSurroundings): SharedPackage[] {
  return shared
    .map(({ packageName }) => packageName)
    .filter(
      (name) =>
        !optOuts.includes(name) &&
        isMeantFor(
          route,
          manifest.shared.find((setting) => setting.packageName === name),
        ),
    );
}

/** A list in the manifest decides; without one, shared code is for all, and views for what shows pages. */
function isMeantFor(route: ManifestRoute, setting: SharedSetting | undefined): boolean {
  const picks = setting?.picks ?? null;
  if (picks !== null) return picks.some((pick) => pick.kind === route.kind && nameOf(pick) === nameOf(route));
  return setting?.packageName !== "@architect/views" || route.method === "GET" || route.method === "ANY";
}

/** Lists of functions that name routes which the app does not have. */
export function pickProblems({ routes, shared }: AppManifest): string[] {
  const known = new Set(routes.map((route) => `${route.kind} ${nameOf(route)}`));
  return shared.flatMap(({ packageName, picks }) =>
    (picks ?? [])
      .filter((pick) => !known.has(`${pick.kind} ${nameOf(pick)}`))
      .map((pick) => `@${packageName.slice("@architect/".length)} ${pick.kind}: the app has no route "${nameOf(pick)}"`),
  );
}

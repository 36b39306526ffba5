// Adds a route to an app's source and takes one out: says what would be written and removed, which is then carried out.
import { lstat, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { FUNCTION_FILE_COUNT_MAX } from "../../runtime-image/contract/limits.ts";
import { findAppManifest, findSite } from "./app-folder.ts";
import { isFolder } from "./folders.ts";
import { candidatesOf, findFunctions } from "./function-folders.ts";
import type { RouteEdit, RouteWrite } from "./apply-route-edit.ts";
import type { AppGeneration, AppManifest } from "./manifest.ts";
import { lineFor, withRoute, withoutRoute } from "./manifest-edit.ts";
import type { FoundManifest } from "./manifest-files.ts";
import type { KindOfRoute } from "./manifest-piece.ts";
import type { ManifestRoute } from "./manifest-routes.ts";
import { type RouteKind, cut, newRoute, routeOfText, titleOf } from "./new-route.ts";
import type { Findings } from "./pragmas.ts";
import { listTree, realFolderProblem } from "./real-places.ts";
import { type Surroundings, handlerAt, placeOf, placeProblem, writesModules } from "./route-place.ts";
import { duplicateProblems, nameOf, routeOfFolder } from "./routes.ts";
import { starterHandler } from "./starter-handlers.ts";

export { type RouteEdit, applyRouteEdit } from "./apply-route-edit.ts";
export { ROUTE_KINDS, type RouteKind } from "./new-route.ts";

export interface AddOrder {
  readonly route: string; // "POST /api/submit"
  readonly kind: RouteKind;
  readonly generation?: AppGeneration | null; // What the platform was told of the app; it wins over the manifest.
}

/** Throws ROUTE_INVALID (every problem at once), ROUTE_TAKEN, or MANIFEST_INVALID; touches nothing. */
export async function addRoute(folder: string, order: AddOrder): Promise<RouteEdit> {
  const route = newRoute(order);
  const app = await readApp(folder);
  assertFree(route, app);
  const place = placeOf(route);
  const around = await surroundingsOf(app, order.generation ?? null);
  const problems = [await placeProblem(place, around), scanProblem(route, place, app)].filter((problem) => problem !== null);
  if (problems.length > 0)
    throw new PlatformError("ROUTE_INVALID", {
      detail: `${titleOf(route)} cannot be added.`,
      problems: problems.map((problem) => `${titleOf(route)}: ${problem}`),
      remedy: "Take another path, or write the route into the manifest by hand, with a folder of its own: see docs/manifest.md.",
    });
  const there = await handlerAt(join(app.folder, place));
  const file = `${place}/${there ?? ((await writesModules(place, around)) ? "index.mjs" : "index.js")}`;
  const { found, manifest } = app;
  const namedBy = found === null ? "the name of this folder makes it one" : `it is listed in ${found.file.name}`;
  const generation = order.generation ?? manifest.generation;
  const text = starterHandler({ route, generation, isModule: file.endsWith(".mjs"), file, namedBy });
  const handler: RouteWrite[] = there === null ? [{ path: file, text }] : [];
  const listed = found === null ? [] : [await manifestWith(found, route, { ...app, file })];
  const note = there === null ? "" : ` (its handler was there already: ${file})`;
  return { writes: [...handler, ...listed], removals: [], message: `Add ${titleOf(route)}${note}` };
}

/** Throws ROUTE_UNKNOWN, ROUTE_KEPT (GET / and whatever cannot be removed safely), or MANIFEST_INVALID; touches nothing. */
export async function removeRoute(folder: string, order: { readonly route: string }): Promise<RouteEdit> {
  const app = await readApp(folder);
  const route = routeNamed(order.route, app);
  await assertNotNeeded(route, app);
  const message = `Remove ${titleOf(route)}`;
  if (app.found === null) return { writes: [], removals: await treeOf(route, app), message };
  const written = await manifestWithout(app.found, route, app);
  const { functions } = await surroundingsOf(app, null);
  const own = functions.find((fn) => fn.kind === route.kind && nameOf(fn) === nameOf(route))?.name;
  const staysUnused = own !== undefined && !functions.some((fn) => fn.name === own && nameOf(fn) !== nameOf(route));
  return { writes: [written], removals: [], message: staysUnused ? `${message} (its files stay in ${own})` : message };
}

interface App {
  readonly folder: string; // Absolute.
  readonly manifest: AppManifest;
  readonly found: FoundManifest | null;
}

async function readApp(path: string): Promise<App> {
  const folder = resolve(path);
  if (!(await isFolder(folder))) throw new PlatformError("APP_FOLDER_INVALID", { detail: `${folder} is no folder.` });
  const findings: Findings = { problems: [], warnings: [] };
  const { manifest, found } = await findAppManifest(folder, findings);
  const { problems } = findings;
  if (problems.length > 0)
    throw new PlatformError("MANIFEST_INVALID", {
      detail: `It has ${problems.length} problem${problems.length === 1 ? "" : "s"}, and is edited once it has none.`,
      problems,
    });
  return { folder, manifest, found };
}

async function surroundingsOf({ folder, manifest }: App, generation: AppGeneration | null): Promise<Surroundings> {
  const ignored: Findings = { problems: [], warnings: [] }; // Of folders that are missing: the next build names them.
  const functions = await findFunctions(
    { appFolder: folder, manifest, generation: generation ?? manifest.generation, shared: [] },
    ignored,
  );
  return { appFolder: folder, routes: manifest.routes, functions };
}

/** Also where only the names of parameters differ. */
function assertFree(route: KindOfRoute, { manifest, found }: App): void {
  const taken = manifest.routes.find((other) => duplicateProblems([other, route].map((one) => ({ ...one, origin: "" }))).length > 0);
  if (taken === undefined) return;
  const where = found === null ? `the folder ${taken.source ?? ""}` : `@${taken.kind} of ${found.fileName}`;
  throw new PlatformError("ROUTE_TAKEN", {
    detail: `${titleOf(route)} and "${nameOf(taken)}" of ${where} answer the same requests.`,
    remedy: `Change what is in ${candidatesOf(taken)[0] ?? ""}, or remove that route first: orchestrator route rm "${titleOf(taken)}".`,
  });
}

/** Without a manifest, the folder's name is all that says which route it is. */
function scanProblem(route: KindOfRoute, place: string, { found }: App): string | null {
  if (found !== null) return null;
  const read = routeOfFolder(place.slice(place.lastIndexOf("/") + 1));
  if (read !== null && nameOf(read) === nameOf(route)) return null;
  return `without a manifest its folder ${place} would be ${read === null ? "no route" : `the route "${nameOf(read)}"`}`;
}

/** Throws ROUTE_INVALID where that cannot be done without damage. */
async function manifestWith(found: FoundManifest, route: KindOfRoute, app: App & { readonly file: string }): Promise<RouteWrite> {
  const { file } = found;
  const problem = await fileProblem(found, app);
  const text = problem === null ? withRoute(file, route) : null;
  if (text !== null) return { path: file.name, text, replaces: file.text };
  const why = problem ?? `${found.fileName} is written in a form that cannot be edited without damage`;
  throw new PlatformError("ROUTE_INVALID", {
    detail: `${titleOf(route)} cannot be added.`,
    problems: [`${titleOf(route)}: ${why}`],
    remedy: `Add by hand ${lineFor(file.format, route)} and put its handler into ${app.file}.`,
  });
}

async function manifestWithout(found: FoundManifest, route: KindOfRoute, app: App): Promise<RouteWrite> {
  const { file } = found;
  const problem = await fileProblem(found, app);
  const text = problem === null ? withoutRoute(file, route) : null;
  if (text !== null) return { path: file.name, text, replaces: file.text };
  const why = problem ?? `${found.fileName} is written in a form that cannot be edited without damage`;
  throw kept(route, `${why}.`, `Take "${nameOf(route)}" out of ${file.name} by hand, below "${route.kind}".`);
}

/** As a sentence; null where the file can be written again. */
async function fileProblem({ file }: FoundManifest, { folder }: App): Promise<string | null> {
  const path = join(folder, file.name);
  if ((await lstat(path)).isSymbolicLink()) return `${file.name} is a link, which is not written through`;
  const isWhole = (await readFile(path)).equals(Buffer.from(file.text));
  return isWhole ? null : `${file.name} holds bytes that are no UTF-8, or changes just now`;
}

/** Throws ROUTE_UNKNOWN. */
function routeNamed(text: string, { manifest }: App): ManifestRoute {
  const wanted = routeOfText(text);
  const route = wanted === null ? undefined : manifest.routes.find((one) => nameOf(one) === nameOf(wanted));
  if (route !== undefined) return route;
  const names = manifest.routes.slice(0, ROUTES_NAMED).map(titleOf);
  throw new PlatformError("ROUTE_UNKNOWN", {
    detail: `${cut(text)}.`,
    remedy:
      names.length === 0 ? "The app has none." : `There are: ${names.join(", ")}${manifest.routes.length > names.length ? ", …" : ""}.`,
  });
}

const ROUTES_NAMED = 20;

const kept = (route: KindOfRoute, detail: string, remedy: string): PlatformError =>
  new PlatformError("ROUTE_KEPT", { detail: `${titleOf(route)}: ${detail}`, remedy });

async function assertNotNeeded(route: ManifestRoute, { folder, manifest }: App): Promise<void> {
  if (nameOf(route) === "get /")
    throw kept(route, "it answers whatever no other route takes.", "Change its handler, or take it out of the app's source by hand.");
  const picks = manifest.shared.filter((one) => one.picks?.some((pick) => pick.kind === route.kind && nameOf(pick) === nameOf(route)));
  const [pick] = picks.map((one) => `@${one.packageName.slice("@architect/".length)}`);
  if (pick !== undefined)
    throw kept(route, `${pick} of the manifest names it, too.`, `Take "${nameOf(route)}" out of the list in ${pick} first.`);
  const ignored: Findings = { problems: [], warnings: [] };
  const isOnly = manifest.routes.length === 1 && Object.keys(manifest.proxyUrls).length === 0;
  if (isOnly && (await findSite(folder, manifest, ignored)) === null)
    throw kept(route, "it is all that the app answers with.", "Add another route first.");
}

/** Where the folder is the route, everything in it leaves. */
async function treeOf(route: ManifestRoute, { folder }: App): Promise<readonly string[]> {
  const place = candidatesOf(route)[0] ?? "";
  const problem = await realFolderProblem(folder, dirname(place));
  if (problem !== null) throw kept(route, `${problem}.`, `Remove ${place} by hand.`);
  const tree = await listTree(folder, { place, entryCountMax: FUNCTION_FILE_COUNT_MAX });
  if (tree !== null) return tree;
  throw kept(route, `${place} holds too much to be removed by a command.`, "Remove that folder by hand.");
}

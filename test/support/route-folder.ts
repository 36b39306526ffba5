// Apps in temporary folders whose routes are edited: made, edited, and read again.
import { mkdir, mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { readAppFolder } from "../../orchestrator/apps/app-folder.ts";
import { type AddOrder, type RouteEdit, addRoute, applyRouteEdit, removeRoute } from "../../orchestrator/apps/route-edit.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { writeFiles } from "./platform.ts";

export type Files = Readonly<Record<string, string | Buffer>>;

export const OLD = "exports.handler = async () => ({ statusCode: 200 });\n";
export const INDEX = { "src/http/get-index/index.js": OLD };
export const ARC = { "app.arc": "@app\nshop\n\n@http\nget /\n", ...INDEX };
export const SUBMIT: AddOrder = { route: "POST /api/submit", kind: "http" };

export async function appFolderOf(files: Files): Promise<string> {
  const parent = await mkdtemp(join(tmpdir(), "orchestrator-routes-"));
  onTestFinished(async () => rm(parent, { recursive: true, force: true }));
  const folder = join(parent, "shop");
  await mkdir(folder);
  await writeFiles(folder, files);
  return folder;
}

/** Every file by its path, and what links lead to. */
export async function filesIn(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const read = entries
    .filter((entry) => entry.isFile())
    .map(async (entry): Promise<[string, string]> => {
      const path = join(entry.parentPath, entry.name);
      return [path.slice(folder.length + 1), await readFile(path, "utf8")];
    });
  return Object.fromEntries((await Promise.all(read)).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

export const routesOf = async (folder: string): Promise<string[]> =>
  (await readAppFolder(folder)).functions.map((fn) => `${fn.kind} ${fn.method} ${fn.path} ${fn.name}`).toSorted();

export async function addTo(folder: string, order: AddOrder = SUBMIT): Promise<RouteEdit> {
  const edit = await addRoute(folder, order);
  await applyRouteEdit(folder, edit);
  return edit;
}

export async function removeFrom(folder: string, route: string): Promise<RouteEdit> {
  const edit = await removeRoute(folder, { route });
  await applyRouteEdit(folder, edit);
  return edit;
}

export async function failureOf(work: Promise<unknown>): Promise<PlatformError> {
  const error: unknown = await work.then(
    () => null,
    (cause: unknown) => cause,
  );
  if (error instanceof PlatformError) return error;
  throw new Error("it did not fail as it should", { cause: error });
}

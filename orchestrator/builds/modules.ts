// Where the packages of an app lie: in the node_modules of its folders, or where they were installed for it.
import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { AppSource, FunctionSource } from "../apps/app-source.ts";
import { isInside } from "../apps/folders.ts";
import { type InstallRequest, installRequest } from "./install-request.ts";

export interface Modules {
  /** The node_modules of a folder of the app, which may lie elsewhere; null where it has none. */
  of(folder: string): string | null;
  readonly isComplete: boolean; // False where something would have to be installed first.
}

export type Install = (request: InstallRequest) => Promise<string>;

/** Looks into the folders where these functions' imports are looked for. Without a way to install, what is missing stays missing. */
export async function findModules(app: AppSource, functions: readonly FunctionSource[], install: Install | null): Promise<Modules> {
  const shared = app.shared.filter((one) => functions.some((fn) => fn.packages.includes(one.packageName)));
  const installable = [...new Set([app.folder, ...functions.map((fn) => fn.folder), ...shared.map((one) => one.folder)])];
  const folders = new Set([...installable, ...functions.flatMap((fn) => foldersAbove(fn.folder, app.folder))]);
  const there = new Map<string, string>();
  await Promise.all(
    [...folders].map(async (folder) => {
      const modules = join(folder, "node_modules");
      if ((await stat(modules).catch(() => null))?.isDirectory()) there.set(folder, modules);
    }),
  );
  const lacking = installable.filter((folder) => !there.has(folder));
  const requests = (await Promise.all(lacking.map(async (folder) => installRequest(folder, app)))).filter((request) => request !== null);
  if (install !== null) await Promise.all(requests.map(async (request) => void there.set(request.folder, await install(request))));
  return {
    of: (folder) => there.get(folder) ?? null,
    isComplete: install !== null || requests.length === 0,
  };
}

/** From a folder's parent up to the app's. */
export function foldersAbove(folder: string, appFolder: string): string[] {
  const above: string[] = [];
  for (let current = folder; current !== appFolder && isInside(appFolder, dirname(current)); current = dirname(current))
    above.push(dirname(current));
  return above;
}

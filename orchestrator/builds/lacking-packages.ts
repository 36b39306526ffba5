// Finds what a package.json of the app asks for and no build will hold, before a function fails for want of it.
import { stat } from "node:fs/promises";
import { join } from "node:path";
import type { AppSource } from "../apps/app-source.ts";
import { isFolder, nameInApp } from "../apps/folders.ts";
import { LIBRARY_PACKAGES } from "./library-stubs.ts";
import { packagesByPath } from "./install-request.ts";
import { foldersAbove } from "./modules.ts";
import { isRecord, readPackage } from "./packages.ts";

/** One warning per folder. */
export async function lackingPackages(app: AppSource): Promise<readonly string[]> {
  const folders = new Set([app.folder, ...app.functions.map((fn) => fn.folder), ...app.shared.map((one) => one.folder)]);
  const warnings = await Promise.all([...folders].map(async (folder) => warningOf(folder, app.folder)));
  return warnings.filter((warning) => warning !== null);
}

async function warningOf(folder: string, appFolder: string): Promise<string | null> {
  const fields = (await readPackage(folder)) ?? {};
  const dependencies = fields["dependencies"];
  const names = isRecord(dependencies) ? Object.keys(dependencies).filter((name) => !LIBRARY_PACKAGES.includes(name)) : [];
  if (!(await isFolder(join(folder, "node_modules")))) return notInstalled(folder, { appFolder, names: packagesByPath(fields) });
  const places = [folder, ...foldersAbove(folder, appFolder)];
  const isThere = await Promise.all(names.map(async (name) => isIn(places, name)));
  const lacking = names.filter((_name, index) => isThere[index] === false);
  if (lacking.length === 0) return null;
  const file = (name: string): string => nameInApp(appFolder, join(folder, name));
  const list =
    lacking.length > NAMED_COUNT_MAX ? [...lacking.slice(0, NAMED_COUNT_MAX), `${lacking.length - NAMED_COUNT_MAX} more`] : lacking;
  return `${file("package.json")} asks for ${list.join(", ")}: ${file("node_modules")} lacks ${lacking.length === 1 ? "it" : "them"}, and is used as it is; run npm install in ${folder}`;
}

/** Of a folder whose packages are installed for the build. */
function notInstalled(
  folder: string,
  { appFolder, names }: { readonly appFolder: string; readonly names: readonly string[] },
): string | null {
  const file = nameInApp(appFolder, join(folder, "package.json"));
  const one = "asks for packages by their path, which are found in a node_modules of the app only";
  return names.length === 0 ? null : `${file} ${one} (${names.join(", ")}); run npm install in ${folder}`;
}

const NAMED_COUNT_MAX = 5;

async function isIn(folders: readonly string[], name: string): Promise<boolean> {
  for (const folder of folders) if ((await stat(join(folder, "node_modules", name)).catch(() => null)) !== null) return true;
  return false;
}

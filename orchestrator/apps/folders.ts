// Looks into an app's folder: what is there, and whether it truly lies inside.
import { readFile, readdir, realpath, stat } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";

export const isInside = (folder: string, path: string): boolean => path === folder || path.startsWith(folder + sep);

/** A folder as a manifest names it: a leading "/" means the app's own folder, not the machine's. */
export const inApp = (appFolder: string, written: string): string => resolve(appFolder, `./${written.replace(/^\/+/, "")}`);

/** Relative to the app's folder, with "/", as owners know it. */
export const nameInApp = (appFolder: string, absolute: string): string => relative(appFolder, absolute).split(sep).join("/");

/** What is wrong with the place of a folder, as the end of a sentence; null where it lies below the app's own, links followed. */
export async function placeProblem(appFolder: string, absolute: string): Promise<string | null> {
  if (absolute === appFolder) return "should be a folder below the app's, not the app itself";
  if (!isInside(appFolder, absolute)) return "should lie inside the app's folder";
  const target = await realpath(absolute).catch(() => null);
  if (target === null || isInside(await realpath(appFolder), target)) return null;
  return "is a link that leads out of the app's folder";
}

export async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => null))?.isDirectory() ?? false;
}

export async function folderNamesIn(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  const names = await Promise.all(
    entries.map(async (entry) =>
      entry.isDirectory() || (entry.isSymbolicLink() && (await isFolder(join(path, entry.name)))) ? entry.name : null,
    ),
  );
  return names.filter((name) => name !== null).toSorted();
}

/** Null where there is no such file. */
export async function textOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && ["ENOENT", "EISDIR", "ENOTDIR"].includes(String(cause.code))) return null;
    throw cause;
  }
}

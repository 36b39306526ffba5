// Where in an app's folder the platform itself may write or remove: at real places only, never through a link.
import { lstat, readdir } from "node:fs/promises";
import { resolve } from "node:path";
import { isInside, nameInApp } from "./folders.ts";

export type Entry = "none" | "file" | "folder" | "other";

/** What is at a place now, itself: a link is "other", wherever it leads. */
export async function entryAt(path: string): Promise<Entry> {
  try {
    const found = await lstat(path);
    return found.isFile() ? "file" : found.isDirectory() ? "folder" : "other";
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && ["ENOENT", "ENOTDIR"].includes(String(cause.code))) return "none";
    throw cause;
  }
}

/** Why nothing can be written below a folder of the app, as a sentence; null where it can, or could once it is made. */
export async function realFolderProblem(appFolder: string, folder: string): Promise<string | null> {
  const absolute = resolve(appFolder, folder);
  if (!isInside(appFolder, absolute)) return `${folder} lies outside of the app's folder`;
  const parts = absolute === appFolder ? [] : nameInApp(appFolder, absolute).split("/");
  for (const index of parts.keys()) {
    const part = parts.slice(0, index + 1).join("/");
    const entry = await entryAt(resolve(appFolder, part));
    if (entry === "none") return null;
    if (entry !== "folder") return `${part} is ${entry === "file" ? "a file" : "a link"}, and should be a folder`;
  }
  return null;
}

interface TreeOrder {
  readonly place: string;
  readonly entryCountMax: number;
}

/** Every file and link below a place of the app, and folders that hold nothing. Null where there are more entries than that. */
export async function listTree(appFolder: string, { place, entryCountMax }: TreeOrder): Promise<readonly string[] | null> {
  const found: string[] = [];
  const waiting = [place];
  for (let count = 0; waiting.length > 0; count += 1) {
    if (count + waiting.length > entryCountMax) return null;
    const path = waiting.pop() ?? place;
    const isRealFolder = (await entryAt(resolve(appFolder, path))) === "folder";
    const names = isRealFolder ? (await readdir(resolve(appFolder, path))).toSorted() : [];
    if (names.length === 0) found.push(path);
    else waiting.push(...names.map((name) => `${path}/${name}`).toReversed());
  }
  return found;
}

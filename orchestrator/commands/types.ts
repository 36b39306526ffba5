// Writes the types of the runtime library into an app's folder, where an editor and a type checker find them.
import { stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { readTypes, TYPES_FILE } from "../apps/starter.ts";

/** Replaces an older version. Resolves with the file's absolute path. */
export async function writeTypes(path: string): Promise<string> {
  const folder = resolve(path);
  if (!(await isFolder(folder)))
    throw new PlatformError("USAGE", { detail: `${folder} is no folder.`, remedy: "Name an app's folder: orchestrator types <folder>." });
  const file = join(folder, TYPES_FILE);
  await writeFile(file, readTypes());
  return file;
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

// Writes folders of read-only files so that they are there as a whole or not at all.
import { randomBytes } from "node:crypto";
import { access, chmod, mkdir, readFile, readdir, readlink, rename, rm, symlink, writeFile } from "node:fs/promises";
import { basename, dirname, join, posix } from "node:path";

import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { syncPath } from "../processes/atomic-file.ts";
import { syncTree } from "../processes/sync-tree.ts";

export interface FolderFile {
  readonly path: string; // Relative, with "/".
  readonly bytes: Uint8Array;
  readonly isExecutable?: boolean;
  readonly linksTo?: string; // A link, to be read from its own folder.
}

const HALF_MADE_PREFIX = ".making-";
const FILES_AT_ONCE = 32; // Open files, of the 1,024 that a process commonly may have.

/** Made beside its place under another name, then renamed. Resolves once it outlives a power failure: releases name builds by their id alone. */
export async function makeFolder(folder: string, files: readonly FolderFile[]): Promise<void> {
  const problems = files.flatMap(problemsOfFile);
  if (problems.length > 0) throw new PlatformError("FUNCTION_INVALID", { detail: "Files have names that cannot be built.", problems });
  const halfMade = halfMadeName(folder);
  try {
    await makeTraversable(halfMade, 0o755);
    await writeFiles(halfMade, files);
    await syncTree(halfMade);
    await takePlace(halfMade, folder);
    await syncPath(dirname(folder));
  } catch (error) {
    await rm(halfMade, { recursive: true, force: true });
    throw error;
  }
}

/** Whether the folder holds every file with these very bytes: after a power failure some may be empty. */
export async function holdsFiles(folder: string, files: readonly FolderFile[]): Promise<boolean> {
  if (!(await isThere(folder))) return false;
  for (const part of inParts(files)) {
    const matches = await Promise.all(part.map((file) => holdsFile(folder, file)));
    if (matches.includes(false)) return false;
  }
  return true;
}

export async function removeHalfMade(parent: string): Promise<void> {
  const names = (await readdir(parent)).filter((name) => name.startsWith(HALF_MADE_PREFIX));
  await Promise.all(names.map((name) => rm(join(parent, name), { recursive: true, force: true })));
}

/** Gone at once from its place, wherever the removal is interrupted. One that is not there is fine. */
export async function removeFolder(folder: string): Promise<void> {
  const halfRemoved = halfMadeName(folder);
  try {
    await rename(folder, halfRemoved);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return;
    throw error;
  }
  await rm(halfRemoved, { recursive: true, force: true });
}

/** With exactly this mode, whatever the umask says. */
export async function makeTraversable(folder: string, mode: number): Promise<void> {
  await mkdir(folder, { recursive: true, mode });
  await chmod(folder, mode);
}

const halfMadeName = (folder: string): string =>
  join(dirname(folder), `${HALF_MADE_PREFIX}${basename(folder)}-${randomBytes(6).toString("hex")}`);

const problemsOfFile = ({ path, linksTo }: FolderFile): string[] => [
  ...problemOfPath(path),
  ...(linksTo === undefined || problemOfPath(path).length > 0 ? [] : problemOfPath(posix.join(posix.dirname(path), linksTo))),
];

/** A path may only lead into the folder, and mean the same on every system. */
export function problemOfPath(path: string): string[] {
  const isSafe =
    path !== "" && !/[\\\0]/.test(path) && path.split("/").every((segment) => segment !== "" && segment !== "." && segment !== "..");
  return isSafe ? [] : [`${JSON.stringify(path)}: leads out of the folder, or is no plain relative path`];
}

async function writeFiles(folder: string, files: readonly FolderFile[]): Promise<void> {
  const folders = new Set(files.flatMap(({ path }) => foldersOf(path)));
  for (const inner of folders) await makeTraversable(join(folder, inner), 0o755);
  for (const part of inParts(files)) {
    await Promise.all(
      part.map(async ({ path, bytes, isExecutable = false, linksTo }) => {
        if (linksTo !== undefined) return symlink(linksTo, join(folder, path));
        await writeFile(join(folder, path), bytes, { flag: "wx" });
        await chmod(join(folder, path), isExecutable ? 0o555 : 0o444);
      }),
    );
  }
}

/** "a/b/c.js" → "a", "a/b": in the order in which they are made. */
function foldersOf(path: string): string[] {
  const segments = path.split("/").slice(0, -1);
  return segments.map((_, index) => segments.slice(0, index + 1).join("/"));
}

/** What stands there already is not what was asked for, or was put there meanwhile by someone who made the same. */
async function takePlace(halfMade: string, folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await rename(halfMade, folder);
}

async function holdsFile(folder: string, file: FolderFile): Promise<boolean> {
  try {
    const path = join(folder, file.path);
    return file.linksTo === undefined ? (await readFile(path)).equals(file.bytes) : (await readlink(path)) === file.linksTo;
  } catch {
    return false; // Missing, or unreadable: it is made again.
  }
}

function inParts(files: readonly FolderFile[]): FolderFile[][] {
  return Array.from({ length: Math.ceil(files.length / FILES_AT_ONCE) }, (_, part) =>
    files.slice(part * FILES_AT_ONCE, (part + 1) * FILES_AT_ONCE),
  );
}

/** Whether anything of that name is there. */
export const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

// Measures how much folders take on the disk, all at once, for so long and up to so many entries.
import type { Dirent } from "node:fs";
import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";

export interface Measured {
  readonly bytes: number;
  readonly fileCount: number;
  readonly isWhole: boolean; // False where it took too long, or may not be looked into.
}

export interface WalkBounds {
  readonly entryCountMax: number; // Of all paths together.
  readonly timeoutMs: number;
}

interface Walk {
  entryCount: number;
  readonly seen: Set<string>; // Files with several names.
  readonly isOver: () => boolean;
}

interface Sum {
  bytes: number;
  fileCount: number;
  isWhole: boolean;
}

const AT_ONCE = 8; // Files of one part that are looked at together: others wait for the same few threads.
const READ_AT_ONCE = 128; // Names.
const BLOCK_BYTES = 512; // What lstat counts in, whatever the file system's own blocks are.

/** One answer for each path; 0 for one that is not there. Links count themselves, and a file with several names once. */
export async function measurePaths(paths: readonly string[], { entryCountMax, timeoutMs }: WalkBounds): Promise<Measured[]> {
  const deadlineMs = performance.now() + timeoutMs;
  const walk: Walk = { entryCount: 0, seen: new Set(), isOver: () => walk.entryCount >= entryCountMax || performance.now() > deadlineMs };
  return Promise.all(paths.map(async (path) => measure(path, walk)));
}

async function measure(path: string, walk: Walk): Promise<Measured> {
  const sum: Sum = { bytes: 0, fileCount: 0, isWhole: true };
  const folders: string[] = [];
  await addAll([path], { walk, sum, folders });
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) await addFolder(next, { walk, sum, folders });
  return sum;
}

interface Into {
  readonly walk: Walk;
  readonly sum: Sum;
  readonly folders: string[]; // Still to be looked into.
}

/** Part by part: a folder may have a million entries. */
async function addFolder(folder: string, into: Into): Promise<void> {
  if (into.walk.isOver()) return void (into.sum.isWhole = false);
  let part: string[] = [];
  try {
    const entries: AsyncIterable<Dirent> = await opendir(folder, { bufferSize: READ_AT_ONCE });
    for await (const { name } of entries) {
      part.push(join(folder, name));
      if (part.length < AT_ONCE) continue;
      await addAll(part, into);
      part = [];
      if (into.walk.isOver()) break;
    }
    await addAll(part, into);
  } catch (cause) {
    into.sum.isWhole &&= isMissing(cause);
  }
}

async function addAll(paths: readonly string[], { walk, sum, folders }: Into): Promise<void> {
  if (walk.isOver()) {
    if (paths.length > 0) sum.isWhole = false;
    return;
  }
  walk.entryCount += paths.length;
  await Promise.all(
    paths.map(async (path) => {
      try {
        const facts = await lstat(path);
        const isFolder = facts.isDirectory();
        if (isFolder) folders.push(path);
        if (!isFolder && facts.nlink > 1) {
          if (walk.seen.has(`${facts.dev} ${facts.ino}`)) return;
          walk.seen.add(`${facts.dev} ${facts.ino}`);
        }
        sum.bytes += facts.blocks * BLOCK_BYTES;
        if (!isFolder) sum.fileCount += 1;
      } catch (cause) {
        sum.isWhole &&= isMissing(cause);
      }
    }),
  );
}

/** What is removed while it is looked at takes nothing; what may not be looked into takes more than is known. */
function isMissing(cause: unknown): boolean {
  if (cause instanceof Error && "code" in cause) return cause.code === "ENOENT";
  throw cause;
}

// Writes a source, entry by entry, into a folder of its own: wholly, or nothing of it, and never anything outside.
import assert from "node:assert/strict";
import { constants } from "node:fs";
import { chmod, lstat, mkdir, open, readdir, realpath, rm, symlink } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { type EntryKind, LEADS_OUT, SOURCE_LIMITS, type SourceLimits } from "./entry-rules.ts";
import { quoted, refusedEntry } from "./refused.ts";
import { joinChunks } from "./join-chunks.ts";
import { createLanes, type Lanes } from "./lanes.ts";
import { createSourceTree, type PlacedLink, type SourceTree } from "./source-tree.ts";
import { untilAborted } from "./until-aborted.ts";

export interface SourceEntry {
  readonly path: string; // As it came: unchecked.
  readonly kind: EntryKind; // "other": devices, pipes, hard links, submodules and whatever else: refused.
  readonly isExecutable: boolean;
  readonly linksTo?: string;
  readonly bytes: AsyncIterable<Uint8Array> | Uint8Array | null; // Of files; stays as it is when the next entry is asked for.
  readonly byteCount: number; // As announced.
}

export interface SourceFacts {
  readonly fileCount: number;
  readonly bytes: number;
}

export interface WriteOptions {
  readonly into: string; // Absolute; is made here, must not be there or be empty.
  readonly signal: AbortSignal;
  readonly limits?: SourceLimits;
}

/** Throws SOURCE_REFUSED, which names the entry. A failure of any kind leaves nothing behind. */
export async function writeSource(
  entries: AsyncIterable<SourceEntry>,
  { into, signal, limits = SOURCE_LIMITS }: WriteOptions,
): Promise<SourceFacts> {
  assert(isAbsolute(into), "a source is written to an absolute path");
  const { wasThere, keepsModes } = await makeFolder(into);
  const writing: Writing = { into, keepsModes, signal, tree: createSourceTree(limits), lanes: createLanes(SMALL_FILES_AT_ONCE) };
  try {
    for await (const entry of untilAborted(entries, signal)) await writeEntry(entry, writing);
    await writing.lanes.done();
    await writeLinks(writing);
    return { fileCount: writing.tree.fileCount, bytes: writing.tree.bytes };
  } catch (cause) {
    await writing.lanes.done().catch(() => undefined); // Nothing may be written any more when all is removed.
    // What cannot even be removed lies in a folder that nobody uses; the first failure says more.
    await removeWritten(into, wasThere).catch(() => undefined);
    throw cause;
  }
}

// Each write waits for other threads far longer than it works: measured, one after the other takes six times as long.
const SMALL_FILES_AT_ONCE = 8;
const SMALL_FILE_BYTES_MAX = 65_536;

/** Whether it was there, and whether what is made in it is known to get the modes that are asked for, whatever the umask. */
async function makeFolder(into: string): Promise<{ readonly wasThere: boolean; readonly keepsModes: boolean }> {
  const made = await mkdir(into, { recursive: true, mode: 0o755 });
  const facts = await lstat(into);
  if (made !== undefined) return { wasThere: false, keepsModes: (facts.mode & 0o777) === 0o755 };
  assert(facts.isDirectory() && (await readdir(into)).length === 0, `a source is written to an empty folder, not to ${into}`);
  return { wasThere: true, keepsModes: false };
}

async function removeWritten(into: string, wasThere: boolean): Promise<void> {
  if (!wasThere) await rm(into, { recursive: true, force: true });
  else for (const name of await readdir(into)) await rm(join(into, name), { recursive: true, force: true });
}

interface Writing {
  readonly into: string;
  readonly keepsModes: boolean;
  readonly signal: AbortSignal;
  readonly tree: SourceTree;
  readonly lanes: Lanes;
}

async function writeEntry(entry: SourceEntry, { into, keepsModes, signal, tree, lanes }: Writing): Promise<void> {
  const placed = tree.add(entry);
  if (placed.kind === "refused") throw refusedEntry(entry.path, placed.problem);
  for (const folder of placed.newFolders) await make(folder, async () => makeOwnFolder(join(into, folder), keepsModes));
  if (entry.kind !== "file") return;
  const content = contentOf(entry, signal);
  const write = async (chunks: AsyncIterable<Uint8Array> | Uint8Array): Promise<void> =>
    make(placed.path, async () => writeFile(join(into, placed.path), chunks, { isExecutable: entry.isExecutable, keepsModes }));
  if (entry.byteCount > SMALL_FILE_BYTES_MAX) return write(content);
  const bytes = await joinChunks(content); // Now, because the next entry may only be asked for when this one is read.
  await lanes.start(async () => write(bytes));
}

async function makeOwnFolder(path: string, keepsModes: boolean): Promise<void> {
  await mkdir(path, { mode: 0o755 });
  if (!keepsModes) await chmod(path, 0o755);
}

/** Exactly as many bytes as were announced. */
async function* contentOf({ path, bytes, byteCount }: SourceEntry, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
  let readCount = 0;
  for await (const chunk of bytes instanceof Uint8Array ? [bytes] : untilAborted(bytes ?? emptyContent(), signal)) {
    readCount += chunk.byteLength;
    if (readCount > byteCount) throw refusedEntry(path, `is longer than the ${byteCount} bytes that were announced`);
    yield chunk;
  }
  if (readCount < byteCount) throw refusedEntry(path, `ends after ${readCount} of ${byteCount} bytes`);
}

async function* emptyContent(): AsyncGenerator<Uint8Array, void, undefined> {}

// Only a name that is not there yet, and never through a link: whatever else happens on this disk meanwhile.
const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

interface FileModes {
  readonly isExecutable: boolean;
  readonly keepsModes: boolean;
}

async function writeFile(
  path: string,
  chunks: AsyncIterable<Uint8Array> | Uint8Array,
  { isExecutable, keepsModes }: FileModes,
): Promise<void> {
  const mode = isExecutable ? 0o755 : 0o644; // All other bits, such as setuid, are left behind.
  const file = await open(path, NEW_FILE, mode);
  try {
    if (!keepsModes) await file.chmod(mode);
    await file.writeFile(chunks);
  } finally {
    await file.close();
  }
}

/** Last, so that nothing is ever written through one. */
async function writeLinks({ tree, into, signal }: Writing): Promise<void> {
  const wrong = tree.wrongLink();
  if (wrong !== null) throw refusedEntry(wrong.path, wrong.problem);
  for (const { path, target } of tree.links) {
    signal.throwIfAborted();
    await make(path, async () => symlink(target, join(into, path)));
  }
  const root = await realpath(into);
  for (const link of tree.links) {
    signal.throwIfAborted();
    await assertInside(link, { into, root });
  }
}

/** The disk has the last word: on some, names that differ are the same. */
async function assertInside({ path }: PlacedLink, { into, root }: { readonly into: string; readonly root: string }): Promise<void> {
  const end = await realpath(join(into, path)).catch((cause: unknown) => {
    if (codeOf(cause) === "ENOENT" || codeOf(cause) === "ENOTDIR") return root; // Leads to what is not there.
    throw cause;
  });
  if (end !== root && !end.startsWith(`${root}/`)) throw refusedEntry(path, LEADS_OUT);
}

async function make(path: string, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (cause) {
    const code = codeOf(cause);
    if (code === "EEXIST") throw refusedEntry(path, "is the name of another entry on a disk that does not tell them apart", cause);
    if (code === "ENOSPC" || code === "EDQUOT")
      throw new PlatformError(
        "HOME_UNUSABLE",
        { detail: `There was no room left for ${quoted(path)}.`, remedy: "Make room on the disk." },
        { cause },
      );
    throw cause;
  }
}

const codeOf = (cause: unknown): string => (cause instanceof Error && "code" in cause ? String(cause.code) : "");

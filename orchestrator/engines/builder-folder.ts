// Reads a folder as the entries of a source: what goes into a builder, and what comes out of one. Links are never followed.
import { constants, type Stats } from "node:fs";
import { lstat, open, opendir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { SOURCE_LIMITS } from "../sources/entry-rules.ts";
import { refusedEntry } from "../sources/refused.ts";
import { createSourceTree } from "../sources/source-tree.ts";
import type { SourceEntry } from "../sources/write-source.ts";

/** At any depth: packages are installed inside, and the history of a source is nothing to its scripts. */
export const LEFT_BEHIND: readonly string[] = ["node_modules", ".git"];

const READ_BYTES = 262_144;
// A name that became a link or a pipe since it was looked at is not opened, and nothing is waited for.
const READ_ONLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export const folderEntries = (folder: string): AsyncGenerator<SourceEntry> => entriesBelow(folder, "");

async function* entriesBelow(folder: string, prefix: string): AsyncGenerator<SourceEntry> {
  const names = await opendir(folder).catch((cause: unknown) => {
    throw refusedEntry(prefix, "cannot be read", cause);
  });
  for await (const { name } of names) {
    if (LEFT_BEHIND.includes(name)) continue;
    const absolute = join(folder, name);
    const path = `${prefix}${name}`;
    const facts = await lstat(absolute).catch((cause: unknown) => {
      throw refusedEntry(path, "cannot be read", cause); // Such as a name that is no UTF-8.
    });
    yield await entryOf(path, absolute, facts);
    if (facts.isDirectory()) yield* entriesBelow(absolute, `${path}/`); // Whoever takes the entries refuses what is too deep.
  }
}

async function entryOf(path: string, absolute: string, facts: Stats): Promise<SourceEntry> {
  const common = { path, isExecutable: (facts.mode & 0o111) !== 0, bytes: null, byteCount: 0 };
  if (facts.isDirectory()) return { ...common, kind: "folder" };
  if (facts.isSymbolicLink()) return { ...common, kind: "link", linksTo: await readlink(absolute) };
  if (facts.isFile()) return { ...common, kind: "file", byteCount: facts.size, bytes: bytesOf(path, absolute, facts.size) };
  return { ...common, kind: "other" };
}

/** As many as were announced: what is written to meanwhile does not come torn. */
async function* bytesOf(path: string, absolute: string, byteCount: number): AsyncGenerator<Uint8Array, void, undefined> {
  await using file = await open(absolute, READ_ONLY).catch((cause: unknown) => {
    throw refusedEntry(path, "cannot be read", cause);
  });
  for (let position = 0; position < byteCount;) {
    const length = Math.min(READ_BYTES, byteCount - position);
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(length), 0, length, position);
    if (bytesRead === 0) throw refusedEntry(path, "became shorter while it was read");
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** The same entries, as long as they are what a source may hold. Throws SOURCE_REFUSED with the name of the one that is not. */
export async function* checkedEntries(entries: AsyncIterable<SourceEntry>): AsyncGenerator<SourceEntry> {
  const tree = createSourceTree(SOURCE_LIMITS);
  for await (const entry of entries) {
    const placed = tree.add(entry);
    if (placed.kind === "refused") throw refusedEntry(entry.path, placed.problem);
    yield entry;
  }
  const wrong = tree.wrongLink();
  if (wrong !== null) throw refusedEntry(wrong.path, wrong.problem);
}

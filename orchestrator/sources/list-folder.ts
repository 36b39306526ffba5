// Finds what of a folder is to be sent, in an order that is always the same; nothing is read but names, sizes and ignore files.
import { constants } from "node:fs";
import { lstat, opendir, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import { SOURCE_IGNORE_FILE_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { placeOf, type SourceLimits } from "./entry-rules.ts";
import { createIgnoreRules, GITIGNORE, type IgnoreRules, isAlwaysLeftOut, OWN_IGNORE } from "./ignore-files.ts";
import { refusedEntry } from "./refused.ts";
import { createSourceTree, type SourceTree } from "./source-tree.ts";

export interface ListedEntry {
  readonly path: string;
  readonly kind: "file" | "folder" | "link";
  readonly isExecutable: boolean;
  readonly linksTo?: string;
  readonly byteCount: number;
}

export interface FolderListing {
  readonly entries: readonly ListedEntry[];
  readonly fileCount: number;
  readonly bytes: number;
}

/** Throws SOURCE_REFUSED where the platform would refuse what was listed. The folder is absolute and no link. */
export async function listFolder(
  folder: string,
  { signal, limits }: { readonly signal: AbortSignal; readonly limits: SourceLimits },
): Promise<FolderListing> {
  const tree = createSourceTree(limits);
  const entries: ListedEntry[] = [];
  const rules = createIgnoreRules({ gitignore: await ignoreText(folder, GITIGNORE), ownIgnore: await ignoreText(folder, OWN_IGNORE) });
  await listInside({ folder, signal, tree, entries, entryCountMax: limits.entryCountMax }, "", rules);
  const wrong = tree.wrongLink();
  if (wrong !== null) throw refusedEntry(wrong.path, wrong.problem);
  return { entries, fileCount: tree.fileCount, bytes: tree.bytes };
}

interface Listing {
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly tree: SourceTree;
  readonly entries: ListedEntry[];
  readonly entryCountMax: number;
}

async function listInside(listing: Listing, path: string, rules: IgnoreRules): Promise<void> {
  for (const name of await namesIn(listing, path, rules)) {
    listing.signal.throwIfAborted();
    const place = placeOf(below(path, name), "file");
    if (place.kind === "refused") throw refusedEntry(below(path, name), place.problem); // Some such names cannot even be asked for.
    const entry = await entryAt(listing.folder, below(path, name));
    if (entry === null) continue;
    const placed = listing.tree.add(entry);
    if (placed.kind === "refused") throw refusedEntry(entry.path, placed.problem);
    listing.entries.push(entry);
    if (entry.kind !== "folder") continue;
    const gitignore = await ignoreText(listing.folder, `${entry.path}/${GITIGNORE}`);
    await listInside(listing, entry.path, gitignore === "" ? rules : rules.within(entry.path, gitignore));
  }
}

const below = (path: string, name: string): string => (path === "" ? name : `${path}/${name}`);

/** Sorted, and only those that are kept: of a million logs nothing is held but one name at a time. */
async function namesIn({ folder, signal, entryCountMax }: Listing, path: string, rules: IgnoreRules): Promise<string[]> {
  const names: string[] = [];
  for await (const { name, isFolder } of foundIn(folder, path)) {
    signal.throwIfAborted();
    if (isAlwaysLeftOut(name) || rules.ignores(`${below(path, name)}${isFolder ? "/" : ""}`)) continue;
    names.push(name);
    if (names.length > entryCountMax)
      throw refusedEntry(below(path, name), `is one too many: a source has at most ${entryCountMax} entries`);
  }
  return names.sort();
}

async function* foundIn(
  folder: string,
  path: string,
): AsyncGenerator<{ readonly name: string; readonly isFolder: boolean }, void, undefined> {
  try {
    for await (const found of await opendir(join(folder, path))) yield { name: found.name, isFolder: found.isDirectory() };
  } catch (cause) {
    throw asRefused(path === "" ? "." : path, cause);
  }
}

/** Null for what is gone again, and for sockets, pipes and devices, which git passes over as well. */
async function entryAt(folder: string, path: string): Promise<ListedEntry | null> {
  try {
    const facts = await lstat(join(folder, path));
    const common = { path, isExecutable: facts.isFile() && (facts.mode & 0o111) !== 0 };
    if (facts.isFile()) return { ...common, kind: "file", byteCount: facts.size };
    if (facts.isDirectory()) return { ...common, kind: "folder", byteCount: 0 };
    return facts.isSymbolicLink() ? { ...common, kind: "link", linksTo: await readlink(join(folder, path)), byteCount: 0 } : null;
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return null;
    throw asRefused(path, cause);
  }
}

/** Empty where there is none. A link is none, as for git. */
async function ignoreText(folder: string, path: string): Promise<string> {
  const facts = await lstat(join(folder, path)).catch(() => null);
  if (facts === null || !facts.isFile()) return "";
  if (facts.size > SOURCE_IGNORE_FILE_BYTES_MAX)
    throw refusedEntry(path, `is larger than the ${SOURCE_IGNORE_FILE_BYTES_MAX} bytes of an ignore file`);
  return readFile(join(folder, path), { encoding: "utf8", flag: READ_ONLY }).catch((cause: unknown) => {
    throw asRefused(path, cause);
  });
}

// Not through a link that took the file's place, and without waiting for a pipe that did.
export const READ_ONLY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

const codeOf = (cause: unknown): string => (cause instanceof Error && "code" in cause ? String(cause.code) : "");

/** What the system says of a file that cannot be read; other errors stay what they are. */
export function asRefused(path: string, cause: unknown): unknown {
  const isOfSystem = cause instanceof Error && "syscall" in cause;
  return isOfSystem ? refusedEntry(path, `cannot be read (${codeOf(cause)})`, cause) : cause;
}

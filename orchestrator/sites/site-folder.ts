// Reads the folder of an app's static files: what may be served of it, and everything that is wrong with it.
import type { Dirent } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { ERROR_PAGE_BYTES_MAX, SITE_BYTES_MAX, SITE_FILE_COUNT_MAX, SITE_FOLDER_DEPTH_MAX } from "../../runtime-image/contract/limits.ts";
import { mapAtOnce } from "../at-once.ts";

export interface FolderFile {
  readonly path: string; // Below the folder, with "/".
  readonly bytes: Buffer;
}

export interface SiteFolder {
  readonly files: readonly FolderFile[]; // In the order of their paths.
  readonly problems: readonly string[]; // Where there are any, files were not read.
}

const READS_AT_ONCE = 16;

/** Null where the folder is not there. */
export async function readSiteFolder(folder: string, ignore: readonly string[]): Promise<SiteFolder | null> {
  const root = await realpath(folder).catch(nullWhereGone);
  if (root === null) return null;
  const walk: Walk = { root, ignore, found: [], problems: [] };
  await visit(walk, { absolute: root, prefix: "", above: [root] });
  const problems = [...walk.problems, ...sizeProblems(walk.found)];
  if (problems.length > 0) return { files: [], problems };
  const ordered = walk.found.toSorted((left, right) => (left.path < right.path ? -1 : 1));
  const files = await mapAtOnce(ordered, READS_AT_ONCE, readFound);
  return { files: files.filter((file) => file !== null), problems: [] };
}

interface FoundFile {
  readonly path: string;
  readonly absolute: string;
  readonly bytes: number;
}

interface Walk {
  readonly root: string;
  readonly ignore: readonly string[];
  readonly found: FoundFile[];
  readonly problems: string[];
}

interface Place {
  readonly absolute: string;
  readonly prefix: string; // "" or "img/".
  readonly above: readonly string[]; // The real folders on the way to here.
}

async function visit(walk: Walk, place: Place): Promise<void> {
  if (place.above.length > SITE_FOLDER_DEPTH_MAX) {
    walk.problems.push(`${place.prefix}: lies deeper than ${SITE_FOLDER_DEPTH_MAX} folders; make the folder flatter`);
    return;
  }
  for (const entry of await readdir(place.absolute, { withFileTypes: true })) {
    if (walk.found.length > SITE_FILE_COUNT_MAX) return;
    if (isLeftOut(walk, place, entry.name)) continue;
    const problem = nameProblem(entry.name);
    if (problem === null) await visitEntry(walk, place, entry);
    else walk.problems.push(`${JSON.stringify(place.prefix + entry.name)}: ${problem}; rename it`);
  }
}

// ".well-known" is what RFC 8615 makes every site offer; all else that begins with a dot is of no visitor's business.
function isLeftOut({ ignore }: Walk, { prefix }: Place, name: string): boolean {
  if (name.startsWith(".") && !(name === ".well-known" && prefix === "")) return true;
  return ignore.some((text) => `${prefix}${name}`.includes(text));
}

async function visitEntry(walk: Walk, { absolute: folder, prefix, above }: Place, entry: Dirent): Promise<void> {
  const path = `${prefix}${entry.name}`;
  const absolute = join(folder, entry.name);
  const target = entry.isSymbolicLink() ? await realpath(absolute).catch(nullWhereGone) : absolute;
  if (target === null) {
    walk.problems.push(`${path}: a link that leads nowhere; remove it`);
    return;
  }
  if (target !== walk.root && !target.startsWith(walk.root + sep)) {
    walk.problems.push(`${path}: a link that leads out of the folder; copy what it leads to`);
    return;
  }
  const facts = await stat(target).catch(nullWhereGone);
  if (facts === null) return; // Removed a moment ago.
  if (facts.isFile()) walk.found.push({ path, absolute: target, bytes: facts.size });
  else if (!facts.isDirectory()) walk.problems.push(`${path}: neither a file nor a folder; remove it`);
  else if (above.includes(target)) walk.problems.push(`${path}: a link to a folder that it lies in; remove it`);
  else await visit(walk, { absolute: target, prefix: `${path}/`, above: [...above, target] });
}

function nameProblem(name: string): string | null {
  // oxlint-disable-next-line no-control-regex -- Control characters are what this looks for.
  if (/[\u0000-\u001f\u007f]/.test(name)) return "has a control character in its name";
  if (name.includes("\\")) return "has a backslash in its name, which browsers take for a slash";
  return name.includes("\ufffd") ? "has a name that is no UTF-8" : null;
}

function sizeProblems(found: readonly FoundFile[]): string[] {
  const problems: string[] = [];
  const total = found.reduce((sum, file) => sum + file.bytes, 0);
  if (found.length > SITE_FILE_COUNT_MAX) problems.push(`the folder holds more than ${SITE_FILE_COUNT_MAX} files`);
  if (total > SITE_BYTES_MAX) {
    const largest = found.toSorted((left, right) => right.bytes - left.bytes).slice(0, 5);
    const named = largest.map(({ path, bytes }) => `${path} ${megabytes(bytes)}`).join(", ");
    problems.push(`the folder holds ${megabytes(total)}, at most ${megabytes(SITE_BYTES_MAX)} can be served; the largest: ${named}`);
  }
  for (const { path, bytes } of found)
    if ((path === "404.html" || path === "500.html") && bytes > ERROR_PAGE_BYTES_MAX)
      problems.push(`${path}: has ${megabytes(bytes)}; an error page has at most ${megabytes(ERROR_PAGE_BYTES_MAX)}`);
  return problems;
}

async function readFound({ path, absolute }: FoundFile): Promise<FolderFile | null> {
  const bytes = await readFile(absolute).catch(nullWhereGone);
  return bytes === null ? null : { path, bytes }; // Null where it was removed a moment ago.
}

function nullWhereGone(cause: unknown): null {
  if (cause instanceof Error && "code" in cause && (cause.code === "ENOENT" || cause.code === "ELOOP" || cause.code === "ENOTDIR"))
    return null;
  throw cause;
}

const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(2)} MB`;

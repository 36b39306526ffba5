// Reads the files of a folder that ships (a function's, or shared code's), and says everything that is wrong with it.
import { lstat, readFile, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { FUNCTION_FILE_COUNT_MAX } from "../../runtime-image/contract/limits.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { isInside } from "../apps/folders.ts";

export interface Folder {
  readonly name: string; // Relative to the app's, for messages.
  readonly folder: string; // Absolute.
}

export interface FoundFile {
  readonly path: string; // Relative to the folder that was looked through, with "/".
  readonly absolute: string;
  readonly byteCount: number;
  readonly isExecutable: boolean;
}

export interface SourceFile extends FoundFile {
  readonly bytes: Uint8Array;
}

const NEVER_SHIPPED: ReadonlySet<string> = new Set([".git", ".orchestrator", ".DS_Store"]);
const DEPTH_MAX = 64; // Deeper is a loop or a mistake.

export const readSources = async (files: readonly FoundFile[]): Promise<SourceFile[]> =>
  Promise.all(files.map(async (file) => ({ ...file, bytes: await readFile(file.absolute) })));

export const isNeverShipped = (name: string): boolean => NEVER_SHIPPED.has(name);

/** Every file in a fixed order. Installed packages are no part of it: of those only what is reached ships. */
export async function findSources(source: Folder, appFolder: string): Promise<FoundFile[]> {
  const found: FoundFile[] = [];
  const walk = async (folder: string, prefix: string, depth: number): Promise<void> => {
    if (depth > DEPTH_MAX) throw invalid(source, `${prefix} lies deeper than ${DEPTH_MAX} folders`, "Make the folder flatter.");
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (isNeverShipped(entry.name) || entry.name === "node_modules") continue;
      const absolute = join(folder, entry.name);
      const path = `${prefix}${entry.name}`;
      if (hasControlCharacter(entry.name))
        throw invalid(source, `${JSON.stringify(path)} has a control character in its name`, "Rename it.");
      if (entry.isSymbolicLink()) await assertLinkStaysInside(source, appFolder, absolute, path);
      const facts = await stat(absolute);
      if (facts.isDirectory()) await walk(absolute, `${path}/`, depth + 1);
      else if (facts.isFile()) found.push({ path, absolute, byteCount: facts.size, isExecutable: (facts.mode & 0o111) !== 0 });
      else throw invalid(source, `${path} is neither a file nor a folder`, "Remove it.");
      if (found.length > FUNCTION_FILE_COUNT_MAX)
        throw invalid(source, `it holds more than ${FUNCTION_FILE_COUNT_MAX} files`, "Remove what the function does not need at run time.");
    }
  };
  await walk(source.folder, "", 0);
  return found.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** A link ships as what it points to; one that leads out of the app would ship what the owner did not mean to. */
async function assertLinkStaysInside(source: Folder, appFolder: string, absolute: string, path: string): Promise<void> {
  const target = await realpath(absolute).catch(() => null);
  if (target === null) throw invalid(source, `the link ${path} leads nowhere`, "Remove it.");
  const root = await realpath(appFolder);
  if (!isInside(root, target)) throw invalid(source, `the link ${path} leads out of the app's folder`, "Copy the file into the app.");
  if ((await lstat(absolute)).isSymbolicLink() && isInside(target, await realpath(join(absolute, ".."))))
    throw invalid(source, `the link ${path} leads to a folder that it lies in`, "Remove it.");
}

const invalid = (source: Folder, detail: string, remedy: string): PlatformError =>
  new PlatformError("FUNCTION_INVALID", { detail: `${source.name}: ${detail}.`, remedy });

// oxlint-disable-next-line no-control-regex -- Control characters are what this looks for.
const hasControlCharacter = (name: string): boolean => /[\u0000-\u001f\u007f]/.test(name);

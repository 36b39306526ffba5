// Reads the files that a function ships with, and says everything that is wrong with its folder.
import { lstat, readFile, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { FUNCTION_FILE_COUNT_MAX, FUNCTION_FOLDER_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { FunctionSource } from "../apps/app-source.ts";
import { isInside } from "../apps/app-folder.ts";
import type { BuildFile } from "../engines/engine.ts";

const NEVER_SHIPPED: ReadonlySet<string> = new Set([".git", ".orchestrator", ".DS_Store"]);

/** Every file of the function's folder, in a fixed order, and its package type if only a folder above says it. */
export async function collectFiles(source: FunctionSource, appFolder: string): Promise<BuildFile[]> {
  const paths = await pathsBelow(source, appFolder);
  await assertSize(source, paths);
  const files = await Promise.all(
    paths.map(async ({ path, absolute, isExecutable }): Promise<BuildFile> => ({ path, bytes: await readFile(absolute), isExecutable })),
  );
  const inherited = files.some((file) => file.path === "package.json") ? null : await inheritedPackage(source, appFolder);
  return (inherited === null ? files : [...files, inherited]).toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

interface FoundFile {
  readonly path: string;
  readonly absolute: string;
  readonly bytes: number;
  readonly isExecutable: boolean;
}

async function pathsBelow(source: FunctionSource, appFolder: string): Promise<FoundFile[]> {
  const found: FoundFile[] = [];
  const walk = async (folder: string, prefix: string, depth: number): Promise<void> => {
    if (depth > 64) throw invalid(source, `${prefix} lies deeper than 64 folders`, "Make the folder flatter.");
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (NEVER_SHIPPED.has(entry.name)) continue;
      const absolute = join(folder, entry.name);
      const path = `${prefix}${entry.name}`;
      if (hasControlCharacter(entry.name))
        throw invalid(source, `${JSON.stringify(path)} has a control character in its name`, "Rename it.");
      if (entry.isSymbolicLink()) await assertLinkStaysInside(source, appFolder, absolute, path);
      const facts = await stat(absolute);
      if (facts.isDirectory()) await walk(absolute, `${path}/`, depth + 1);
      else if (facts.isFile()) found.push({ path, absolute, bytes: facts.size, isExecutable: (facts.mode & 0o111) !== 0 });
      else throw invalid(source, `${path} is neither a file nor a folder`, "Remove it.");
      if (found.length > FUNCTION_FILE_COUNT_MAX)
        throw invalid(source, `it holds more than ${FUNCTION_FILE_COUNT_MAX} files`, "Remove what the function does not need at run time.");
    }
  };
  await walk(source.folder, "", 0);
  return found;
}

/** A link ships as what it points to; one that leads out of the app would ship what the owner did not mean to. */
async function assertLinkStaysInside(source: FunctionSource, appFolder: string, absolute: string, path: string): Promise<void> {
  const target = await realpath(absolute).catch(() => null);
  if (target === null) throw invalid(source, `the link ${path} leads nowhere`, "Remove it.");
  const root = await realpath(appFolder);
  if (!isInside(root, target)) throw invalid(source, `the link ${path} leads out of the app's folder`, "Copy the file into the app.");
  if ((await lstat(absolute)).isSymbolicLink() && isInside(target, await realpath(join(absolute, ".."))))
    throw invalid(source, `the link ${path} leads to a folder that it lies in`, "Remove it.");
}

async function assertSize(source: FunctionSource, files: readonly FoundFile[]): Promise<void> {
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  if (total <= FUNCTION_FOLDER_BYTES_MAX) return;
  const largest = largestEntries(files).map((entry) => `${source.name}/${entry.name}: ${megabytes(entry.bytes)}`);
  throw new PlatformError("FUNCTION_TOO_LARGE", {
    detail: `${source.name} has ${megabytes(total)}.`,
    problems: largest,
    remedy: "Remove what the function does not need at run time; static files belong into public/.",
  });
}

/** The five largest entries at the top of a function's folder. */
function largestEntries(files: readonly FoundFile[]): { name: string; bytes: number }[] {
  const sums = new Map<string, number>();
  for (const file of files) {
    const name = file.path.split("/")[0] ?? file.path;
    sums.set(name, (sums.get(name) ?? 0) + file.bytes);
  }
  return [...sums]
    .map(([name, bytes]) => ({ name, bytes }))
    .toSorted((a, b) => b.bytes - a.bytes)
    .slice(0, 5);
}

/** Whether ".js" means ES module is said by the nearest package.json, which may lie above the function's folder. */
async function inheritedPackage(source: FunctionSource, appFolder: string): Promise<BuildFile | null> {
  for (let folder = join(source.folder, ".."); isInside(appFolder, folder); folder = join(folder, "..")) {
    const text = await readFile(join(folder, "package.json"), "utf8").catch(() => null);
    if (text === null) continue;
    const type = packageType(text);
    return type === "module" ? { path: "package.json", bytes: Buffer.from('{"type":"module"}\n'), isExecutable: false } : null;
  }
  return null;
}

function packageType(text: string): unknown {
  try {
    const content: unknown = JSON.parse(text);
    return typeof content === "object" && content !== null && "type" in content ? content.type : undefined;
  } catch {
    return undefined; // The syntax check names a package.json that is not JSON.
  }
}

const invalid = (source: FunctionSource, detail: string, remedy: string): PlatformError =>
  new PlatformError("FUNCTION_INVALID", { detail: `${source.name}: ${detail}.`, remedy });

// oxlint-disable-next-line no-control-regex -- Control characters are what this looks for.
const hasControlCharacter = (name: string): boolean => /[\u0000-\u001f\u007f]/.test(name);

const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(2)} MB`;

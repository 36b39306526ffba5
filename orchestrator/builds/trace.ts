// Finds what code reaches beyond its own folder (packages, files of the app, files that those read), by reading it. Runs none of it.
import { statSync } from "node:fs";
import { readFile, readlink, stat } from "node:fs/promises";
import { isAbsolute, join, posix, relative } from "node:path";
import type { BuildFile } from "../engines/engine.ts";
import type { Workspace, WorkspaceEntries } from "./workspace.ts";

export interface TraceRequest {
  readonly entries: readonly string[]; // Code whose imports are followed, as paths of the workspace.
  readonly workingFolder: string; // Where it will run, as a path of the workspace.
  /** What is not looked into and does not ship. */
  readonly isIgnored: (path: string) => boolean;
}

export interface Tracer {
  /** Everything that is reached, the entries included, as it lies in the workspace. */
  trace(request: TraceRequest): Promise<readonly BuildFile[]>;
}

/** Remembers what is inside installed packages for as long as their files do not change. */
export type PackageMemory = Map<string, Remembered>;

interface Remembered {
  readonly signature: string;
  readonly analysis: unknown;
}

const FILES_AT_ONCE = 64;

/** For one state of the workspace: what was looked at once is not looked at again. */
export function createTracer(workspace: Workspace, entries: WorkspaceEntries, memory: PackageMemory): Tracer {
  const { folder } = workspace;
  // To the tracer the workspace's own links are what they point to; links inside of packages stay links.
  const links = [...entries].filter(([, entry]) => entry.kind === "link").map(([path]) => join(folder, path));
  const cache = {
    analysisCache: analysesOf(memory, new Set(entries.keys()), folder),
    symlinkCache: new Map<string, unknown>(links.map((path) => [path, null])),
    fileCache: new Map<string, unknown>(),
    statCache: new Map<string, unknown>(),
  };
  const isOwnLink = new Set(links);
  const files = new Map<string, Promise<BuildFile | null>>();
  const fileAt = (path: string): Promise<BuildFile | null> => {
    const known = files.get(path) ?? readShipped(join(folder, path), path, isOwnLink);
    files.set(path, known);
    return known;
  };
  return {
    async trace({ entries: codePaths, workingFolder, isIgnored }) {
      const { nodeFileTrace } = await import("@vercel/nft"); // It takes longer to load than all of the platform, and most functions need none.
      const { fileList } = await nodeFileTrace(
        codePaths.map((path) => join(folder, path)),
        {
          base: folder,
          processCwd: join(folder, workingFolder),
          ignore: isIgnored,
          exportsOnly: true,
          cache,
          fileIOConcurrency: FILES_AT_ONCE,
        },
      );
      const shipped = await Promise.all([...fileList].filter((path) => !isIgnored(path)).map(fileAt));
      return shipped.filter((file) => file !== null);
    },
  };
}

/** Null for what does not ship by itself: a folder whose content a package lists, a link that leads out of the app. */
async function readShipped(absolute: string, path: string, isOwnLink: ReadonlySet<string>): Promise<BuildFile | null> {
  const target = isOwnLink.has(absolute) ? null : await readlink(absolute).catch(() => null);
  if (target !== null) {
    const leadsOut = isAbsolute(target) || posix.join(posix.dirname(path), target).startsWith("..");
    return leadsOut ? null : { path, bytes: new Uint8Array(), isExecutable: false, linksTo: target };
  }
  const facts = await stat(absolute);
  return facts.isFile() ? { path, bytes: await readFile(absolute), isExecutable: (facts.mode & 0o111) !== 0 } : null;
}

/**
 * What the tracer asks for what it found in a file before. Only installed packages are remembered beyond one state of the
 * workspace, and of those only files that are the same as then.
 */
function analysesOf(memory: PackageMemory, made: ReadonlySet<string>, folder: string): Pick<Map<string, unknown>, "get" | "set"> {
  const current = new Map<string, unknown>();
  const isKept = (path: string): boolean => path.includes("/node_modules/") && !made.has(relative(folder, path));
  return {
    get(path) {
      const found = current.get(path);
      if (found !== undefined || !isKept(path)) return found;
      const remembered = memory.get(path);
      if (remembered === undefined || remembered.signature !== signatureOf(path)) return undefined;
      current.set(path, remembered.analysis);
      return remembered.analysis;
    },
    set(path, analysis) {
      current.set(path, analysis);
      if (isKept(path)) memory.set(path, { signature: signatureOf(path), analysis });
      return current;
    },
  };
}

function signatureOf(path: string): string {
  const facts = statSync(path, { throwIfNoEntry: false });
  return facts === undefined ? "" : `${facts.ino} ${facts.size} ${facts.mtimeMs}`;
}

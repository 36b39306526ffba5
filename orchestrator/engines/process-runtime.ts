// Puts the runtime into the home, once per content, and warms Node's compile cache for it.
import { execFile } from "node:child_process";
import { chmod, chown, mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { holdsFiles, makeFolder } from "./process-folders.ts";
import type { FolderFile } from "./process-folders.ts";
import { GUARD_FILE, GUARD_SOURCE } from "./process-guard.ts";
import type { Layout } from "./process-layout.ts";

export interface RuntimeBundle {
  readonly hash: string;
  readonly files: readonly FolderFile[];
}

export interface InstalledRuntime {
  readonly hash: string;
  readonly folder: string;
  readonly mainFile: string;
  readonly guardFile: string;
}

const MAIN_FILE = "main.js";
const WARM_TIMEOUT_MS = 20_000;
const runFile = promisify(execFile);

export async function installRuntime(bundle: RuntimeBundle, options: { layout: Layout; nodePath: string }): Promise<InstalledRuntime> {
  const folder = options.layout.runtime(bundle.hash);
  const files = [...bundle.files, { path: GUARD_FILE, bytes: Buffer.from(GUARD_SOURCE) }];
  if (!(await holdsFiles(folder, files))) await makeFolder(folder, files);
  const runtime = { hash: bundle.hash, folder, mainFile: join(folder, MAIN_FILE), guardFile: join(folder, GUARD_FILE) };
  await warm(runtime, options);
  return runtime;
}

/** Those that neither a new nor a running instance needs. */
export async function removeOtherRuntimes(layout: Layout, hashesInUse: ReadonlySet<string>): Promise<void> {
  const names = (await readdir(layout.runtimes)).filter((name) => !hashesInUse.has(name.replace(/\.cache$/, "")));
  await Promise.all(names.map((name) => rm(join(layout.runtimes, name), { recursive: true, force: true })));
}

/**
 * Under its permission model Node uses a compile cache only where it may also write to it. One that all instances write to would let
 * one function plant code in another, so each gets a copy. The owner's id is part of the name under which Node looks for it.
 */
export async function copyWarmCache(options: { from: string; to: string; uid: number | null }): Promise<void> {
  const [name] = await readdir(options.from);
  if (name === undefined) return;
  const target = join(options.to, options.uid === null ? name : name.replace(/-\d+$/, `-${options.uid}`));
  await mkdir(target, { recursive: true });
  const files = await readdir(join(options.from, name));
  await Promise.all(
    files.map(async (file) => {
      await writeFile(join(target, file), await readFile(join(options.from, name, file)));
      if (options.uid !== null) await chown(join(target, file), options.uid, options.uid);
    }),
  );
  if (options.uid !== null) for (const folder of [options.to, target]) await chown(folder, options.uid, options.uid);
}

async function warm(runtime: InstalledRuntime, options: { layout: Layout; nodePath: string }): Promise<void> {
  const cache = options.layout.warmCache(runtime.hash);
  if (await isFilled(cache)) return;
  const halfMade = `${cache}.making`;
  await rm(halfMade, { recursive: true, force: true });
  await mkdir(halfMade);
  await chmod(halfMade, 0o700);
  // With the rights that an instance has, so that a Node which lacks one of these flags is found out now.
  const rights = ["--permission", "--allow-worker", `--allow-fs-read=${runtime.folder}`, `--allow-fs-read=${halfMade}`, `--allow-fs-write=${halfMade}`];
  try {
    const env = { NODE_COMPILE_CACHE: halfMade };
    const args = [...rights, `--import=${runtime.guardFile}`, runtime.mainFile, "--warm"];
    await runFile(options.nodePath, args, { env, cwd: runtime.folder, timeout: WARM_TIMEOUT_MS });
  } catch (cause) {
    const remedy = "Use a Node 24 that has process.permission.drop(), such as 24.21, or the engine docker.";
    throw new PlatformError("ENGINE_FAILED", { detail: "The runtime does not start with this Node.", remedy }, { cause });
  }
  await rm(cache, { recursive: true, force: true });
  await rename(halfMade, cache);
}

const isFilled = async (folder: string): Promise<boolean> =>
  readdir(folder).then(
    (names) => names.length > 0,
    () => false,
  );

// Puts the runtime into the home, once per content, and finds out whether this Node can run it.
// No compile cache: measured, one bundled file starts as fast without it, and Node uses one only where an instance may write to it.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { Removed } from "./engine.ts";
import { holdsFiles, makeFolder } from "./process-folders.ts";
import type { FolderFile } from "./process-folders.ts";
import { GUARD_FILE, GUARD_SOURCE } from "./process-guard.ts";
import type { Layout } from "./process-layout.ts";
import { heldBytesOf } from "./process-trees.ts";

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
const TRY_TIMEOUT_MS = 20_000;
const runFile = promisify(execFile);

export async function installRuntime(bundle: RuntimeBundle, options: { layout: Layout; nodePath: string }): Promise<InstalledRuntime> {
  const hash = createHash("sha256").update(`${bundle.hash}\n${GUARD_SOURCE}`).digest("hex");
  const folder = options.layout.runtime(hash);
  const files = [...bundle.files, { path: GUARD_FILE, bytes: Buffer.from(GUARD_SOURCE) }];
  if (!(await holdsFiles(folder, files))) await makeFolder(folder, files);
  const runtime = { hash, folder, mainFile: join(folder, MAIN_FILE), guardFile: join(folder, GUARD_FILE) };
  await tryRuntime(runtime, options.nodePath);
  return runtime;
}

/** Those that neither a new nor a running instance needs. */
export async function removeOtherRuntimes(layout: Layout, hashesInUse: ReadonlySet<string>): Promise<Removed> {
  const folders = (await readdir(layout.runtimes)).filter((name) => !hashesInUse.has(name)).map((name) => join(layout.runtimes, name));
  const bytes = await Promise.all(folders.map(heldBytesOf));
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
  return { count: folders.length, bytes: bytes.reduce((sum, held) => sum + held, 0) };
}

/** With the rights that an instance has, so that a Node which lacks one of the flags is found out now. */
async function tryRuntime(runtime: InstalledRuntime, nodePath: string): Promise<void> {
  const rights = ["--permission", "--allow-worker", `--allow-fs-read=${runtime.folder}`];
  const args = [...rights, `--import=${runtime.guardFile}`, runtime.mainFile, "--warm"]; // Loads everything and ends.
  try {
    await runFile(nodePath, args, { env: {}, cwd: runtime.folder, timeout: TRY_TIMEOUT_MS });
  } catch (cause) {
    const remedy = "Use a Node 24 that has process.permission.drop(), such as 24.21, or the engine docker.";
    throw new PlatformError("ENGINE_FAILED", { detail: "The runtime does not start with this Node.", remedy }, { cause });
  }
}

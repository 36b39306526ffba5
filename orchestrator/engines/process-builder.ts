// A builder as processes of this machine, in a private copy of the source: for your own code on your own machine, not a wall.
//
// What scripts are kept from: the orchestrator's environment and, where it runs as root, everything that a user id of their own is
// kept from, other builders included. What they are not kept from: the network, with whatever listens on this machine, and where the
// orchestrator does not run as root, all that its user may do. Memory and disk are watched, which a fast script outruns for a moment;
// how many processes there are and how much processor they take is not bounded. What they leave running is found and ended.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { lstat, mkdir, writeFile } from "node:fs/promises";
import { constants, setPriority } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { BUILDER_MEMORY_LOOK_INTERVAL_MS, BUILDER_TAKE_OUT_TIMEOUT_MS } from "../../runtime-image/contract/limits.ts";
import { NPM_CLI } from "../npm/own-npm.ts";
import { builderEnvironment } from "../npm/npm-command.ts";
import { writeSource } from "../sources/write-source.ts";
import { createTurn } from "../turn.ts";
import { freeSpaceAt } from "./builder-disk.ts";
import { folderEntries } from "./builder-folder.ts";
import { runNpmIn } from "./builder-run.ts";
import type { NpmEnd, StartedNpm } from "./builder-run.ts";
import type { Builder, BuilderOrder } from "./engine.ts";
import { createFamily } from "./process-family.ts";
import type { Family } from "./process-family.ts";
import type { BuilderFiles } from "./process-layout.ts";
import { giveTo, heldBytesOf, removeTree } from "./process-trees.ts";

export interface BuilderHome {
  readonly files: BuilderFiles;
  readonly nodePath: string;
  readonly uid: number | null; // Null: the orchestrator's own.
  readonly cacheFolder: string; // Of npm.
}

const NICENESS = 10; // The platform itself and functions come first.
const FILE_SIZE_BLOCK_BYTES = 512; // What POSIX lets "ulimit -f" count in.

export async function openBuilderHere(order: BuilderOrder, place: BuilderHome): Promise<Builder> {
  const { files, uid, nodePath } = place;
  const { folder: npmFolder, userConfig, extraCaCerts } = order.npm;
  order.signal.throwIfAborted();
  await mkdir(files.folder, { mode: 0o700 }); // Fails where this builder exists: it is not opened twice.
  try {
    for (const folder of [files.home, files.settings]) await mkdir(folder, { mode: 0o700 });
    await mkdir(place.cacheFolder, { recursive: true, mode: 0o700 });
    await writeFile(files.npmrc, userConfig);
    if (extraCaCerts !== null) await writeFile(files.extraCaCerts, extraCaCerts);
    await writeSource(folderEntries(order.folder), { into: files.source, signal: order.signal });
    if (uid !== null) await giveTo(uid, files.folder);
  } catch (cause) {
    await removeTree(files.folder);
    throw cause;
  }
  const command = [nodePath, join(npmFolder, NPM_CLI)];
  const env = builderEnvironment({
    home: files.home,
    userConfig: files.npmrc,
    cache: place.cacheFolder,
    path: `${dirname(nodePath)}:/usr/local/bin:/usr/bin:/bin`,
    extraCaCerts: extraCaCerts === null ? null : files.extraCaCerts,
  });
  return builderHere(order, { files, uid, command, env, family: createFamily({ nodePath, uid, home: files.home }) });
}

interface Surroundings {
  readonly files: BuilderFiles;
  readonly uid: number | null;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly family: Family;
}

function builderHere(order: BuilderOrder, surroundings: Surroundings): Builder {
  const { files, family } = surroundings;
  const { diskBytesMax, memoryBytesMax } = order.limits;
  const turn = createTurn();
  const closing = new AbortController();
  const signal = AbortSignal.any([order.signal, closing.signal]);
  const disk = { bytesMax: diskBytesMax, heldBytes: () => heldBytesOf(files.folder), freeSpace: () => freeSpaceAt(files.folder) };
  const start = async (args: readonly string[]): Promise<StartedNpm> => {
    const child = await startNpm(args, { ...surroundings, fileBytesMax: diskBytesMax });
    const ended = endOf(child, family);
    ended.catch(() => undefined); // Whoever started it awaits it too.
    return {
      output: child.stdout,
      ended,
      kill: () => family.end(),
      watchMemory: (over, onTooMuch) => watchMemory({ family, memoryBytesMax }, over, onTooMuch),
    };
  };
  let closed: Promise<void> | null = null;
  return {
    runNpm: (call) => turn(() => runNpmIn({ disk, signal, start }, call)),
    takeOut: (into) =>
      turn(async () => {
        const until = AbortSignal.any([signal, AbortSignal.timeout(BUILDER_TAKE_OUT_TIMEOUT_MS)]);
        await writeSource(folderEntries(files.source), { into, signal: until });
      }),
    close() {
      closing.abort();
      closed ??= turn(() => removeTree(files.folder));
      return closed;
    },
  };
}

type NpmChild = ChildProcess & { readonly stdout: NonNullable<ChildProcess["stdout"]>; readonly pid: number };

/** Through a shell, which bounds the size of a file and puts both streams into one, so that lines keep their order. */
async function startNpm(
  args: readonly string[],
  { files, uid, command, env, family, fileBytesMax }: Surroundings & { readonly fileBytesMax: number },
): Promise<NpmChild> {
  const limited = `ulimit -c 0; ulimit -f ${Math.floor(fileBytesMax / FILE_SIZE_BLOCK_BYTES)}; exec "$@" 2>&1`;
  const child = spawn("/bin/sh", ["-c", limited, "npm", ...command, ...args], {
    cwd: files.source,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
    ...(uid === null ? {} : { uid, gid: uid }),
  });
  await once(child, "spawn"); // Rejects with what the system says where there is no shell.
  const started = child as NpmChild; // What was started with a pipe has both.
  await family.add(started.pid);
  try {
    setPriority(started.pid, NICENESS);
  } catch {
    // It has ended already.
  }
  return started;
}

/** What it left running ends with it. */
async function endOf(child: NpmChild, family: Family): Promise<NpmEnd> {
  const exitCode = await new Promise<number>((resolve) => {
    const tell = (code: number | null, signal: NodeJS.Signals | null): void =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    if (child.exitCode !== null || child.signalCode !== null) tell(child.exitCode, child.signalCode);
    else child.once("exit", tell);
  });
  await family.end();
  return { exitCode, wasOutOfMemory: false }; // The watch below says when it was.
}

async function watchMemory(
  { family, memoryBytesMax }: { readonly family: Family; readonly memoryBytesMax: number },
  signal: AbortSignal,
  onTooMuch: () => void,
): Promise<void> {
  while (!signal.aborted) {
    const bytes = await family.memoryBytes().catch(() => 0); // What cannot be looked at just now is looked at again.
    if (bytes > memoryBytesMax) return onTooMuch();
    await delay(BUILDER_MEMORY_LOOK_INTERVAL_MS, undefined, { signal }).catch(() => undefined); // Rejects when the signal aborts, which the loop sees.
  }
}

/** What an orchestrator that was killed left: its processes, then its files. */
export async function removeLeftBuilder(
  files: BuilderFiles,
  { nodePath, mayEndAllOf }: { readonly nodePath: string; readonly mayEndAllOf: (uid: number) => boolean },
): Promise<void> {
  const owner = (await lstat(files.folder)).uid;
  await createFamily({ nodePath, uid: mayEndAllOf(owner) ? owner : null, home: files.home }).end();
  await removeTree(files.folder);
}

// A builder is one container that is started anew for every call of npm: the work stays in it, and nothing that ran does.
//
// Between two calls no process lives in it. Each start has a first process of ours, with whose end the kernel ends all others, however
// they tried to get away; timeouts and cancelling kill it from outside. Nothing inside has to be trusted, or to answer, for that.
import { randomBytes } from "node:crypto";
import { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { BUILDER_TAKE_OUT_TIMEOUT_MS, SOURCE_DEPTH_MAX, SOURCE_ENTRY_COUNT_MAX } from "../../runtime-image/contract/limits.ts";
import type { DockerApi } from "../docker/api.ts";
import { packTar } from "../images/tar.ts";
import { refusedEntry } from "../sources/refused.ts";
import { readTar } from "../sources/tar.ts";
import { type SourceEntry, writeSource } from "../sources/write-source.ts";
import { createTurn } from "../turn.ts";
import { freeSpaceAt } from "./builder-disk.ts";
import { checkedEntries, folderEntries } from "./builder-folder.ts";
import { type NpmEnd, type NpmPlace, type StartedNpm, runNpmIn } from "./builder-run.ts";
import { builderTar } from "./builder-tar.ts";
import {
  BUILDER_UID,
  type BuilderSurroundings,
  GATHER_REFUSED,
  OUTGOING_FOLDER,
  type RunnerOrder,
  SOURCE_FOLDER,
  builderLayout,
  builderOptions,
  runnerInput,
} from "./docker-builder-options.ts";
import { createFrameCutter } from "./docker-frames.ts";
import type { Builder, BuilderOrder } from "./engine.ts";

const KILL_TIMEOUT_MS = 60_000; // Docker takes a second on a busy machine.
const OUT_OF_MEMORY_NEWS_MS = 2_000; // The kernel's message and the exit come in any order.
const NEWS_INTERVAL_MS = 100;
const LINES_NAMED = 6;
const KILLED_EXIT_CODE = 137; // 128 + SIGKILL, which is how the kernel ends what uses too much memory.

export async function openBuilderInContainer(
  docker: DockerApi,
  order: BuilderOrder,
  { name, ...surroundings }: BuilderSurroundings & { readonly name: string },
): Promise<Builder> {
  order.signal.throwIfAborted();
  await docker.containers.remove(name);
  const container = await docker.containers.create(name, builderOptions(order, surroundings));
  try {
    await docker.containers.writeFiles(container, "/", packTar(builderLayout(order)));
    await docker.containers.writeFiles(
      container,
      SOURCE_FOLDER,
      builderTar(checkedEntries(folderEntries(order.folder)), { uid: BUILDER_UID }),
    );
    order.signal.throwIfAborted();
    return builderIn(docker, container, { order, dataFolder: await docker.dataFolder() });
  } catch (cause) {
    await docker.containers.remove(container);
    throw cause;
  }
}

interface Surroundings {
  readonly order: BuilderOrder;
  readonly dataFolder: string;
}

function builderIn(docker: DockerApi, container: string, { order, dataFolder }: Surroundings): Builder {
  const turn = createTurn();
  const closing = new AbortController();
  const signal = AbortSignal.any([order.signal, closing.signal]);
  const disk = {
    bytesMax: order.limits.diskBytesMax,
    heldBytes: () => docker.containers.writtenBytes(container),
    freeSpace: async () => (dataFolder === "" ? null : freeSpaceAt(dataFolder)),
  };
  const placeFor = (orderFor: (args: readonly string[]) => RunnerOrder): NpmPlace => ({
    disk,
    signal,
    start: (args) => startRunner(docker, container, orderFor(args)),
  });
  return {
    runNpm: (call) =>
      turn(() =>
        runNpmIn(
          placeFor((args) => ({ kind: "npm", args })),
          call,
        ),
      ),
    takeOut: (into) =>
      turn(async () => {
        const folder = `${OUTGOING_FOLDER}/${randomBytes(8).toString("hex")}`; // A name that no script could take before.
        await gather(placeFor(() => ({ kind: "gather", folder, entryCountMax: SOURCE_ENTRY_COUNT_MAX, depthMax: SOURCE_DEPTH_MAX })));
        const until = AbortSignal.any([signal, AbortSignal.timeout(BUILDER_TAKE_OUT_TIMEOUT_MS)]);
        await writeSource(entriesOf(await docker.containers.readFiles(container, folder)), { into, signal: until });
      }),
    async close() {
      closing.abort();
      await turn(() => docker.containers.remove(container));
    },
  };
}

/** A start of the container, and what its first process is told. */
async function startRunner(docker: DockerApi, container: string, order: RunnerOrder): Promise<StartedNpm> {
  const printed = await docker.containers.attach(container, runnerInput(order));
  try {
    await docker.containers.start(container);
  } catch (cause) {
    printed.destroy();
    throw cause;
  }
  const overdue = new AbortController();
  let isKilled = false;
  const ended = endOf(docker, container, { overdue: overdue.signal, isKilled: () => isKilled });
  ended.catch(() => undefined); // Whoever started it awaits it too.
  return {
    output: Readable.from(bodiesOf(printed)),
    ended,
    async kill() {
      isKilled = true;
      await docker.containers.kill(container, "SIGKILL");
      const timer = setTimeout(() => overdue.abort(), KILL_TIMEOUT_MS);
      await ended.finally(() => clearTimeout(timer));
    },
  };
}

interface End {
  readonly overdue: AbortSignal;
  readonly isKilled: () => boolean; // By us: then nobody need find out why.
}

async function endOf(docker: DockerApi, container: string, { overdue, isKilled }: End): Promise<NpmEnd> {
  const { exitCode } = await docker.containers.untilStopped(container, overdue);
  if (exitCode === null) throw gone();
  return { exitCode, wasOutOfMemory: exitCode !== 0 && !isKilled() && (await wasOutOfMemory(docker, container, exitCode)) };
}

/** Also where a script was ended that npm itself outlived. Docker forgets it with the next start. */
async function wasOutOfMemory(docker: DockerApi, container: string, exitCode: number): Promise<boolean> {
  const deadlineMs = performance.now() + OUT_OF_MEMORY_NEWS_MS;
  for (;;) {
    const state = await docker.containers.inspect(container);
    if (state === null) throw gone();
    if (state.outOfMemory || exitCode !== KILLED_EXIT_CODE || performance.now() > deadlineMs) return state.outOfMemory;
    await delay(NEWS_INTERVAL_MS);
  }
}

const gone = (): PlatformError =>
  new PlatformError("ENGINE_FAILED", {
    detail: "The container that the app's scripts ran in is gone: something else removed it.",
    remedy: "Deliver the app again.",
  });

async function* bodiesOf(printed: Readable): AsyncGenerator<Uint8Array> {
  const framesIn = createFrameCutter();
  try {
    for await (const chunk of printed) for (const { body } of framesIn(chunk)) yield body;
  } catch {
    // The connection broke: what the container goes on to print is lost, and how it ends is asked of the engine.
  } finally {
    printed.destroy();
  }
}

/** Inside, in a start of its own: packages stay where they are. */
async function gather(place: NpmPlace): Promise<void> {
  const lines: string[] = [];
  const { signal } = place;
  const outcome = await runNpmIn(place, { args: [], timeoutMs: BUILDER_TAKE_OUT_TIMEOUT_MS, signal, onLine: (line) => lines.push(line) });
  if (outcome.kind === "ended" && outcome.exitCode === 0) return;
  signal.throwIfAborted();
  if (outcome.kind === "ended" && outcome.exitCode === GATHER_REFUSED) {
    const { path, problem } = JSON.parse(lines.join("")) as { path: string; problem: string }; // What the runner prints.
    throw refusedEntry(path, problem);
  }
  if (outcome.kind === "disk-full")
    throw new PlatformError("SOURCE_REFUSED", {
      detail: "What the app's scripts made takes more room than a builder has.",
      remedy: "Let them leave less behind, packages included.",
    });
  const how = outcome.kind === "ended" ? `exit code ${outcome.exitCode}: ${lines.slice(-LINES_NAMED).join(" ")}` : outcome.kind;
  throw new PlatformError("ENGINE_FAILED", { detail: `What the app's scripts made could not be gathered: ${how}.` });
}

/** Docker begins every path with the name of the folder that was asked for. */
async function* entriesOf(tar: Readable): AsyncGenerator<SourceEntry> {
  for await (const entry of readTar(tar)) {
    const path = entry.path.slice(entry.path.indexOf("/") + 1);
    if (path !== "") yield { ...entry, path };
  }
}

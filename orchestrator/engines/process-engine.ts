// Runs instances as Node processes of this machine: detached, found again after a crash, confined by Node's permission model.
import { mkdir, realpath, rm } from "node:fs/promises";
import { join } from "node:path";

import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { writeFileAtomic } from "../processes/atomic-file.ts";
import { isAlive } from "../processes/identity.ts";
import type { Engine, InstanceSpec } from "./engine.ts";
import { createBuilds } from "./process-builds.ts";
import { createExitWatch, repeatUntil } from "./process-exits.ts";
import { installHere } from "./process-install.ts";
import { makeTraversable, removeHalfMade } from "./process-folders.ts";
import { findInstances, readInstance, removeDeadInstances, startInstance, stopInstance } from "./process-instances.ts";
import { layoutOf } from "./process-layout.ts";
import type { Layout } from "./process-layout.ts";
import { boundLogs, followFiles } from "./process-logs.ts";
import { observed } from "./process-record.ts";
import { installRuntime, removeOtherRuntimes } from "./process-runtime.ts";
import type { InstalledRuntime, RuntimeBundle } from "./process-runtime.ts";
import { canRunAsOthers, createUsers } from "./process-users.ts";
import type { Users } from "./process-users.ts";

export interface ProcessEngineOptions {
  readonly home: string;
  readonly platformId: string;
  readonly nodePath: string;
  readonly runtimeBundle: () => Promise<RuntimeBundle>;
}

interface Prepared {
  readonly layout: Layout;
  readonly runtime: InstalledRuntime;
  readonly users: Users | null; // Null: every instance runs as the orchestrator's own user.
}

interface Home {
  readonly layout: Layout;
  readonly runtime: InstalledRuntime;
  readonly hasUsers: boolean;
}

const DISPOSE_GRACE_MS = 2_000; // Pools stop what they know with its whole grace before; this is for what is left.
const BOUND_LOGS_INTERVAL_MS = 5_000;

export function createProcessEngine(options: ProcessEngineOptions): Engine {
  const exits = createExitWatch();
  const builds = createBuilds();
  const starting = new Set<string>();
  let prepared: Prepared | null = null;

  const ready = (): Prepared => {
    if (prepared === null) throw new PlatformError("ENGINE_FAILED", { detail: "The engine was not prepared." });
    return prepared;
  };
  const find = async (layout: Layout): ReturnType<typeof findInstances> => {
    const found = await findInstances(layout);
    for (const { record, identity, isRunning } of found) {
      if (isRunning) exits.addAdopted({ instanceId: record.instanceId, ...layout.instance(record.instanceId) }, identity);
    }
    return found;
  };
  const start = async (spec: InstanceSpec): Promise<void> => {
    const { layout, runtime, users } = ready();
    const uid = users?.take() ?? null;
    starting.add(spec.instanceId);
    try {
      const started = await startInstance(spec, { layout, runtime, nodePath: options.nodePath, uid });
      exits.addOwn({ instanceId: spec.instanceId, ...layout.instance(spec.instanceId) }, started);
    } catch (error) {
      if (uid !== null) users?.release(uid);
      throw error;
    } finally {
      starting.delete(spec.instanceId);
    }
  };
  const stop = async (instanceId: string, { graceMs }: { readonly graceMs: number }): Promise<void> => {
    const { layout, users } = ready();
    const stopped = await stopInstance(layout.instance(instanceId), { graceMs });
    if (stopped !== null && stopped.record.uid !== null) users?.release(stopped.record.uid);
  };

  return {
    kind: "process",
    get description() {
      return describe(prepared);
    },
    brokerHost: () => "127.0.0.1",

    async prepare() {
      const { layout, runtime, hasUsers } = await prepareHome(options, (instanceId) => starting.has(instanceId));
      const found = await find(layout);
      await removeOtherRuntimes(layout, new Set([runtime.hash, ...found.map(({ record }) => record.runtimeHash)]));
      const users = hasUsers ? (prepared?.users ?? createUsers(options.platformId)) : null;
      for (const { record } of found) if (record.uid !== null) users?.occupy(record.uid);
      prepared = { layout, runtime, users };
    },

    build: (source) => builds.make(ready().layout.build(source.buildId), source.files),

    install: (order) => installHere(order, { nodePath: options.nodePath, home: options.home }),
    start,
    stop,
    async list() {
      return (await find(ready().layout)).map((one) => observed(one, one.isRunning));
    },

    watchExits(onExit, signal) {
      const { layout } = ready();
      exits.watch(onExit, signal);
      // Looks at its own failures. A log that nobody bounds for a moment does no harm.
      void repeatUntil(signal, BOUND_LOGS_INTERVAL_MS, () => boundAllLogs(layout));
    },

    async followLogs(instanceId, { sinceEpochMs, signal }, onLine) {
      const files = ready().layout.instance(instanceId);
      const known = await readInstance(files);
      if (known === null) return; // Gone, with everything it printed.
      const isOver = async (): Promise<boolean> => !(await isAlive(known.identity));
      await followFiles({ outputFile: files.outputFile, errorFile: files.errorFile, sinceEpochMs, signal, isOver }, onLine);
    },

    async dispose() {
      const { layout } = ready();
      const found = await findInstances(layout);
      await Promise.all(found.map(({ record }) => stop(record.instanceId, { graceMs: DISPOSE_GRACE_MS })));
      await removeDeadInstances(layout, () => false);
      for (const folder of [layout.instances, layout.temporary]) await rm(folder, { recursive: true, force: true });
      prepared = null;
    },
  };
}

function describe(prepared: Prepared | null): string {
  const users = prepared?.users
    ? "each runs as a user of its own"
    : "all run as the user who started the platform and can signal its processes";
  return (
    "For your own code on your own machine, no wall against hostile code. Node's permission model keeps a function from files " +
    `other than its own, child processes, threads and native addons; ${users}; memory is watched; CPU time, temporary files ` +
    "and the network are not bounded: whatever listens on this machine can be reached."
  );
}

async function prepareHome(options: ProcessEngineOptions, isBeingStarted: (instanceId: string) => boolean): Promise<Home> {
  const { platformId, nodePath } = options;
  const layout = await makeLayout(options.home);
  const runtime = await installRuntime(await options.runtimeBundle(), { layout, nodePath });
  await removeDeadInstances(layout, isBeingStarted);
  return { layout, runtime, hasUsers: await canRunAsOthers({ platformId, nodePath, fileToRead: runtime.mainFile }) };
}

/** The real path, because Node's permission model compares real ones. Folders are open for passing through, not for listing. */
async function makeLayout(home: string): Promise<Layout> {
  try {
    await mkdir(home, { recursive: true, mode: 0o711 });
    const layout = layoutOf(await realpath(home));
    for (const folder of [layout.runtimes, layout.builds, layout.temporary]) await makeTraversable(folder, 0o711);
    await makeTraversable(layout.instances, 0o700);
    for (const folder of [layout.runtimes, layout.builds]) await removeHalfMade(folder);
    // Node looks for a package.json in every folder above a module: a home inside an ES module project must not make builds ones.
    await writeFileAtomic(join(layout.builds, "package.json"), "{}\n", 0o444);
    return layout;
  } catch (cause) {
    throw new PlatformError("HOME_UNUSABLE", { detail: home }, { cause });
  }
}

async function boundAllLogs(layout: Layout): Promise<void> {
  const found = await findInstances(layout);
  await boundLogs(
    found.flatMap(({ record }) => {
      const files = layout.instance(record.instanceId);
      return [files.outputFile, files.errorFile];
    }),
  );
}

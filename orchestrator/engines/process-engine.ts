// Runs instances as Node processes of this machine: detached, found again after a crash, confined by Node's permission model.
import { mkdir, readdir, realpath, rm } from "node:fs/promises";
import { join } from "node:path";

import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { writeFileAtomic } from "../processes/atomic-file.ts";
import { createLookout } from "../processes/identity.ts";
import { NPM_CLI } from "../npm/own-npm.ts";
import { createOngoing } from "../ongoing.ts";
import { createBuildUse } from "./build-use.ts";
import { freeSpaceAt } from "./builder-disk.ts";
import type { Builder, BuilderOrder, DiskUse, Engine, ExistingBuild, InstanceSpec } from "./engine.ts";
import { openBuilderHere, removeLeftBuilder } from "./process-builder.ts";
import { createBuilds, existingBuilds } from "./process-builds.ts";
import { createExitWatch, repeatUntil } from "./process-exits.ts";
import { installHere } from "./process-install.ts";
import { createNpmCache } from "./process-npm-cache.ts";
import { makeTraversable, removeFolder, removeHalfMade } from "./process-folders.ts";
import { findInstances, readInstance, removeDeadInstances, startInstance, stopInstance } from "./process-instances.ts";
import { layoutOf } from "./process-layout.ts";
import type { Layout } from "./process-layout.ts";
import { boundLogs, followFiles } from "./process-logs.ts";
import { observed } from "./process-record.ts";
import { installRuntime, removeOtherRuntimes } from "./process-runtime.ts";
import type { InstalledRuntime, RuntimeBundle } from "./process-runtime.ts";
import { heldBytesOf } from "./process-trees.ts";
import { canRunAsOthers, createUsers, isUidOf } from "./process-users.ts";
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
  const use = createBuildUse();
  const npmCache = createNpmCache(options.home);
  const ongoing = createOngoing();
  const starting = new Set<string>();
  const builders = new Map<string, Builder>();
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
  const openBuilder = async (order: BuilderOrder): Promise<Builder> => {
    const { layout, users } = ready();
    const uid = users === null ? null : await userForNpm(order, { ...options, users });
    const files = layout.builder(order.id);
    const cacheFolder = uid === null ? npmCache.folder : join(files.home, ".npm");
    const endUse = npmCache.use();
    const forget = (): void => {
      endUse();
      builders.delete(order.id);
      if (uid !== null) users?.release(uid);
    };
    try {
      const opened = await openBuilderHere(order, { files, uid, cacheFolder, nodePath: options.nodePath });
      let closed: Promise<void> | null = null;
      const builder = { ...opened, close: () => (closed ??= opened.close().then(forget)) };
      builders.set(order.id, builder);
      return builder;
    } catch (error) {
      forget();
      throw error;
    }
  };
  const listBuilds = async (): Promise<readonly ExistingBuild[]> =>
    (await existingBuilds(ready().layout)).map((build) => ({
      ...build,
      madeEpochMs: Math.max(build.madeEpochMs, use.lastAskedEpochMs(build.buildId)),
    }));
  const removeBuild = async (buildId: string): Promise<void> => {
    const { layout } = ready();
    const found = await findInstances(layout);
    if (!found.some(({ record }) => record.buildId === buildId)) await removeFolder(layout.build(buildId));
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
      ongoing.admit();
      const { layout, runtime, hasUsers } = await prepareHome(options, (instanceId) => starting.has(instanceId));
      const found = await find(layout);
      const inUse = new Set(found.map(({ record }) => record.uid));
      await removeLeftBuilders(layout, {
        nodePath: options.nodePath,
        isOpen: (id) => builders.has(id),
        mayEndAllOf: (uid) => hasUsers && isUidOf(options.platformId, uid) && !inUse.has(uid),
      });
      await removeOtherRuntimes(layout, new Set([runtime.hash, ...found.map(({ record }) => record.runtimeHash)]));
      const users = hasUsers ? (prepared?.users ?? createUsers(options.platformId)) : null;
      for (const { record } of found) if (record.uid !== null) users?.occupy(record.uid);
      prepared = { layout, runtime, users };
    },

    build: (source) =>
      ongoing.during(() => use.during(source.buildId, () => builds.make(ready().layout.build(source.buildId), source.files))),
    listBuilds,
    removeBuild: (buildId) => use.remove(buildId, () => removeBuild(buildId)),
    async removeOutdated() {
      const { layout, runtime } = ready();
      const found = await findInstances(layout);
      const runtimes = await removeOtherRuntimes(layout, new Set([runtime.hash, ...found.map(({ record }) => record.runtimeHash)]));
      const cache = await npmCache.bound();
      return { count: runtimes.count + cache.count, bytes: runtimes.bytes + cache.bytes };
    },
    async diskUse() {
      return diskUse(ready().layout, await listBuilds());
    },
    openBuilder: (order) => ongoing.during(() => openBuilder(order)),

    install: (order) =>
      ongoing.during(() => {
        const endUse = npmCache.use();
        return installHere(order, { nodePath: options.nodePath, cache: npmCache.folder }).finally(endUse);
      }),
    start: (spec) => ongoing.during(() => use.during(spec.buildId, () => start(spec))),
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
      const isAlive = createLookout(known.identity);
      const isOver = async (): Promise<boolean> => !(await isAlive());
      await followFiles({ outputFile: files.outputFile, errorFile: files.errorFile, sinceEpochMs, signal, isOver }, onLine);
    },

    async dispose() {
      const { layout } = ready();
      ongoing.refuse();
      await ongoing.settled(DISPOSE_GRACE_MS);
      await Promise.all([...builders.values()].map((builder) => builder.close()));
      const found = await findInstances(layout);
      await Promise.all(found.map(({ record }) => stop(record.instanceId, { graceMs: DISPOSE_GRACE_MS })));
      await removeDeadInstances(layout, () => false);
      for (const folder of [layout.instances, layout.builders, layout.temporary]) await rm(folder, { recursive: true, force: true });
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
    for (const folder of [layout.runtimes, layout.builds, layout.builders, layout.temporary]) await makeTraversable(folder, 0o711);
    await makeTraversable(layout.instances, 0o700);
    for (const folder of [layout.runtimes, layout.builds]) await removeHalfMade(folder);
    // Node looks for a package.json in every folder above a module: a home inside an ES module project must not make builds ones.
    await writeFileAtomic(join(layout.builds, "package.json"), "{}\n", 0o444);
    return layout;
  } catch (cause) {
    throw new PlatformError("HOME_UNUSABLE", { detail: home }, { cause });
  }
}

/** One that can read npm: scripts never run with more rights than was said because a folder on the way to npm is closed. */
async function userForNpm(
  { npm }: BuilderOrder,
  { platformId, nodePath, users }: ProcessEngineOptions & { readonly users: Users },
): Promise<number> {
  if (!(await canRunAsOthers({ platformId, nodePath, fileToRead: join(npm.folder, NPM_CLI) })))
    throw new PlatformError("ENGINE_FAILED", {
      detail: `The user that the app's scripts are to run as cannot read npm in ${npm.folder}.`,
      remedy: "Open that folder and those above it for reading and passing through, or install npm where every user finds it.",
    });
  return users.take();
}

interface LeftBuilders {
  readonly nodePath: string;
  readonly isOpen: (id: string) => boolean;
  readonly mayEndAllOf: (uid: number) => boolean;
}

async function removeLeftBuilders(layout: Layout, { isOpen, ...options }: LeftBuilders): Promise<void> {
  const ids = (await readdir(layout.builders)).filter((name) => /^[a-z0-9]+$/.test(name) && !isOpen(name));
  for (const id of ids) await removeLeftBuilder(layout.builder(id), options);
}

async function diskUse(layout: Layout, builds: readonly ExistingBuild[]): Promise<DiskUse> {
  return {
    buildCount: builds.length,
    buildBytes: builds.reduce((sum, { bytes }) => sum + bytes, 0),
    imageBytes: await heldBytesOf(layout.runtimes),
    freeBytes: (await freeSpaceAt(layout.builds))?.bytes ?? null,
  };
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

// Starts, finds, stops and cleans up after the processes that are instances.
import { chown, mkdir, readdir, rm } from "node:fs/promises";

import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { readState, startDetached, stopProcess } from "../processes/detached.ts";
import type { StartedProcess } from "../processes/detached.ts";
import { isAlive, processesWithArgument } from "../processes/identity.ts";
import type { InstanceSpec } from "./engine.ts";
import { instanceArguments, instanceEnvironment, temporaryFolderArgument } from "./process-command.ts";
import type { InstancePlaces } from "./process-command.ts";
import { isThere } from "./process-folders.ts";
import type { InstanceFiles, Layout } from "./process-layout.ts";
import { knownInstance, recordOf } from "./process-record.ts";
import type { KnownInstance } from "./process-record.ts";
import type { InstalledRuntime } from "./process-runtime.ts";

export interface StartContext {
  readonly layout: Layout;
  readonly runtime: InstalledRuntime;
  readonly nodePath: string;
  readonly uid: number | null;
}

export async function startInstance(spec: InstanceSpec, context: StartContext): Promise<StartedProcess> {
  const files = context.layout.instance(spec.instanceId);
  const places = placesOf(spec, files, context);
  if (!(await isThere(places.buildFolder))) throw new PlatformError("ENGINE_FAILED", { detail: `Build ${spec.buildId} is not there.` });
  await makePlaces(files, context.uid);
  try {
    return await startDetached({
      command: context.nodePath,
      args: instanceArguments(spec, places),
      env: instanceEnvironment(spec, places),
      cwd: places.buildFolder,
      logFile: files.outputFile,
      errorLogFile: files.errorFile,
      stateFile: files.stateFile,
      extra: recordOf(spec, context.runtime.hash, context.uid),
      ...(context.uid === null ? {} : { uid: context.uid, gid: context.uid }),
    });
  } catch (cause) {
    await removeFiles(files);
    throw new PlatformError("ENGINE_FAILED", { detail: `Instance ${spec.instanceId} could not be started.` }, { cause });
  }
}

/** All that have a readable state file, whether they still run or not. */
export async function findInstances(layout: Layout): Promise<readonly (KnownInstance & { readonly isRunning: boolean })[]> {
  const ids = await idsIn(layout.instances);
  const found = await Promise.all(ids.map((id) => readInstance(layout.instance(id))));
  const known = found.filter((one) => one !== null);
  return Promise.all(known.map(async (one) => ({ ...one, isRunning: await isAlive(one.identity) })));
}

/** The instance that was stopped, or null where none was known. */
export async function stopInstance(files: InstanceFiles, options: { readonly graceMs: number }): Promise<KnownInstance | null> {
  const known = await readInstance(files);
  if (known !== null) await stopProcess(known.identity, options);
  await removeFiles(files);
  return known;
}

/** Removes what is left of instances that do not run, and ends those that were started but never written down. */
export async function removeDeadInstances(layout: Layout, isBeingStarted: (instanceId: string) => boolean): Promise<void> {
  const ids = new Set([...(await idsIn(layout.instances)), ...(await idsIn(layout.temporary))]);
  for (const id of ids) {
    const files = layout.instance(id);
    const known = await readInstance(files);
    if (isBeingStarted(id) || (known !== null && (await isAlive(known.identity)))) continue;
    if (known === null) {
      const strays = await processesWithArgument(temporaryFolderArgument(files.temporaryFolder));
      await Promise.all(strays.map((stray) => stopProcess(stray, { graceMs: 0 })));
    }
    await removeFiles(files);
  }
}

export const readInstance = async (files: InstanceFiles): Promise<KnownInstance | null> => knownInstance(await readState(files.stateFile));

function placesOf(spec: InstanceSpec, files: InstanceFiles, { layout, runtime }: StartContext): InstancePlaces {
  return {
    runtimeFolder: runtime.folder,
    guardFile: runtime.guardFile,
    mainFile: runtime.mainFile,
    buildFolder: layout.build(spec.buildId),
    temporaryFolder: files.temporaryFolder,
  };
}

async function makePlaces(files: InstanceFiles, uid: number | null): Promise<void> {
  try {
    await mkdir(files.folder, { mode: 0o700 }); // Fails where this instance exists: it is not started twice.
  } catch (cause) {
    throw new PlatformError("ENGINE_FAILED", { detail: `Instance ${files.folder} could not be made.` }, { cause });
  }
  await mkdir(files.temporaryFolder, { mode: 0o700 });
  if (uid !== null) await chown(files.temporaryFolder, uid, uid);
}

/** The state file goes with its folder at the end, so that whoever is interrupted here knows what is left to remove. */
async function removeFiles(files: InstanceFiles): Promise<void> {
  await rm(files.temporaryFolder, { recursive: true, force: true });
  await rm(files.folder, { recursive: true, force: true });
}

async function idsIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => /^[A-Za-z0-9_-]+$/.test(name)); // What has another name is not ours.
}

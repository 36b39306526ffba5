// The command line and the environment of one instance as a process. Pure: what isolates it can be read and tested here.
import { join } from "node:path";

import { INSTANCE_MANIFEST_VARIABLE } from "../../runtime-image/contract/instance-manifest.ts";
import type { InstanceManifest } from "../../runtime-image/contract/instance-manifest.ts";
import type { InstanceSpec } from "./engine.ts";

export interface InstancePlaces {
  readonly runtimeFolder: string;
  readonly guardFile: string;
  readonly mainFile: string;
  readonly buildFolder: string;
  readonly temporaryFolder: string;
}

/** Of what an instance may use, for V8's heap. The rest is for Buffers and code, which the watchdog counts as well. */
const HEAP_SHARE = 0.75;
const MEBIBYTE = 1_048_576;

export function instanceArguments(spec: InstanceSpec, places: InstancePlaces): readonly string[] {
  return [
    "--permission", // Denies child processes, native addons, the inspector and every file that is not named here.
    "--allow-worker", // For the watchdog; the guard takes it back.
    "--disable-warning=PERM0006", // Says of --allow-worker what the guard is for.
    `--allow-fs-read=${places.runtimeFolder}`,
    `--allow-fs-read=${places.buildFolder}`,
    `--allow-fs-read=${places.temporaryFolder}`,
    temporaryFolderArgument(places.temporaryFolder),
    `--max-old-space-size=${Math.max(16, Math.floor((spec.limits.memoryBytesMax * HEAP_SHARE) / MEBIBYTE))}`,
    `--import=${places.guardFile}`,
    places.mainFile,
  ];
}

/** Only the instance itself has this argument: it is found by it where its state file was never written. */
export const temporaryFolderArgument = (temporaryFolder: string): string => `--allow-fs-write=${temporaryFolder}`;

export function instanceEnvironment(spec: InstanceSpec, places: InstancePlaces): Readonly<Record<string, string>> {
  const manifest: InstanceManifest = { ...spec.manifest, folder: join(places.buildFolder, spec.functionName), watchMemory: true };
  return {
    ...spec.variables,
    [INSTANCE_MANIFEST_VARIABLE]: JSON.stringify(manifest),
    TMPDIR: places.temporaryFolder,
  };
}

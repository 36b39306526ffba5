// Where the process engine keeps what, inside the home.
import { join } from "node:path";

import { PlatformError } from "../../runtime-image/contract/errors.ts";

export interface Layout {
  readonly runtimes: string;
  readonly builds: string;
  readonly instances: string;
  readonly builders: string;
  readonly temporary: string;
  runtime(hash: string): string;
  build(buildId: string): string;
  instance(instanceId: string): InstanceFiles;
  builder(id: string): BuilderFiles;
}

export interface BuilderFiles {
  readonly folder: string;
  readonly source: string;
  readonly home: string; // Of its scripts.
  readonly settings: string;
  readonly npmrc: string;
  readonly extraCaCerts: string;
}

export interface InstanceFiles {
  readonly folder: string;
  readonly stateFile: string;
  readonly outputFile: string;
  readonly errorFile: string;
  readonly temporaryFolder: string;
}

export function layoutOf(home: string): Layout {
  const [runtimes, builds, instances, builders, temporary] = [
    join(home, "runtime"),
    join(home, "builds"),
    join(home, "instances"),
    join(home, "builders"),
    join(home, "tmp"),
  ];
  return {
    runtimes,
    builds,
    instances,
    builders,
    temporary,
    runtime: (hash) => join(runtimes, checkedName(hash)),
    build: (buildId) => join(builds, checkedName(buildId)),
    builder: (id) => builderFilesOf(join(builders, checkedName(id))),
    instance: (instanceId) => filesOf(join(instances, checkedName(instanceId)), join(temporary, instanceId)),
  };
}

const filesOf = (folder: string, temporaryFolder: string): InstanceFiles => ({
  folder,
  temporaryFolder,
  stateFile: join(folder, "state.json"),
  outputFile: join(folder, "stdout.log"),
  errorFile: join(folder, "stderr.log"),
});

const builderFilesOf = (folder: string): BuilderFiles => ({
  folder,
  source: join(folder, "source"),
  home: join(folder, "home"),
  settings: join(folder, "settings"),
  npmrc: join(folder, "settings", "npmrc"),
  extraCaCerts: join(folder, "settings", "extra-ca.pem"),
});

/** Ids become names of folders that are removed recursively, so they are looked at once more. */
function checkedName(id: string): string {
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(id)) throw new PlatformError("ENGINE_FAILED", { detail: `"${id}" is no id` });
  return id;
}

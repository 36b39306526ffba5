// Makes a function's image: its files as one layer on the runtime image, once per content.
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { buildTar } from "../images/build-tar.ts";
import type { DockerApi, HostOptions } from "../docker/api.ts";
import { APP_FOLDER } from "./docker-container-options.ts";
import { LABELS } from "../docker/labels.ts";
import { labelsOf, shortHash, type Platform } from "./docker-labels.ts";
import type { BuildSource } from "./engine.ts";
import type { Readable } from "node:stream";

const REPOSITORY = "orchestrator-build";
const NEVER_STARTED: HostOptions = {
  NetworkMode: "none",
  CapDrop: ["ALL"],
  SecurityOpt: ["no-new-privileges"],
  ReadonlyRootfs: false, // Files cannot be put into a container whose root is read-only.
  LogConfig: { Type: "none", Config: {} },
  RestartPolicy: { Name: "no" },
};

export interface DockerBuilds {
  build(source: BuildSource): Promise<{ readonly reused: boolean }>;
  /** The image of a build on today's runtime image; one that was built on an older one is carried over. */
  imageOf(buildId: string): Promise<string>;
  /** Containers that a build is being made in at this moment. */
  isBusyWith(containerName: string): boolean;
}

export function createDockerBuilds(docker: DockerApi, platform: Platform, runtimeImage: () => string): DockerBuilds {
  const underway = new Map<string, Promise<{ readonly reused: boolean }>>();
  const tagOf = (buildId: string): string => `${buildId}-${shortHash(runtimeImage())}`;
  const referenceOf = (buildId: string): string => `${REPOSITORY}:${tagOf(buildId)}`;
  const containerOf = (buildId: string): string => `orchestrator-${platform.platformId}-build-${buildId.slice(0, 16)}`;
  const labels = (buildId: string, functionName: string) => ({
    ...labelsOf(platform, "build"),
    [LABELS.build]: buildId,
    [LABELS.function]: functionName,
  });

  // A container that never runs, given the files and committed: measured twice as fast as Docker's builder, and
  // right with every image store, which a hand-made layer sent to "docker load" is not.
  const make = async (build: { buildId: string; functionName: string }, files: () => Promise<Readable> | Readable): Promise<void> => {
    const name = containerOf(build.buildId);
    await docker.containers.remove(name);
    const container = await docker.containers.create(name, {
      Image: runtimeImage(),
      Labels: labels(build.buildId, build.functionName), // The image inherits them.
      HostConfig: NEVER_STARTED,
    });
    try {
      await docker.containers.writeFiles(container, "/", await files());
      await docker.containers.commit(container, { repository: REPOSITORY, tag: tagOf(build.buildId) });
    } finally {
      await docker.containers.remove(container);
    }
  };

  const once = (buildId: string, work: () => Promise<void>): Promise<{ readonly reused: boolean }> => {
    const same = underway.get(buildId);
    if (same !== undefined) return same;
    const task = (async () => {
      if ((await docker.images.inspect(referenceOf(buildId))) !== null) return { reused: true };
      await work();
      return { reused: false };
    })().finally(() => underway.delete(buildId));
    underway.set(buildId, task);
    return task;
  };

  const carryOver = async (buildId: string): Promise<void> => {
    const [older] = await docker.images.list({ labels: { [LABELS.build]: buildId } });
    if (older === undefined)
      throw new PlatformError("ENGINE_FAILED", {
        detail: `The Docker engine has no image of the build ${buildId}.`,
        remedy: "Deploy the app again: its builds are made anew.",
      });
    const sourceName = `${containerOf(buildId)}-source`;
    await docker.containers.remove(sourceName);
    const source = await docker.containers.create(sourceName, {
      Image: older.id,
      Labels: labels(buildId, older.labels[LABELS.function] ?? ""),
      HostConfig: NEVER_STARTED,
    });
    try {
      await make({ buildId, functionName: older.labels[LABELS.function] ?? "" }, () => docker.containers.readFiles(source, APP_FOLDER));
    } finally {
      await docker.containers.remove(source);
    }
  };

  return {
    build: (source) => once(source.buildId, () => make(source, () => buildTar(APP_FOLDER, source.files))),
    async imageOf(buildId) {
      await once(buildId, () => carryOver(buildId));
      return referenceOf(buildId);
    },
    isBusyWith: (name) => [...underway.keys()].some((buildId) => name.startsWith(containerOf(buildId))),
  };
}

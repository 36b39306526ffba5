// Makes a function's image: its files as one layer on the runtime image, once per content.
//
// An image belongs to the one platform whose label it carries, and its name is that platform's: two platforms that build the same on
// one Docker engine have an image each, so that neither can take away what the other needs. An image that a container was made from,
// running or not, is kept by Docker itself.
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { buildTar } from "../images/build-tar.ts";
import type { OutdatedImage } from "../images/outdated.ts";
import { removeImages } from "../images/remove-outdated.ts";
import type { DockerApi, HostOptions, ImageInfo } from "../docker/api.ts";
import { type BuildUse, createBuildUse } from "./build-use.ts";
import { APP_FOLDER } from "./docker-container-options.ts";
import { LABELS } from "../docker/labels.ts";
import { labelsOf, selectorOf, shortHash, type Platform } from "./docker-labels.ts";
import type { BuildSource, ExistingBuild, Removed } from "./engine.ts";
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
  /** Work with the image of a build on today's runtime image; one that was built on an older one is carried over. */
  withImage<Value>(buildId: string, work: (image: string) => Promise<Value>): Promise<Value>;
  list(): Promise<readonly ExistingBuild[]>;
  /** On every runtime image. */
  remove(buildId: string): Promise<void>;
  /** Images on earlier runtime images of builds that have one on today's: nothing is started from them any more. */
  removeOutdated(): Promise<Removed>;
  /** Containers that a build is being made in at this moment. */
  isBusyWith(containerName: string): boolean;
}

export interface RuntimeImageOf {
  current(): string;
  /** Makes it anew where somebody has removed it: as long as there are no builds, nothing shows that it is needed. */
  ensure(): Promise<void>;
}

export function createDockerBuilds(docker: DockerApi, platform: Platform, runtimeImage: RuntimeImageOf): DockerBuilds {
  const underway = new Map<string, Promise<{ readonly reused: boolean }>>();
  const use: BuildUse = createBuildUse();
  const tagOf = (buildId: string): string => `${buildId}-${shortHash(`${platform.platformId} ${runtimeImage.current()}`)}`;
  const referenceOf = (buildId: string): string => `${REPOSITORY}:${tagOf(buildId)}`;
  const containerOf = (buildId: string): string => `orchestrator-${platform.platformId}-build-${buildId.slice(0, 16)}`;
  const ownImagesOf = (buildId: string): Promise<readonly ImageInfo[]> =>
    docker.images.list({ labels: { ...selectorOf(platform, "build"), [LABELS.build]: buildId } });
  const labels = ({ buildId, functionName, bytes }: Made) => ({
    ...labelsOf(platform, "build"),
    [LABELS.build]: buildId,
    [LABELS.function]: functionName,
    ...(bytes !== undefined && { [LABELS.bytes]: String(bytes) }),
  });

  // A container that never runs, given the files and committed: measured twice as fast as Docker's builder, and
  // right with every image store, which a hand-made layer sent to "docker load" is not.
  const make = async (build: Made, files: () => Promise<Readable> | Readable): Promise<void> => {
    const name = containerOf(build.buildId);
    await runtimeImage.ensure();
    await docker.containers.remove(name);
    const container = await docker.containers.create(name, {
      Image: runtimeImage.current(),
      Labels: labels(build), // The image inherits them.
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
    // Its name held no platform once: what such an image was built for may be told by another platform's label.
    const [older] = [...(await ownImagesOf(buildId)), ...(await docker.images.list({ labels: { [LABELS.build]: buildId } }))];
    if (older === undefined)
      throw new PlatformError("ENGINE_FAILED", {
        detail: `The Docker engine has no image of the build ${buildId}.`,
        remedy: "Deploy the app again: its builds are made anew.",
      });
    const bytes = bytesLabelOf(older);
    const build = { buildId, functionName: older.labels[LABELS.function] ?? "", ...(bytes !== null && { bytes }) };
    const sourceName = `${containerOf(buildId)}-source`;
    await docker.containers.remove(sourceName);
    const source = await docker.containers.create(sourceName, {
      Image: older.id,
      Labels: labels(build),
      HostConfig: NEVER_STARTED,
    });
    try {
      await make(build, () => docker.containers.readFiles(source, APP_FOLDER));
    } finally {
      await docker.containers.remove(source);
    }
  };

  return {
    build: (source) =>
      use.during(source.buildId, () =>
        once(source.buildId, () => make({ ...source, bytes: bytesOf(source) }, () => buildTar(APP_FOLDER, source.files))),
      ),
    withImage: (buildId, work) =>
      use.during(buildId, async () => {
        await once(buildId, () => carryOver(buildId));
        return work(referenceOf(buildId));
      }),
    async list() {
      const [images, runtime] = await Promise.all([
        docker.images.list({ labels: selectorOf(platform, "build") }),
        docker.images.inspect(runtimeImage.current()),
      ]);
      return existingBuilds(images, runtime?.bytes ?? 0).map((build) => ({
        ...build,
        madeEpochMs: Math.max(build.madeEpochMs, use.lastAskedEpochMs(build.buildId)),
      }));
    },
    remove: (buildId) =>
      use.remove(buildId, async () => {
        for (const { id, references } of await ownImagesOf(buildId))
          for (const reference of references.length === 0 ? [id] : references) await docker.images.remove(reference);
      }),
    async removeOutdated() {
      const images = await docker.images.list({ labels: selectorOf(platform, "build") });
      return removeImages(docker, outdatedBuildImages(images, referenceOf));
    },
    isBusyWith: (name) => [...underway.keys()].some((buildId) => name.startsWith(containerOf(buildId))),
  };
}

interface Made {
  readonly buildId: string;
  readonly functionName: string;
  readonly bytes?: number; // Of all its files; unknown where it is carried over from an image that did not say.
}

const bytesOf = ({ files }: BuildSource): number => files.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);

function bytesLabelOf({ labels }: ImageInfo): number | null {
  const bytes = Number(labels[LABELS.bytes] ?? Number.NaN);
  return Number.isSafeInteger(bytes) ? bytes : null;
}

/** One build may have several images, each on another runtime image, and each with its own layer. */
export function existingBuilds(images: readonly ImageInfo[], runtimeBytes: number): ExistingBuild[] {
  const builds = new Map<string, ExistingBuild>();
  for (const image of images) {
    const buildId = image.labels[LABELS.build];
    if (buildId === undefined) continue; // Not made here: nothing of ours lacks it.
    // Docker's own number holds the runtime image as well; today's is near enough where nothing else is known.
    const bytes = bytesLabelOf(image) ?? Math.max(0, image.bytes - runtimeBytes);
    const known = builds.get(buildId) ?? { buildId, bytes: 0, madeEpochMs: 0 };
    const madeEpochMs = Math.max(known.madeEpochMs, image.createdEpochMs);
    builds.set(buildId, { buildId, bytes: known.bytes + bytes, madeEpochMs });
  }
  return [...builds.values()];
}

/** Those of builds that have another image, the current one. */
export function outdatedBuildImages(images: readonly ImageInfo[], currentOf: (buildId: string) => string): OutdatedImage[] {
  const buildOf = ({ labels }: ImageInfo): string => labels[LABELS.build] ?? "";
  const isCurrent = (image: ImageInfo): boolean => image.references.includes(currentOf(buildOf(image)));
  const current = new Set(images.filter(isCurrent).map(buildOf));
  return images
    .filter((image) => current.has(buildOf(image)) && !isCurrent(image))
    .map((image) => ({ references: image.references.length === 0 ? [image.id] : image.references, bytes: bytesLabelOf(image) ?? 0 }));
}

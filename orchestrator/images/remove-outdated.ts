// Removes images of earlier versions that nothing on a Docker engine needs any more.
import { IMAGE_GRACE_MS } from "../../runtime-image/contract/limits.ts";
import type { DockerApi, InspectedImage } from "../docker/api.ts";
import { mapAtOnce } from "../at-once.ts";
import { IMAGE_LABEL, NODE_BASE_REPOSITORY } from "./node-base.ts";
import { NPM_REPOSITORY } from "./npm-image.ts";
import { type ImagePolicy, type OutdatedImage, type Repositories, mayBeOutdated, outdatedImages } from "./outdated.ts";
import { RUNTIME_REPOSITORY } from "./runtime-image.ts";

export interface RemovedImages {
  readonly count: number;
  readonly bytes: number;
}

const REPOSITORIES: Repositories = { npm: NPM_REPOSITORY, runtime: RUNTIME_REPOSITORY, "node-base": NODE_BASE_REPOSITORY };
const CALLS_AT_ONCE = 4; // Others use the engine, too.

export async function removeOutdatedImages(
  docker: DockerApi,
  { repositories = REPOSITORIES, graceMs = IMAGE_GRACE_MS, ...given }: GivenPolicy,
): Promise<RemovedImages> {
  const policy = { ...given, repositories, graceMs };
  const listed = await docker.images.list({ labels: { [IMAGE_LABEL]: "" } }); // Builds inherit it.
  if (!mayBeOutdated(listed, policy)) return { count: 0, bytes: 0 };
  const ids = [...new Set(listed.map(({ id }) => id))];
  const found = await mapAtOnce(ids, CALLS_AT_ONCE, async (id) => docker.images.inspect(id));
  const images = found.filter((image): image is InspectedImage => image !== null);
  const containers = await docker.containers.list({ labels: {} });
  const containerImageIds = new Set(containers.map(({ imageId }) => imageId));
  return removeImages(docker, outdatedImages({ images, containerImageIds }, policy));
}

type GivenPolicy = Omit<ImagePolicy, "repositories" | "graceMs"> & Partial<Pick<ImagePolicy, "repositories" | "graceMs">>;

/** By their names; one that a container was made from in the meantime stays, and is not counted. */
export async function removeImages(docker: DockerApi, images: readonly OutdatedImage[]): Promise<RemovedImages> {
  const removed = { count: 0, bytes: 0 };
  for (const { references, bytes } of images) {
    for (const reference of references) await docker.images.remove(reference);
    const left = await mapAtOnce(references, CALLS_AT_ONCE, async (reference) => docker.images.inspect(reference));
    if (left.some((image) => image !== null)) continue;
    removed.count += 1;
    removed.bytes += bytes;
  }
  return removed;
}

// What the command "orchestrator image" does: makes the base images ready, and lists every image of ours.
import type { DockerAddress } from "../docker/address.ts";
import type { DockerApi, ImageInfo } from "../docker/api.ts";
import { createDockerClient } from "../docker/client.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { LABELS } from "../docker/labels.ts";
import type { OwnNpm } from "../npm/own-npm.ts";
import { DEFAULT_NODE_IMAGE, IMAGE_LABEL, type Progress } from "./node-base.ts";
import { ensurePlatformBase } from "./platform-base.ts";
import { ensureRuntimeImage, type RuntimeBundle } from "./runtime-image.ts";

export interface ImageSettings {
  readonly docker: DockerAddress;
  readonly nodeImage: string | null; // What to ask a registry for; null never asks one.
  readonly runtimeBundle: () => Promise<RuntimeBundle>;
}

export interface ListedImage {
  readonly kind: "node-base" | "runtime" | "npm" | "platform-base" | "platform" | "build";
  readonly reference: string;
  readonly bytes: number;
  readonly createdEpochMs: number;
  readonly functionName: string | null; // Of a build.
}

export async function ensureImages({ docker, ...settings }: ImageSettings, progress: Progress): Promise<void> {
  const { reference } = await ensureRuntimeImage(createDockerClient(docker), { ...settings, progress });
  progress(`the runtime image is ${reference}`);
}

/** Makes what the Dockerfile of the platform's own image stands on, and tells its name. */
export async function ensureBaseOfPlatform(
  { docker, ...settings }: ImageSettings,
  { npm, progress }: { readonly npm: Pick<OwnNpm, "folder"> | null; readonly progress: Progress },
): Promise<string> {
  if (npm === null)
    throw new PlatformError("IMAGE_MISSING", {
      detail: "The platform's image is to have this machine's npm, and there is none.",
      remedy: "Install npm, for instance with: apt-get install npm.",
    });
  return ensurePlatformBase(createDockerClient(docker), { ...settings, npmFolder: npm.folder, progress });
}

/** One line per image, ready to print. */
export async function listImages({
  docker,
  nodeImage = DEFAULT_NODE_IMAGE,
}: Pick<ImageSettings, "docker"> & Partial<ImageSettings>): Promise<readonly string[]> {
  const images = await findImages(createDockerClient(docker), nodeImage);
  return images.map((image) => {
    const megabytes = `${Math.round(image.bytes / 1e6)} MB`;
    const made = new Date(image.createdEpochMs).toISOString().slice(0, 16).replace("T", " ");
    return [image.kind.padEnd(13), megabytes.padStart(7), made, image.reference, image.functionName ?? ""].join("  ").trimEnd();
  });
}

export async function findImages(docker: DockerApi, nodeImage: string | null): Promise<readonly ListedImage[]> {
  const [shared, builds, pulled] = await Promise.all([
    docker.images.list({ labels: { [IMAGE_LABEL]: "" } }),
    docker.images.list({ labels: { [LABELS.build]: "" } }),
    nodeImage === null ? null : docker.images.inspect(nodeImage), // A registry's image has no label of ours.
  ]);
  const images = new Map([...shared, ...builds, ...(pulled === null ? [] : [pulled])].map((image) => [image.id, image]));
  return [...images.values()].flatMap(listed);
}

const KINDS = ["runtime", "npm", "platform-base", "platform"] as const;

function listed(image: ImageInfo): ListedImage[] {
  const isBuild = image.labels[LABELS.build] !== undefined; // A build inherits the runtime image's labels, so this comes first.
  const kind = isBuild ? "build" : (KINDS.find((known) => known === image.labels[IMAGE_LABEL]) ?? "node-base");
  const functionName = isBuild ? (image.labels[LABELS.function] ?? null) : null;
  return image.references.map((reference) => ({ kind, reference, bytes: image.bytes, createdEpochMs: image.createdEpochMs, functionName }));
}

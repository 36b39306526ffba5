// Which images of earlier versions nothing needs any more, by everything that exists on a Docker engine. Pure.
import type { ImageInfo, InspectedImage } from "../docker/api.ts";
import { LABELS } from "../docker/labels.ts";
import { IMAGE_LABEL } from "./node-base.ts";

/** What others stand on comes last, so that it can go with them. */
const SHARED_KINDS = ["npm", "runtime", "node-base"] as const;
type SharedKind = (typeof SHARED_KINDS)[number];

export type Repositories = Readonly<Record<SharedKind, string>>;

export interface EngineImages {
  readonly images: readonly InspectedImage[]; // Every one that platforms share or that stands on one, builds included, whosever they are.
  readonly containerImageIds: ReadonlySet<string>; // Of all containers, whether they run or not.
}

export interface ImagePolicy {
  readonly repositories: Repositories;
  /** What this platform uses. */
  readonly currentReferences: readonly string[];
  /** Whether another platform of this engine installs packages: nothing tells which image it does that in. */
  readonly othersInstall: boolean;
  readonly nowEpochMs: number;
  readonly graceMs: number; // A young one may be another platform's that has no builds yet.
}

export interface OutdatedImage {
  readonly references: readonly string[];
  readonly bytes: number; // Beside what it stands on.
}

export function outdatedImages(engine: EngineImages, policy: ImagePolicy): OutdatedImage[] {
  const kept = new Map(engine.images.map((image) => [image.id, image]));
  const outdated: OutdatedImage[] = [];
  for (const kind of SHARED_KINDS) {
    for (const image of ofKind(kind, [...kept.values()], policy)) {
      const others = [...kept.values()].filter((other) => other.id !== image.id);
      if (engine.containerImageIds.has(image.id) || others.some((other) => standsOn(other, image))) continue;
      const baseBytes = Math.max(0, ...others.filter((other) => standsOn(image, other)).map(({ bytes }) => bytes));
      outdated.push({ references: ownReferences(image, policy.repositories[kind]), bytes: image.bytes - baseBytes });
      kept.delete(image.id);
    }
  }
  return outdated;
}

/** Whether it is worth looking at what each image stands on. */
export const mayBeOutdated = (images: readonly ImageInfo[], policy: ImagePolicy): boolean =>
  SHARED_KINDS.some((kind) => ofKind(kind, images, policy).length > 0);

/** Those that could go if nothing needs them. */
function ofKind<Image extends ImageInfo>(kind: SharedKind, images: readonly Image[], policy: ImagePolicy): Image[] {
  if (kind === "npm" && policy.othersInstall) return [];
  const own = images.filter((image) => isShared(image, kind) && ownReferences(image, policy.repositories[kind]).length > 0);
  // Until packages are installed nobody knows which npm image is today's: most likely the newest.
  const newest = kind === "npm" ? own.toSorted((a, b) => b.createdEpochMs - a.createdEpochMs)[0] : undefined;
  return own.filter(
    (image) =>
      image !== newest &&
      policy.nowEpochMs - image.createdEpochMs >= policy.graceMs &&
      !image.references.some((reference) => policy.currentReferences.includes(reference)),
  );
}

/** A function's image inherits the labels of what it stands on; whatever else somebody made of ours has another name. */
const isShared = ({ labels }: ImageInfo, kind: SharedKind): boolean => labels[IMAGE_LABEL] === kind && labels[LABELS.build] === undefined;

const ownReferences = ({ references }: ImageInfo, repository: string): string[] =>
  references.filter((reference) => reference.startsWith(`${repository}:`));

const standsOn = (image: InspectedImage, base: InspectedImage): boolean =>
  image.layers.length > base.layers.length && base.layers.every((layer, index) => image.layers[index] === layer);

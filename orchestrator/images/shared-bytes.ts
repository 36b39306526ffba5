// How much room the images take that platforms share: Node's, once, and what the others add to it. Pure.
import { LABELS } from "../docker/labels.ts";
import type { ImageInfo } from "../docker/api.ts";
import { IMAGE_LABEL, ORIGIN_LABEL } from "./node-base.ts";

/** Docker tells each image's size with all that it stands on; which one that is, ours say in a label. */
export function sharedImageBytes(images: readonly ImageInfo[]): number {
  const ours = [...new Map(images.filter(isShared).map((image) => [image.id, image])).values()];
  const sizes = new Map<string, number[]>(); // By the id of what they stand on.
  for (const image of ours) sizes.set(baseIdOf(image), [...(sizes.get(baseIdOf(image)) ?? []), image.bytes]);
  let bytes = 0;
  for (const [baseId, group] of sizes) {
    // A registry's image has no label of ours and is not among them: then it is at most as large as the smallest that stands on it.
    const base = ours.find(({ id }) => id === baseId)?.bytes ?? Math.min(...group);
    bytes += group.reduce((sum, size) => sum + Math.max(0, size - base), base);
  }
  return bytes;
}

/** A function's image inherits the labels of the runtime image. */
const isShared = ({ labels }: ImageInfo): boolean => labels[IMAGE_LABEL] !== undefined && labels[LABELS.build] === undefined;

const baseIdOf = ({ id, labels }: ImageInfo): string =>
  labels[IMAGE_LABEL] === "node-base" ? id : (labels[ORIGIN_LABEL]?.split(" ").at(-1) ?? id);

// How much room builds and what they stand on take in a Docker engine, out of what it says of its images.
import { describe, expect, it } from "vitest";
import type { ImageInfo } from "../../../orchestrator/docker/api.ts";
import { existingBuilds, outdatedBuildImages } from "../../../orchestrator/engines/docker-builds.ts";
import { sharedImageBytes } from "../../../orchestrator/images/shared-bytes.ts";

const image = (id: string, bytes: number, labels: Record<string, string>, createdEpochMs = 0): ImageInfo => ({
  id,
  bytes,
  labels: Object.fromEntries(Object.entries(labels).map(([name, value]) => [`orchestrator.${name}`, value])),
  references: [],
  createdEpochMs,
});

describe("the builds of a Docker engine", () => {
  it("are told with their own bytes, once each, and as young as their youngest image", () => {
    const images = [
      image("1", 132_000_500, { build: "b", bytes: "500" }, 10),
      image("2", 133_000_500, { build: "b", bytes: "500" }, 30),
      image("3", 132_000_007, { build: "c", bytes: "7" }, 20),
    ];
    expect(existingBuilds(images, 132_000_000)).toEqual([
      { buildId: "b", bytes: 1_000, madeEpochMs: 30 },
      { buildId: "c", bytes: 7, madeEpochMs: 20 },
    ]);
  });

  it("that do not say it themselves are what their image has more than the runtime image", () => {
    expect(existingBuilds([image("1", 132_000_600, { build: "b" })], 132_000_000)).toMatchObject([{ bytes: 600 }]);
    expect(existingBuilds([image("1", 131_000_000, { build: "b", bytes: "many" })], 132_000_000)).toMatchObject([{ bytes: 0 }]);
  });
});

describe("the images of builds on earlier runtime images", () => {
  const currentOf = (buildId: string): string => `repository:${buildId}-now`;
  const named = (reference: string, build: string): ImageInfo => ({
    ...image(reference, 10, { build, bytes: "7" }),
    references: [`repository:${reference}`],
  });

  it("may go where the build has one on today's, and else not: the next start needs it", () => {
    const images = [named("a-now", "a"), named("a-old", "a"), named("a-older", "a"), named("b-old", "b")];
    expect(outdatedBuildImages(images, currentOf)).toEqual([
      { references: ["repository:a-old"], bytes: 7 },
      { references: ["repository:a-older"], bytes: 7 },
    ]);
  });

  it("are named by their id where they have no name any more", () => {
    const nameless = { ...named("a-old", "a"), id: "sha256:1", references: [] };
    expect(outdatedBuildImages([named("a-now", "a"), nameless], currentOf)).toEqual([{ references: ["sha256:1"], bytes: 7 }]);
  });
});

describe("the images that platforms share", () => {
  it("count what they stand on once, and builds not at all", () => {
    const images = [
      image("base", 130, { image: "node-base", origin: "machine v24.21.0 x64" }),
      image("runtime-1", 131, { image: "runtime", origin: "machine base" }),
      image("runtime-1", 131, { image: "runtime", origin: "machine base" }), // Listed twice, as one with two names may be.
      image("runtime-2", 133, { image: "runtime", origin: "machine base" }),
      image("npm", 150, { image: "npm", origin: "machine base" }),
      image("build", 140, { image: "runtime", origin: "machine base", build: "b" }),
    ];
    expect(sharedImageBytes(images)).toBe(130 + 1 + 3 + 20);
  });

  it("on a registry's image, which is not ours, count it as the smallest of them at most", () => {
    const images = [
      image("runtime", 201, { image: "runtime", origin: "registry sha256:x" }),
      image("npm", 220, { image: "npm", origin: "registry sha256:x" }),
    ];
    expect(sharedImageBytes(images)).toBe(220);
    expect(sharedImageBytes([])).toBe(0);
  });
});

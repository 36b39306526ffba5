// Which images of earlier versions may go, by what exists on an engine: nothing that anybody stands on, runs, or may need in a moment.
import { describe, expect, it } from "vitest";
import type { InspectedImage } from "../../../orchestrator/docker/api.ts";
import { type ImagePolicy, mayBeOutdated, outdatedImages } from "../../../orchestrator/images/outdated.ts";

const DAY_MS = 86_400_000;
const POLICY: ImagePolicy = {
  repositories: { npm: "o-npm", runtime: "o-runtime", "node-base": "o-node" },
  currentReferences: ["o-runtime:now", "o-npm:now"],
  othersInstall: false,
  nowEpochMs: 10 * DAY_MS,
  graceMs: DAY_MS,
};

const image = (reference: string, layers: string, fields: Partial<InspectedImage> = {}): InspectedImage => ({
  id: `sha256:${reference}`,
  references: [reference],
  labels: { "orchestrator.image": reference.startsWith("o-npm") ? "npm" : reference.startsWith("o-node") ? "node-base" : "runtime" },
  layers: layers.split(""),
  bytes: 100 * layers.length,
  createdEpochMs: 0,
  ...fields,
});
const build = (reference: string, layers: string): InspectedImage => ({
  ...image(reference, layers),
  labels: { "orchestrator.image": "runtime", "orchestrator.build": "b1", "orchestrator.platform": "another" },
});

const NOW = [
  image("o-node:1", "a"),
  image("o-runtime:now", "ar", { createdEpochMs: 9.9 * DAY_MS }),
  image("o-npm:now", "an", { createdEpochMs: 9.9 * DAY_MS }),
];
const gone = (
  images: readonly InspectedImage[],
  { containers = [], ...policy }: Partial<ImagePolicy> & { containers?: readonly string[] } = {},
): string[] =>
  outdatedImages({ images: [...NOW, ...images], containerImageIds: new Set(containers) }, { ...POLICY, ...policy }).flatMap(
    ({ references }) => references,
  );

describe("images of earlier versions", () => {
  it("go when nothing stands on them, and what this platform uses stays with all that it stands on", () => {
    expect(gone([])).toEqual([]);
    expect(gone([image("o-runtime:old", "ax"), image("o-npm:old", "ay")])).toEqual(["o-npm:old", "o-runtime:old"]);
  });

  it("stay while a build of any platform stands on them, or somebody's image of another name", () => {
    expect(gone([image("o-runtime:old", "ax"), build("o-build:b1", "axb")])).toEqual([]);
    expect(gone([image("o-runtime:old", "ax"), image("mine:1", "axm")])).toEqual([]);
  });

  it("stay while a container was made from them, whether it runs or not", () => {
    expect(gone([image("o-runtime:old", "ax")], { containers: ["sha256:o-runtime:old"] })).toEqual([]);
  });

  it("take along what only they stood on, and leave what something else stands on", () => {
    expect(gone([image("o-node:old", "z"), image("o-runtime:old", "zx"), image("o-npm:old", "zn")])).toEqual([
      "o-npm:old",
      "o-runtime:old",
      "o-node:old",
    ]);
    expect(gone([image("o-node:old", "z"), image("o-runtime:old", "zx"), build("o-build:b1", "zxb")])).toEqual([]);
  });

  it("stay while they are young: they may be another platform's that has no builds yet", () => {
    const young = image("o-runtime:young", "ax", { createdEpochMs: 9.5 * DAY_MS });
    expect(gone([young])).toEqual([]);
    expect(gone([young], { graceMs: 0 })).toEqual(["o-runtime:young"]);
  });

  it("that packages are installed in stay while another platform installs some, and the newest of them always", () => {
    const old = image("o-npm:old", "ay");
    expect(gone([old], { othersInstall: true })).toEqual([]);
    const newest = image("o-npm:newest", "az", { createdEpochMs: 9.95 * DAY_MS });
    expect(gone([old, newest], { graceMs: 0, currentReferences: ["o-runtime:now"] })).toEqual(["o-npm:now", "o-npm:old"]);
  });

  it("are only those that we made: not one of a foreign name, nor a name of ours without our label", () => {
    expect(gone([image("node:24-slim", "q", { labels: {} }), image("o-runtime:fake", "qr", { labels: {} })])).toEqual([]);
    expect(gone([image("o-runtime-of-mine:1", "qr")])).toEqual([]);
    expect(gone([image("o-runtime:old", "ax", { references: ["o-runtime:old", "kept:1"] })])).toEqual(["o-runtime:old"]);
  });

  it("are not looked for where all that could go is in use by this platform or too young", () => {
    expect(
      mayBeOutdated(
        [...NOW, build("o-build:b1", "arb")].filter(({ references }) => references[0] !== "o-node:1"),
        POLICY,
      ),
    ).toBe(false);
    expect(mayBeOutdated([...NOW, image("o-runtime:old", "ax")], POLICY)).toBe(true);
  });

  it("are counted with what they take beside what they stand on", () => {
    const images = [...NOW, image("o-runtime:old", "ax", { bytes: 130 })];
    expect(outdatedImages({ images, containerImageIds: new Set() }, POLICY)).toEqual([{ references: ["o-runtime:old"], bytes: 30 }]);
  });
});

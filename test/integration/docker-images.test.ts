// Images of earlier versions on a real engine: gone when nothing needs them, and never pulled away from under anybody.
import { randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseDockerAddress } from "../../orchestrator/docker/address.ts";
import { createDockerClient } from "../../orchestrator/docker/client.ts";
import { LABELS } from "../../orchestrator/docker/labels.ts";
import { IMAGE_LABEL } from "../../orchestrator/images/node-base.ts";
import type { Repositories } from "../../orchestrator/images/outdated.ts";
import { type RemovedImages, removeOutdatedImages } from "../../orchestrator/images/remove-outdated.ts";
import type { RuntimeBundle } from "../../orchestrator/images/runtime-image.ts";
import { packTar } from "../../orchestrator/images/tar.ts";
import {
  bareRuntime,
  createTestEngine,
  docker as dockerCommand,
  instanceSpec,
  newBuildId,
  newPlatformId,
  removeBuildImages,
} from "../support/docker-rig.ts";

const docker = createDockerClient(parseDockerAddress(undefined));
// Names of this test's own: what other platforms of this machine have is none of its business.
const own = `orchestrator-test-${randomBytes(4).toString("hex")}`;
const repositories: Repositories = { npm: `${own}-npm`, runtime: `${own}-runtime`, "node-base": `${own}-node` };
const made: string[] = [];
const containers: string[] = [];

afterAll(async () => {
  for (const container of containers) await docker.containers.remove(container);
  for (const reference of made.toReversed()) await docker.images.remove(reference);
});

const file = (text: string) => packTar([{ kind: "file", path: "file", mode: 0o644, bytes: Buffer.from(text) }]);

async function base(tag: string): Promise<string> {
  const image = { repository: repositories["node-base"], tag, changes: [`LABEL ${IMAGE_LABEL}=node-base`] };
  await docker.images.importTar(file(`base ${own} ${tag}`), image);
  made.push(`${image.repository}:${tag}`);
  return `${image.repository}:${tag}`;
}

async function container(image: string, labels: Record<string, string> = {}): Promise<string> {
  const id = await docker.containers.create(`${own}-${randomBytes(4).toString("hex")}`, {
    Image: image,
    Cmd: ["never"],
    Labels: { [LABELS.role]: "image", [LABELS.home]: tmpdir(), ...labels },
    HostConfig: {
      NetworkMode: "none",
      CapDrop: ["ALL"],
      SecurityOpt: ["no-new-privileges"],
      ReadonlyRootfs: false,
      LogConfig: { Type: "none", Config: {} },
      RestartPolicy: { Name: "no" },
    },
  });
  containers.push(id);
  return id;
}

/** An image with one more layer; its name is the answer. */
async function onTopOf(image: string, { repository, tag, labels }: { repository: string; tag: string; labels: Record<string, string> }) {
  const id = await container(image, labels);
  await docker.containers.writeFiles(id, "/", file(`${repository} ${tag} ${own}`));
  await docker.containers.commit(id, { repository, tag });
  await docker.containers.remove(id);
  made.push(`${repository}:${tag}`);
  return `${repository}:${tag}`;
}
const runtime = async (on: string, tag: string) =>
  onTopOf(on, { repository: repositories.runtime, tag, labels: { [IMAGE_LABEL]: "runtime" } });
const npm = async (on: string, tag: string) => onTopOf(on, { repository: repositories.npm, tag, labels: { [IMAGE_LABEL]: "npm" } });
const build = async (on: string, tag: string) =>
  onTopOf(on, { repository: `${own}-build`, tag, labels: { [LABELS.build]: tag, [LABELS.platform]: "somebody-else" } });

/** Of a content of its own: Docker gives images of the same content one id. */
async function ownRuntime(version: string): Promise<RuntimeBundle> {
  const { hash, files } = await bareRuntime(version);
  return { hash, files: [...files, { path: "version.js", bytes: Buffer.from(`// ${version}\n`) }] };
}

const isThere = async (reference: string): Promise<boolean> => (await docker.images.inspect(reference)) !== null;
const collect = async (currentReferences: readonly string[], othersInstall = false): Promise<RemovedImages> =>
  removeOutdatedImages(docker, { repositories, currentReferences, othersInstall, nowEpochMs: Date.now() + 60_000, graceMs: 0 });

describe("images of earlier versions", () => {
  let today = "";
  let newestNpm = "";
  beforeAll(async () => {
    const node = await base("today");
    today = await runtime(node, "today");
  });

  it("go with the base that only they stood on, and everything that is in use stays", async () => {
    const oldNode = await base("old");
    const oldRuntime = await runtime(oldNode, "old");
    const oldNpm = await npm(oldNode, "old");
    newestNpm = await npm(`${repositories["node-base"]}:today`, "newest");
    const { count, bytes } = await collect([today]);
    expect(count).toBe(3);
    expect(bytes).toBeGreaterThan(0);
    for (const gone of [oldNode, oldRuntime, oldNpm]) expect(await isThere(gone)).toBe(false);
    for (const kept of [`${repositories["node-base"]}:today`, today, newestNpm]) expect(await isThere(kept)).toBe(true);
    expect(await collect([today])).toEqual({ count: 0, bytes: 0 });
  });

  it("stay under another platform's builds, and go when those are gone", async () => {
    const old = await runtime(`${repositories["node-base"]}:today`, "under-a-build");
    const theirs = await build(old, "b1");
    expect(await collect([today])).toMatchObject({ count: 0 });
    expect(await isThere(old)).toBe(true);
    expect(await isThere(theirs)).toBe(true);
    await docker.images.remove(theirs);
    expect(await collect([today])).toMatchObject({ count: 1 });
    expect(await isThere(old)).toBe(false);
  });

  it("stay under a container, also one that never ran", async () => {
    const old = await runtime(`${repositories["node-base"]}:today`, "under-a-container");
    const id = await container(old);
    expect(await collect([today])).toMatchObject({ count: 0 });
    expect(await isThere(old)).toBe(true);
    await docker.containers.remove(id);
    expect(await collect([today])).toMatchObject({ count: 1 });
    expect(await isThere(old)).toBe(false);
  });

  it("keep names that somebody else gave them", async () => {
    const old = await runtime(`${repositories["node-base"]}:today`, "named-twice");
    await dockerCommand("image", "tag", old, `${own}-mine:1`);
    made.push(`${own}-mine:1`);
    await collect([today]);
    expect(await isThere(old)).toBe(false);
    expect(await isThere(`${own}-mine:1`)).toBe(true);
  });

  it("that packages are installed in stay while another platform installs some", async () => {
    const old = newestNpm;
    newestNpm = await npm(`${repositories["node-base"]}:today`, "newer");
    expect(await collect([today], true)).toMatchObject({ count: 0 });
    expect(await isThere(old)).toBe(true);
    expect(await collect([today, newestNpm])).toMatchObject({ count: 1 });
    expect(await isThere(old)).toBe(false);
    expect(await isThere(newestNpm)).toBe(true);
  });
});

describe("an engine whose platform was upgraded", () => {
  const platformId = newPlatformId();
  const name = `upgrade-${own}`; // Runtime images of this test's own.
  const engineOf = (id: string, version: number) =>
    createTestEngine(id, { runtimeBundle: () => ownRuntime(`${name}-${version}`), homeLabel: tmpdir() }); // Builds of homes that are gone are removed after other runs.
  const older = engineOf(platformId, 1);
  const newer = engineOf(platformId, 2);
  const source = (buildId: string) => ({
    buildId,
    functionName: "src/http/get-index",
    files: [{ path: "src/http/get-index/index.js", bytes: Buffer.from(`setInterval(() => {}, 1000); // ${buildId}`), isExecutable: false }],
  });
  const namesOf = async (buildId: string): Promise<string[]> => {
    const printed = await dockerCommand("image", "ls", "--format", "{{.Tag}}", "--filter", `label=${LABELS.build}=${buildId}`);
    return printed.split("\n").filter((line) => line !== "");
  };
  const runtimes: string[] = [];

  beforeAll(async () => {
    await older.prepare();
  });
  afterAll(async () => {
    await newer.dispose();
    await removeBuildImages(platformId);
    for (const reference of new Set(runtimes)) await docker.images.remove(reference);
  });

  /** The name of the runtime image that a build stands on. */
  async function runtimeUnder(buildId: string): Promise<string> {
    const [tag = ""] = await namesOf(buildId);
    const layers = (await docker.images.inspect(`orchestrator-build:${tag}`))?.layers ?? [];
    for (const image of await docker.images.list({ labels: { [IMAGE_LABEL]: "runtime" } })) {
      const found = await docker.images.inspect(image.id);
      const isUnder =
        found !== null && found.layers.length === layers.length - 1 && found.layers.every((one, index) => one === layers[index]);
      const reference = image.references.find((one) => one.startsWith("orchestrator-runtime:"));
      if (isUnder && image.labels[LABELS.build] === undefined && reference !== undefined) return reference;
    }
    throw new Error(`nothing is known that the build ${buildId} stands on`);
  }

  it("gives up images of builds on the runtime before as soon as nothing runs from them, and no build as a whole", async () => {
    const [started, waiting] = [newBuildId(), newBuildId()];
    for (const buildId of [started, waiting]) await older.build(source(buildId));
    await older.start(instanceSpec({ instanceId: "old", buildId: started }));
    runtimes.push(await runtimeUnder(started));
    await newer.prepare();
    await newer.start(instanceSpec({ instanceId: "new", buildId: started }));
    expect(await namesOf(started)).toHaveLength(2);
    await newer.removeOutdated(); // Its container still runs.
    expect(await namesOf(started)).toHaveLength(2);
    await newer.stop("old", { graceMs: 0 });
    const { count, bytes } = await newer.removeOutdated();
    expect(count).toBeGreaterThan(0); // This machine may hold images of earlier versions besides.
    expect(bytes).toBeGreaterThan(0);
    expect(await namesOf(started)).toHaveLength(1);
    expect(await namesOf(waiting)).toHaveLength(1); // Not started since: it is carried over when it is.
    await newer.start(instanceSpec({ instanceId: "later", buildId: waiting }));
    expect((await newer.list()).map(({ instanceId, state }) => `${instanceId} ${state}`).toSorted()).toEqual([
      "later running",
      "new running",
    ]);
    runtimes.push(await runtimeUnder(started));
  });

  it("makes its runtime image anew where somebody has removed it: nothing stood on it yet", async () => {
    const bareId = newPlatformId();
    const engine = engineOf(bareId, 3);
    await engine.prepare();
    const before = newBuildId();
    try {
      await engine.build(source(before));
      const reference = await runtimeUnder(before);
      runtimes.push(reference);
      await engine.removeBuild(before);
      await docker.images.remove(reference);
      expect(await isThere(reference)).toBe(false);
      const buildId = newBuildId();
      expect(await Promise.all([engine.build(source(buildId)), engine.build(source(before))])).toHaveLength(2);
      expect(await isThere(reference)).toBe(true);
      await engine.start(instanceSpec({ instanceId: "again", buildId }));
      expect(await engine.list()).toMatchObject([{ instanceId: "again", state: "running" }]);
    } finally {
      await engine.dispose();
      await removeBuildImages(bareId);
    }
  });
});

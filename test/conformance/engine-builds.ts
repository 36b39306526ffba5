// The part of the engines' behaviour list that is about builds which are kept, counted and removed.
import { expect, it } from "vitest";
import type { BuildSource, ExistingBuild } from "../../orchestrator/engines/engine.ts";
import { until } from "../support/until.ts";
import { BROKEN, POLITE } from "./engine-functions.ts";
import { type Rig, sourceOf, textFile } from "./engine-rig.ts";

const EXIT_TIMEOUT_MS = 10_000;

export function keepingBuilds(of: () => Rig): void {
  const newSource = (): BuildSource => sourceOf(`${POLITE}// ${Math.random()}\n`, [textFile("src/lib/big.txt", "x".repeat(100_000))]);
  const listed = async (buildId: string): Promise<ExistingBuild | undefined> =>
    (await of().engine.listBuilds()).find((build) => build.buildId === buildId);

  it("lists the builds that are there, with the room that each takes alone and when it was made", async () => {
    const source = newSource();
    const beforeEpochMs = Date.now();
    expect(await listed(source.buildId)).toBeUndefined();
    await of().engine.build(source);
    const build = await listed(source.buildId);
    expect(build?.bytes).toBeGreaterThanOrEqual(100_000);
    expect(build?.bytes).toBeLessThan(200_000); // What it stands on is some hundred times as large.
    expect(build?.madeEpochMs).toBeGreaterThanOrEqual(beforeEpochMs - 1_000); // Docker's own lists know seconds.
    expect(build?.madeEpochMs).toBeLessThanOrEqual(Date.now());
  });

  it("tells of a build that was asked for again that it was, so that nobody takes it for old", async () => {
    const source = newSource();
    await of().engine.build(source);
    const first = (await listed(source.buildId))?.madeEpochMs ?? 0;
    await until(() => Date.now() > first + 5, { timeoutMs: 1_000 });
    await of().engine.build(source);
    expect((await listed(source.buildId))?.madeEpochMs).toBeGreaterThan(first);
  });

  it("removes a build, makes it anew when it is asked for, and is fine with one that is not there", async () => {
    const source = newSource();
    await of().engine.build(source);
    await of().engine.removeBuild(source.buildId);
    expect(await listed(source.buildId)).toBeUndefined();
    await of().engine.removeBuild(source.buildId);
    expect(await of().engine.build(source)).toEqual({ reused: false });
  });

  it("leaves a build that an instance was made from, as long as the instance is there, running or not", async () => {
    const running = await of().start({ code: `${POLITE}// ${Math.random()}\n` });
    const ended = await of().launch({ code: `${BROKEN}// ${Math.random()}\n` });
    await until(() => of().exits.some(({ instanceId }) => instanceId === ended.instanceId), { timeoutMs: EXIT_TIMEOUT_MS });
    for (const { buildId, instanceId } of [running, ended]) {
      await of().engine.removeBuild(buildId);
      expect(await listed(buildId)).toBeDefined();
      await of().engine.stop(instanceId, { graceMs: 0 });
      await of().engine.removeBuild(buildId);
      expect(await listed(buildId)).toBeUndefined();
    }
  });

  it("is not thrown by a removal at the moment in which the same build is made or started", async () => {
    const source = newSource();
    for (let turn = 0; turn < 5; turn += 1) {
      const [built] = await Promise.all([of().engine.build(source), of().engine.removeBuild(source.buildId)]);
      expect(typeof built.reused).toBe("boolean");
      await of().engine.build(source);
      expect(await listed(source.buildId)).toBeDefined();
    }
    const code = `${POLITE}// ${Math.random()}\n`;
    const { buildId } = sourceOf(code);
    const [{ instanceId }] = await Promise.all([
      of().start({ code }),
      until(async () => (await of().engine.list()).length > 0, { timeoutMs: EXIT_TIMEOUT_MS }).then(() => of().engine.removeBuild(buildId)),
    ]);
    expect((await of().ask(instanceId, "/here")).status).toBe(200);
    expect(await listed(buildId)).toBeDefined();
  });

  it("leaves every build and whatever runs where it removes what only earlier versions needed", async () => {
    const source = newSource();
    await of().engine.build(source);
    const { instanceId } = await of().start({ code: `${POLITE}// ${Math.random()}\n` });
    await of().engine.removeOutdated();
    expect(await listed(source.buildId)).toBeDefined();
    expect((await of().ask(instanceId, "/here")).status).toBe(200);
    const later = await of().start({ code: `${POLITE}// ${Math.random()}\n` });
    expect((await of().ask(later.instanceId, "/here")).status).toBe(200);
  });

  it("says how much room everything takes, builds and what they stand on apart", async () => {
    const before = await of().engine.diskUse();
    await of().engine.build(newSource());
    const after = await of().engine.diskUse();
    expect(after.buildCount).toBe(before.buildCount + 1);
    expect(after.buildBytes - before.buildBytes).toBeGreaterThanOrEqual(100_000);
    expect(after.buildBytes - before.buildBytes).toBeLessThan(200_000);
    expect(after.imageBytes).toBeGreaterThan(100_000);
    expect(after.freeBytes ?? 0).toBeGreaterThan(0);
  });
}

// What a collection forgets and removes, and that no deploy which comes at the same moment loses anything to it.
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { AppPlan } from "../../../orchestrator/builds/build-plan.ts";
import { createBuildUse } from "../../../orchestrator/engines/build-use.ts";
import type { BuildSource, Engine } from "../../../orchestrator/engines/engine.ts";
import { type Collector, createCollector } from "../../../orchestrator/hosting/collector.ts";
import type { HostedApp } from "../../../orchestrator/hosting/hosted-app.ts";
import type { Fleet } from "../../../orchestrator/pools/fleet.ts";
import { INSTANCE_COUNTS } from "../../../orchestrator/pools/pool-plan.ts";
import { createDeployer } from "../../../orchestrator/releases/deployer.ts";
import { makeRelease } from "../../../orchestrator/releases/make-release.ts";
import { type ControlState, createReleaseBook } from "../../../orchestrator/releases/release-book.ts";
import { createUsedBuilds } from "../../../orchestrator/releases/used-builds.ts";
import { BUILD_GRACE_MS, RELEASE_COUNT_KEPT, RELEASE_KEPT_MS } from "../../../runtime-image/contract/limits.ts";
import { chanceOf } from "../../support/crash-random.ts";
import { memoryState } from "../../support/control-state.ts";
import { releaseFunction } from "../../support/releases.ts";

/** Apps whose instances are ready at once, and an engine that keeps builds in memory; everything takes as long as `pause` says. */
function world(pause: () => Promise<void> = async () => undefined) {
  const clock = { now: 1_000_000_000_000, nowEpochMs: () => clock.now };
  const builds = new Map<string, number>(); // When each was made.
  const running = new Set<string>(); // Builds that instances were made from.
  const hooks = { removing: async (): Promise<void> => undefined };
  const use = createBuildUse(clock.nowEpochMs);
  const engine: Pick<Engine, "build" | "listBuilds" | "removeBuild" | "removeOutdated"> = {
    build: async ({ buildId }) =>
      use.during(buildId, async () => {
        await pause();
        const reused = builds.has(buildId);
        if (!reused) builds.set(buildId, clock.now);
        await pause();
        return { reused };
      }),
    async listBuilds() {
      await pause();
      const madeEpochMs = (buildId: string): number => Math.max(builds.get(buildId) ?? 0, use.lastAskedEpochMs(buildId));
      return [...builds.keys()].map((buildId) => ({ buildId, bytes: 10, madeEpochMs: madeEpochMs(buildId) }));
    },
    removeBuild: async (buildId) =>
      use.remove(buildId, async () => {
        await pause();
        await hooks.removing();
        if (!running.has(buildId)) builds.delete(buildId);
        await pause();
      }),
    removeOutdated: async () => ({ count: 1, bytes: 7 }),
  };
  const memory = memoryState();
  const state: ControlState = {
    read: async (key) => pause().then(async () => memory.read(key)),
    write: async (key, value, options) => pause().then(async () => memory.write(key, value, options)),
    remove: async (key) => pause().then(async () => memory.remove(key)),
    list: async (prefix) => pause().then(async () => memory.list(prefix)),
  };
  const used = createUsedBuilds(clock);
  const apps = new Map<string, HostedApp>();
  const appOf = (appId: string): HostedApp => {
    const known = apps.get(appId);
    if (known !== undefined) return known;
    const book = createReleaseBook(state, appId);
    const deployer = createDeployer({
      app: { appId, appName: appId },
      surface: () => ({ hosts: { staging: [], production: [] }, isDefault: false }),
      sessionSecret: () => "5e".repeat(32),
      fleet: {
        want: () => undefined,
        onChange: () => undefined,
        readyPoolKeys: () => [],
        readyInstanceIds: () => ["i1"],
        failureOf: () => null,
        settled: async () => pause().then(() => new Map()),
      } as Partial<Fleet> as Fleet, // What a deployer asks of it.
      instanceCounts: INSTANCE_COUNTS,
      snapshots: {
        read: async () => null,
        publish: async () => 1,
        remove: async () => undefined,
        gatewayAccess: async () => ({ url: "", jwt: "", seed: "" }),
        applied: async () => undefined,
      },
      report: (text) => expect.fail(text),
      announce: () => undefined,
      variables: {
        folder: { live: { staging: {}, production: {} }, next: {} },
        set: { staging: {}, production: {} },
        keep: async () => undefined,
      },
      book,
    });
    const app = { appId, name: appId, book, deployer } as Partial<HostedApp> as HostedApp; // What a collector asks of it.
    apps.set(appId, app);
    return app;
  };
  const collector: Collector = createCollector({
    hosting: { all: () => [...apps.values()] },
    engine,
    shop: { collect: async () => ({ count: 2, bytes: 5 }) },
    sitesFolder: "/nonexistent/sites",
    used,
    clock,
    report: (text) => expect.fail(text),
  });
  return {
    clock,
    builds,
    running,
    hooks,
    appOf,
    collector,
    /** A release of one function of this build, on staging when it resolves. */
    async deploy(appId: string, buildId: string): Promise<string> {
      clock.now += 1;
      const source: BuildSource = { buildId, functionName: "src/http/get-index", files: [] };
      const plan = {
        functions: [{ release: releaseFunction({ buildId }), source }],
        site: null,
        proxyUrls: {},
      } as Partial<AppPlan> as AppPlan; // What makeRelease reads of it.
      return used.during(async (onUse) => {
        const { release } = await makeRelease(plan, { appId, engine, onUse, clock, sitesFolder: "/nonexistent/sites" });
        await appOf(appId).deployer.deploy(release, {
          folder: { staging: {}, production: {} },
          origin: { by: "ann", commit: null, message: null, deliveryId: `${appId}-${clock.now}` },
          isWanted: () => true,
          onRecorded: () => undefined,
        });
        return release.releaseId;
      });
    },
  };
}

const NOW = { keptMs: 0, graceMs: 0 };
const COUNT = RELEASE_COUNT_KEPT + 5;

describe("a collection", () => {
  it("forgets old releases, and removes builds that none of any app names any more", async () => {
    const { deploy, appOf, builds, collector, clock } = world();
    for (let index = 0; index < COUNT; index += 1) await deploy("shop", `b${index}`);
    await deploy("blog", "b1");
    clock.now += 1;
    expect(await collector.collect(NOW)).toEqual({
      releaseCount: 5,
      buildCount: 4,
      siteCount: 0,
      installCount: 2,
      outdatedCount: 1,
      bytesFreed: 4 * 10 + 5 + 7,
    });
    expect([...builds.keys()].slice(0, 2)).toEqual(["b1", "b5"]);
    expect(await appOf("shop").book.list()).toHaveLength(RELEASE_COUNT_KEPT);
  });

  it("spares what was made or used within the hour, and what was delivered within two weeks, unless it is told otherwise", async () => {
    const { deploy, builds, collector, clock } = world();
    for (let index = 0; index < COUNT; index += 1) await deploy("shop", `b${index}`);
    expect(await collector.collect()).toMatchObject({ releaseCount: 0, buildCount: 0 });
    expect(await collector.collect({ keptMs: 0 })).toMatchObject({ releaseCount: 5, buildCount: 0 });
    clock.now += BUILD_GRACE_MS - COUNT;
    expect(await collector.collect()).toMatchObject({ releaseCount: 0, buildCount: 0 });
    clock.now += COUNT;
    expect(await collector.collect()).toMatchObject({ releaseCount: 0, buildCount: 5 });
    expect(builds.size).toBe(RELEASE_COUNT_KEPT);
    clock.now += RELEASE_KEPT_MS;
    expect(await collector.collect()).toMatchObject({ releaseCount: 0, buildCount: 0 });
  });

  it("does not count what an instance kept", async () => {
    const { deploy, builds, running, collector, clock } = world();
    for (let index = 0; index < COUNT; index += 1) await deploy("shop", `b${index}`);
    running.add("b0");
    clock.now += 1;
    expect(await collector.collect(NOW)).toMatchObject({ buildCount: 4 });
    expect(builds.has("b0")).toBe(true);
    running.clear();
    expect(await collector.collect(NOW)).toMatchObject({ buildCount: 1 });
  });

  it("leaves a build that a deploy has begun to use since it was chosen to go", async () => {
    const { deploy, builds, hooks, collector, clock } = world();
    const count = RELEASE_COUNT_KEPT + 12; // More than are removed at the same time.
    for (let index = 0; index < count; index += 1) await deploy("shop", `b${index}`);
    clock.now += 1;
    let deploying: Promise<string> | null = null;
    hooks.removing = async () => void (await (deploying ??= deploy("shop", "b11"))); // From beginning to end.
    expect(await collector.collect(NOW)).toMatchObject({ releaseCount: 12, buildCount: 11 });
    expect(deploying).not.toBeNull();
    expect(builds.has("b11")).toBe(true);
  });

  it("is one at a time, and none any more when it is closed", async () => {
    const { deploy, collector, clock } = world(async () => turnOfLoop());
    for (let index = 0; index < COUNT; index += 1) await deploy("shop", `b${index}`);
    clock.now += 1;
    const both = await Promise.all([collector.collect(NOW), collector.collect(NOW)]);
    expect(both.map(({ buildCount }) => buildCount)).toEqual([5, 0]);
    await collector.close();
    await expect(collector.collect(NOW)).rejects.toMatchObject({ code: "NOT_RUNNING" });
  });
});

const MANY_COUNT = RELEASE_COUNT_KEPT + 20; // More builds go than are removed at the same time.
const SEEDS = Array.from({ length: 60 }, (_, index) => index);

describe("a deploy, a promote and a rollback at the moment of a collection", () => {
  it.each(SEEDS)("lose neither a release nor a build, whatever comes first (%i)", async (seed) => {
    const chance = chanceOf(seed);
    const pause = async (): Promise<void> => {
      for (let left = chance.below(4); left > 0; left -= 1) await turnOfLoop();
    };
    const own = world(pause);
    const { deployer, book } = own.appOf("shop");
    const releases: string[] = [];
    for (let index = 0; index < MANY_COUNT; index += 1) releases.push(await own.deploy("shop", `b${index}`));
    await deployer.promote(releases[MANY_COUNT - 2] ?? "");
    const state = { isOver: false };
    const collecting = (async () => {
      while (!state.isOver) {
        own.clock.now += 1;
        await own.collector.collect(NOW);
        await pause();
      }
    })();
    // Among them some that are about to be forgotten, whose builds are about to be removed.
    for (let turn = 0; turn < 8; turn += 1) {
      const index = chance.below(20);
      const [release] = await Promise.all([
        own.deploy("shop", `b${index}`),
        deployer.promote(releases[chance.below(MANY_COUNT)] ?? "").catch(unlessForgotten),
        deployer.rollback("production", null).catch(unlessForgotten),
      ]);
      expect(release).toBe(releases[index]);
      for (const environment of ["staging", "production"] as const) {
        const live = deployer.live(environment)?.releaseId ?? "";
        expect((await book.pointer(environment))?.releaseId).toBe(live);
        const found = await book.find(live);
        expect(found).not.toBeNull();
        expect([...own.builds.keys()]).toEqual(expect.arrayContaining(found?.release.functions.map(({ buildId }) => buildId) ?? []));
      }
    }
    state.isOver = true;
    await collecting;
    const named = (await book.list()).flatMap(({ release }) => release.functions.map(({ buildId }) => buildId));
    expect([...own.builds.keys()]).toEqual(expect.arrayContaining(named));
  });
});

/** What was forgotten before its turn came cannot be gone back to. */
function unlessForgotten(cause: unknown): void {
  expect(cause).toMatchObject({ code: expect.stringMatching(/^(RELEASE_NOT_FOUND|NOTHING_TO_ROLL_BACK)$/) as string });
}

// What is given back of the disk: releases and builds that nothing needs go, and whatever runs, or can be gone back to, does not notice.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type ApiClient, connectApi } from "../../orchestrator/api/client.ts";
import { checkedAnswer, BEGUN_DELIVERY, COLLECTED, type Collected, DELIVERY, RELEASES } from "../../orchestrator/commands/answers.ts";
import { packFolder } from "../../orchestrator/sources/pack-folder.ts";
import { RELEASE_COUNT_KEPT, ROLLBACK_COUNT_KEPT } from "../../runtime-image/contract/limits.ts";
import { docker } from "../support/docker-rig.ts";
import { type HostingRig, hostForSuite } from "../support/hosting-rig.ts";
import { loadDuring } from "../support/load.ts";
import { handler, writeFiles } from "../support/platform.ts";

const says = (text: string): string => handler(`return { statusCode: 200, body: ${JSON.stringify(text)} };`);
const appOf = (text: string): Record<string, string> => ({
  "app.arc": "@app\nshop\n\n@http\nget /\nget /about\n",
  "src/http/get-index/index.js": says(text),
  "src/http/get-about/index.js": says("about"),
});
const COUNT = RELEASE_COUNT_KEPT + 5;
const TURN_COUNT = 5;
const LOAD = { host: "shop.localhost", path: "/", connectionCount: 4, intervalMs: 15 } as const;

function owner(rig: HostingRig) {
  const api = async (): Promise<ApiClient> => connectApi({ port: rig.platform.ports.api, home: rig.platform.home });
  return {
    /** Resolves with its release when it is on staging. */
    async deploy(folder: string, app: string): Promise<string> {
      const client = await api();
      const { archive } = await packFolder(folder, { signal: AbortSignal.timeout(30_000) });
      const { deliveryId } = checkedAnswer(BEGUN_DELIVERY, await client.upload(`/api/deliveries?app=${app}`, archive), "POST");
      await client.lines(`/api/deliveries/${deliveryId}/log?follow=true`, () => undefined, AbortSignal.timeout(60_000));
      const { state, releaseId, detail } = checkedAnswer(DELIVERY, await client.get(`/api/deliveries/${deliveryId}`), "GET");
      if (state !== "green" || releaseId === null) throw new Error(`the delivery is ${state}: ${detail}`);
      return releaseId;
    },
    collect: async (): Promise<Collected> =>
      checkedAnswer(COLLECTED, await (await api()).post("/api/collect?keptMs=0&graceMs=0"), "POST /api/collect"),
    promote: async (release: string): Promise<unknown> => (await api()).post(`/api/promote?app=shop&release=${release}`),
    async releases(): Promise<string[]> {
      const { releases } = checkedAnswer(RELEASES, await (await api()).get("/api/releases?app=shop&count=100"), "GET");
      return releases.map(({ releaseId }) => releaseId);
    },
    disk: async (): Promise<unknown> => (await api()).get("/api/disk"),
  };
}

describe("a platform that was deployed to many times, on engine process", () => {
  const rig = hostForSuite({ engine: "process" });
  const builds = async (): Promise<string[]> =>
    (await readdir(join(rig.platform.home, "builds"), { withFileTypes: true })).filter((one) => one.isDirectory()).map(({ name }) => name);
  const deployed: string[] = []; // Releases, the first one first; that of text "n" at n.
  const textOf = (release: string): string => `text ${deployed.indexOf(release)}`;
  let folder = "";
  const deployText = async (index: number): Promise<string> => {
    await writeFiles(folder, appOf(`text ${index}`));
    return owner(rig).deploy(folder, "shop");
  };

  it("forgets what nothing keeps, removes its builds, and disturbs no visitor", async () => {
    const { deploy: _, ...platform } = owner(rig);
    folder = await rig.folder(appOf(""));
    await rig.json("app", "create", "shop");
    for (let index = 0; index < COUNT; index += 1) {
      deployed.push(await deployText(index));
      if (index === 2 || index === 3) await platform.promote(deployed[index] ?? ""); // Production goes from one to the other.
    }
    expect((await platform.releases()).toSorted()).toEqual(deployed.toSorted());
    const before = await builds();
    expect(before).toHaveLength(deployed.length + 1); // "about" is the same in all of them.

    const { ports } = rig.platform;
    const staging = await loadDuring({ ...LOAD, port: ports.staging }, async () => {
      const production = await loadDuring({ ...LOAD, port: ports.production }, async () => {
        expect(await platform.collect()).toMatchObject({ releaseCount: 3, buildCount: 3 });
      });
      expect(production).toMatchObject({ failures: [], texts: new Set(["text 3"]) });
    });
    expect(staging).toMatchObject({ failures: [], texts: new Set([`text ${deployed.length - 1}`]) });

    // Live on production and what it would go back to are older than the latest twenty.
    const kept = deployed.filter((_release, index) => index === 2 || index === 3 || index >= deployed.length - RELEASE_COUNT_KEPT);
    expect((await platform.releases()).toSorted()).toEqual(kept.toSorted());
    expect(await builds()).toHaveLength(kept.length + 1);
    expect(await platform.collect()).toEqual({
      releaseCount: 0,
      buildCount: 0,
      siteCount: 0,
      installCount: 0,
      outdatedCount: 0,
      bytesFreed: 0,
    });
    expect((await rig.run("rollback", deployed[0] ?? "", "--app", "shop")).stderr).toContain("RELEASE_NOT_FOUND");
  });

  it("still goes to each release that is left, under load and without a failure", async () => {
    const { promote, releases } = owner(rig);
    const left = await releases();
    const { failures, answeredCount } = await loadDuring({ ...LOAD, port: rig.platform.ports.production }, async () => {
      for (const release of left) {
        await promote(release);
        expect((await rig.visit("production", "shop")).text).toBe(textOf(release));
      }
    });
    expect(failures).toEqual([]);
    expect(answeredCount).toBeGreaterThan(100);
    await rig.ok("rollback", "--app", "shop", "--environment", "production");
    expect((await rig.visit("production", "shop")).text).toBe(textOf(left.at(-2) ?? ""));
  });

  it("loses no build to a collection that looks at the moment in which an old text is deployed again", async () => {
    const { collect, releases, promote } = owner(rig);
    const [one = "", other = ""] = await releases();
    // Of production nothing old is kept any more, so that only the latest and what staging ran are.
    for (let turn = 0; turn < ROLLBACK_COUNT_KEPT; turn += 1) for (const release of [one, other]) await promote(release);
    const state = { isOver: false, buildCount: 0, releaseCount: 0, turns: 0 };
    const ran: string[] = [];
    const put = async (index: number): Promise<string> => {
      const release = await deployText(index);
      ran.push(`text ${index}`);
      expect((await rig.visit("staging", "shop")).text).toBe(`text ${index}`);
      expect(await releases()).toContain(release);
      return release;
    };
    const collecting = (async () => {
      while (!state.isOver) {
        const { buildCount, releaseCount } = await collect();
        state.buildCount += buildCount;
        state.releaseCount += releaseCount;
        state.turns += 1;
      }
    })();
    try {
      for (let turn = 0; turn < TURN_COUNT; turn += 1) {
        await put(COUNT + turn); // With each new one an old one is just about to go, or has just gone:
        expect(await put(turn + COUNT - RELEASE_COUNT_KEPT)).toBe(deployed[turn + COUNT - RELEASE_COUNT_KEPT]);
      }
    } finally {
      state.isOver = true;
      await collecting;
    }
    expect(state.turns).toBeGreaterThan(5);
    expect(state.releaseCount).toBeGreaterThanOrEqual(TURN_COUNT);
    expect(state.buildCount).toBeGreaterThanOrEqual(TURN_COUNT);
    // Whoever starts anew needs every build of what is live, and its record.
    await rig.platform.stop();
    await rig.startAgain();
    expect((await rig.visit("staging", "shop")).text).toBe(ran.at(-1));
    for (let back = 1; back < TURN_COUNT; back += 1) {
      await rig.json("rollback", "--app", "shop", "--environment", "staging");
      expect((await rig.visit("staging", "shop")).text).toBe(ran.at(-1 - back));
    }
  });

  it("shows in doctor how much room it takes, and that a removed app gives its own back", async () => {
    const { stdout } = await rig.run("doctor");
    expect(stdout).toContain(`${rig.platform.home} takes`);
    expect(stdout).toMatch(/ {2}builds +\d+\.\d [KM]B/);
    const buildCount = (await builds()).length;
    expect(await owner(rig).disk()).toMatchObject({ home: rig.platform.home, isWhole: true, engine: { kind: "process", buildCount } });
    await rig.ok("app", "rm", "shop", "--yes");
    expect(await owner(rig).collect()).toMatchObject({ releaseCount: 0, buildCount });
    expect(await builds()).toEqual([]);
    expect(await owner(rig).disk()).toMatchObject({ engine: { buildCount: 0, buildBytes: 0 } });
  });
});

describe("a platform on engine docker", () => {
  const rig = hostForSuite({ engine: "docker" });
  const images = async (): Promise<string[]> => {
    const filter = ["--filter", "label=orchestrator.role=build", "--filter", `label=orchestrator.home=${rig.platform.home}`];
    return (await docker("image", "ls", "--format", "{{.Tag}}", ...filter)).split("\n").filter((line) => line !== "");
  };

  it("removes the images of builds that nothing names any more, and of no other, while visitors are served", async () => {
    const { deploy, collect, promote } = owner(rig);
    for (const name of ["shop", "blog"]) await rig.json("app", "create", name);
    const one = await deploy(await rig.folder(appOf("one")), "shop");
    await promote(one);
    await deploy(await rig.folder(appOf("two")), "shop");
    await deploy(await rig.folder(appOf("of the blog")), "blog");
    expect(await images()).toHaveLength(4); // "about" is the same in all of them.
    await rig.ok("app", "rm", "blog", "--yes");
    const { failures, texts } = await loadDuring({ ...LOAD, port: rig.platform.ports.staging }, async () => {
      expect(await collect()).toMatchObject({ releaseCount: 0, buildCount: 1 });
      await rig.ok("rollback", one, "--app", "shop", "--environment", "staging");
    });
    expect(failures).toEqual([]);
    expect([...texts].toSorted()).toEqual(["one", "two"]);
    expect(await images()).toHaveLength(3);
    expect(await owner(rig).disk()).toMatchObject({ engine: { kind: "docker", buildCount: 3 } });
  });
});

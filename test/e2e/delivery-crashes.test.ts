// Deliveries and the death of the orchestrator; deliveries that overlap; visitors who must notice none of it.
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { hostForSuite } from "../support/hosting-rig.ts";
import { loadDuring } from "../support/load.ts";
import { handler } from "../support/platform.ts";
import { until } from "../support/until.ts";

const says = (text: string): string => handler(`return { statusCode: 200, body: ${JSON.stringify(text)} };`);
const app = (text: string, more: Record<string, string> = {}): Record<string, string> => ({
  "app.arc": "@app\nshop\n\n@http\nget /\n",
  "src/http/get-index/index.js": says(text),
  ...more,
});
const withScript = (name: string, code: string): Record<string, string> => ({
  "package.json": JSON.stringify({ scripts: { [name]: "node script.mjs" } }),
  "script.mjs": code,
});

/** A script that takes so long. */
const taking = (ms: number): string => `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${ms});`;

interface Shown {
  readonly deliveryId: string;
  readonly state: string;
  readonly steps: readonly { readonly step: string; readonly state: string }[];
}

describe("deliveries", () => {
  const rig = hostForSuite({ engine: "process" });
  const deliveries = async (): Promise<Shown[]> => {
    const { deliveries: listed } = await rig.json("deliveries", "--app", "shop");
    return listed as Shown[]; // What the command prints.
  };
  const kill = async (): Promise<void> => {
    rig.platform.process.kill("SIGKILL");
    await once(rig.platform.process, "exit");
  };
  const begin = async (files: Record<string, string>): Promise<string> =>
    (await rig.run("deploy", await rig.folder(files), "--app", "shop", "--detach")).stdout.trim();
  const stepOf = async (deliveryId: string, step: string): Promise<string | undefined> =>
    (await deliveries()).find((one) => one.deliveryId === deliveryId)?.steps.find((one) => one.step === step)?.state;
  const stateOf = async (deliveryId: string): Promise<string | undefined> =>
    (await deliveries()).find((one) => one.deliveryId === deliveryId)?.state;

  it("that an orchestrator died in are finished by the next one, and what is live answers all the while", async () => {
    await rig.json("app", "create", "shop");
    await rig.ok("deploy", await rig.folder(app("one")), "--app", "shop");
    const { ports } = rig.platform;
    const seen = await loadDuring(
      { port: ports.staging, host: "shop.localhost", path: "/", connectionCount: 8, intervalMs: 10 },
      async () => {
        const id = await begin(app("two", withScript("test", taking(1500))));
        await until(async () => (await stateOf(id)) === "running", { timeoutMs: 10_000 });
        await kill();
        await rig.startAgain();
        await until(async () => (await stateOf(id)) === "green", { timeoutMs: 60_000 });
        await until(async () => (await rig.visit("staging", "shop")).text === "two", { timeoutMs: 5_000 });
      },
    );
    expect(seen.failures).toEqual([]);
    expect(seen.texts).toEqual(new Set(["one", "two"]));
  });

  it.each(["verify", "build", "lint", "test", "deploy"])("survive the orchestrator's death in the step %s", async (step) => {
    const scripts = Object.fromEntries(["build", "lint", "test"].map((name) => [name, `node script.mjs ${name}`]));
    const files = {
      ...app(`after ${step}`),
      "package.json": JSON.stringify({ scripts }),
      "script.mjs": `if (process.argv[2] === "${step}") ${taking(700)}`,
      // A function that takes its time to start.
      ...(step === "deploy" ? { "src/http/get-index/index.js": `${taking(700)}\n${says("after deploy")}` } : {}),
    };
    const id = await begin(files);
    if (step !== "verify") await until(async () => (await stepOf(id, step)) === "running", { timeoutMs: 20_000 });
    await kill();
    await rig.startAgain();
    await until(async () => (await stateOf(id)) === "green", { timeoutMs: 60_000 });
    expect((await rig.visit("staging", "shop")).text).toBe(`after ${step}`);
  });

  it("that bring the orchestrator down each time are given up after three tries", async () => {
    const id = await begin(app("bad", withScript("test", taking(60_000))));
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await until(async () => (await stateOf(id)) === "running", { timeoutMs: 20_000 });
      await kill();
      await rig.startAgain();
    }
    await until(async () => (await stateOf(id)) === "red", { timeoutMs: 20_000 });
    expect((await rig.visit("staging", "shop")).text).toBe("after deploy");
  });

  it("overlap: both are built, and the later one is live, whichever is done first", async () => {
    const slow = await begin(app("earlier", withScript("test", taking(3000))));
    const quick = await begin(app("later"));
    await until(async () => (await stateOf(quick)) === "green", { timeoutMs: 30_000 });
    await until(async () => (await stateOf(slow)) === "superseded", { timeoutMs: 30_000 });
    expect((await rig.visit("staging", "shop")).text).toBe("later");
  });

  it("can be called off", async () => {
    const id = await begin(app("never", withScript("build", taking(60_000))));
    await until(async () => (await stateOf(id)) === "running", { timeoutMs: 10_000 });
    expect(await rig.json("delivery", "cancel", id)).toMatchObject({ state: "cancelled" });
    expect((await rig.visit("staging", "shop")).text).toBe("later");
    expect((await rig.run("delivery", "cancel", id)).stderr).toContain("DELIVERY_OVER");
  });

  it("cost no visitor a request: ten of them, a promote, a rollback, another app's removal, a new gateway, a new orchestrator", async () => {
    await rig.json("app", "create", "other");
    await rig.ok("deploy", await rig.folder(app("other")), "--app", "other");
    await rig.json("promote", "--app", "shop");
    const { ports } = rig.platform;
    const load = (port: number) => ({ port, host: "shop.localhost", path: "/", connectionCount: 8, intervalMs: 10 });
    const work = async (): Promise<void> => {
      for (let round = 1; round <= 10; round += 1) await rig.ok("deploy", await rig.folder(app(`round ${round}`)), "--app", "shop");
      await rig.json("promote", "--app", "shop");
      await rig.json("rollback", "--app", "shop");
      await rig.ok("app", "rm", "other", "--yes");
      for (const environment of ["staging", "production"]) await rig.json("gateway", "restart", environment);
      await kill();
      await rig.startAgain();
      await rig.json("promote", "--app", "shop");
    };
    const production = loadDuring(load(ports.production), async () => {
      const staging = await loadDuring(load(ports.staging), work);
      expect(staging.failures).toEqual([]);
      expect(staging.texts.size).toBe(11);
    });
    const { failures, texts } = await production;
    expect(failures).toEqual([]);
    expect(texts).toEqual(new Set(["later", "round 10"]));
  });
});

// A platform on a server: its control plane is stopped, started and replaced by a later one, and visitors notice none of it.
import { once } from "node:events";
import { appendFile, cp, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hostForSuite, type HostingRig } from "../support/hosting-rig.ts";
import { containersOf, dockerLeftoversOf, processesOf, wallRulesOf } from "../support/leftovers.ts";
import { type LoadResult, loadDuring } from "../support/load.ts";
import { CHECKOUT, ENGINE_NAMES, handler } from "../support/platform.ts";
import { until } from "../support/until.ts";

const LEAVE_RUNNING = ["--leave-running"];
const SCRIPT_MS = 1_500;

const app = (text: string, more: Record<string, string> = {}): Record<string, string> => ({
  "app.arc": "@app\nshop\n\n@http\nget /\n",
  "src/http/get-index/index.js": handler(`return { body: ${JSON.stringify(text)} };`),
  ...more,
});
const SLOW_SCRIPT = {
  "package.json": JSON.stringify({ scripts: { test: "node script.mjs" } }),
  "script.mjs": `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${SCRIPT_MS});`,
};

/** As a supervisor does that leaves everything else alone. */
async function sigterm({ platform: { process: main } }: HostingRig): Promise<number | null> {
  main.kill("SIGTERM");
  await once(main, "exit");
  return main.exitCode;
}

const visited = (rig: HostingRig, work: () => Promise<void>): Promise<LoadResult> =>
  loadDuring({ port: rig.platform.ports.staging, host: "shop.localhost", path: "/", connectionCount: 8, intervalMs: 10 }, work);

/** All that runs of it beside the control plane: broker, gateways, instances. */
async function whatRuns(rig: HostingRig): Promise<string[]> {
  const { home, process: main } = rig.platform;
  const processes = (await processesOf(home)).filter(({ pid, command }) => pid !== main.pid && !command.includes("bin.mjs"));
  return [...processes.map(({ pid }) => `${pid}`), ...(await containersOf(home))].toSorted();
}

describe.each(ENGINE_NAMES)("a platform that leaves its apps running, on engine %s", (engine) => {
  const rig = hostForSuite({ engine, flags: LEAVE_RUNNING });

  beforeAll(async () => {
    await rig.json("app", "create", "shop");
    await rig.ok("deploy", await rig.folder(app("one")), "--app", "shop", "--promote");
  });

  it("is stopped and started again while visitors come, and takes over the very processes that there were", async () => {
    const before = await whatRuns(rig);
    expect(before.length).toBeGreaterThanOrEqual(6); // Broker, two gateways, three instances.
    const { failures, texts } = await visited(rig, async () => {
      expect(await sigterm(rig)).toBe(0);
      expect(await whatRuns(rig)).toEqual(before);
      await rig.startAgain();
    });
    expect(failures).toEqual([]);
    expect(texts).toEqual(new Set(["one"]));
    expect(await whatRuns(rig)).toEqual(before);
    expect((await rig.visit("production", "shop")).text).toBe("one");
  });

  // What is left of builders differs most where they are containers.
  it.each(engine === "docker" ? [engine] : [])(
    "goes on with a delivery that it was stopped in, and does not count that as a try that failed",
    async () => {
      const { failures } = await visited(rig, async () => {
        const { deliveryId } = await rig.json("deploy", await rig.folder(app("two", SLOW_SCRIPT)), "--app", "shop", "--detach");
        const delivery = async (): Promise<{ readonly state: string; readonly tryCount: number }> => {
          const { deliveries } = await rig.json("deliveries", "--app", "shop");
          const listed = deliveries as { readonly deliveryId: string; readonly state: string; readonly tryCount: number }[]; // What the command prints.
          return listed.find((one) => one.deliveryId === deliveryId) ?? { state: "missing", tryCount: 0 };
        };
        await until(async () => (await delivery()).state === "running", { timeoutMs: 10_000 });
        await sigterm(rig);
        await rig.startAgain();
        await until(async () => (await delivery()).state === "green", { timeoutMs: 30_000 });
        expect((await delivery()).tryCount).toBe(1);
      });
      expect(failures).toEqual([]);
      expect((await rig.visit("staging", "shop")).text).toBe("two");
    },
  );

  it("leaves nothing where it is stopped without that flag", async () => {
    await sigterm(rig);
    await rig.startAgain({ flags: [] });
    expect(await sigterm(rig)).toBe(0);
    expect(await processesOf(rig.platform.home)).toEqual([]);
    expect(await dockerLeftoversOf(rig.platform.home)).toEqual([]);
    const platformId = (await readFile(join(rig.platform.home, "platform-id"), "utf8")).trim();
    expect(await wallRulesOf(platformId)).toEqual([]);
  });
});

describe("a checkout that is replaced by a later one", () => {
  let checkout = "";
  afterAll(async () => rm(checkout, { recursive: true, force: true })); // After that of the rig, which needs it for its last stop.
  const rig = hostForSuite({ engine: "process", flags: LEAVE_RUNNING });

  beforeAll(async () => {
    checkout = await mkdtemp(join(tmpdir(), "orchestrator-checkout-"));
    for (const name of ["orchestrator", "gateway", "runtime-image", "package.json"])
      await cp(join(CHECKOUT, name), join(checkout, name), { recursive: true });
    for (const name of ["node_modules", ".tools"]) await symlink(join(CHECKOUT, name), join(checkout, name));
    await sigterm(rig);
    await rig.startAgain({ checkout });
    await rig.json("app", "create", "shop");
    await rig.ok("deploy", await rig.folder(app("one")), "--app", "shop");
  });
  const running = async (what: string): Promise<number[]> =>
    (await processesOf(rig.platform.home)).filter(({ command }) => command.includes(what)).map(({ pid }) => pid);

  it("has its gateways replaced without a failed request; broker and functions go on as they are", async () => {
    const [broker, gateways, instances] = await Promise.all(["nats-server", "gateway/main.ts", "/main.js"].map(running));
    const { failures } = await visited(rig, async () => {
      await sigterm(rig);
      for (const file of ["gateway/front.ts", "runtime-image/runtime/invoke.ts"]) await appendFile(join(checkout, file), "// Later.\n");
      await appendFile(join(checkout, "runtime-image/runtime/main.ts"), 'globalThis.isLater = "later";\n');
      await rig.startAgain();
      await until(async () => (await running("gateway/main.ts")).every((pid) => !gateways?.includes(pid)), { timeoutMs: 20_000 });
    });
    expect(failures).toEqual([]);
    expect(await running("nats-server")).toEqual(broker);
    expect(await running("/main.js")).toEqual(instances);
  });

  it("runs functions on the new runtime with their next instances", async () => {
    const said = "return { body: String(globalThis.isLater) };";
    await rig.ok("deploy", await rig.folder(app("", { "src/http/get-index/index.js": handler(said) })), "--app", "shop");
    expect((await rig.visit("staging", "shop")).text).toBe("later");
  });
});

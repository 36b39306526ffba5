// How the orchestrator keeps a gateway: adopts it, has it replaced under load, finds the one that listens at any moment, and starts it again.
import { once } from "node:events";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type GatewayProcess, runningGateway, startGateway } from "../../orchestrator/gateways/gateway-process.ts";
import { createControlBus, type ControlBus } from "../../orchestrator/nats/control-bus.ts";
import { readState } from "../../orchestrator/processes/detached.ts";
import { type GatewayConfig, HAND_OVER_SIGNAL } from "../../runtime-image/contract/gateway-config.ts";
import { HEADER_BYTES_MAX, REQUEST_BODY_BYTES_MAX, TARGET_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { fn, freePort, startInstance, text, type ScriptedInstance } from "../support/gateway-world.ts";
import { pidsOf } from "../support/hand-overs.ts";
import { type SteadyLoad, startLoad } from "../support/steady-load.ts";
import { startTestBroker, type TestBroker } from "../support/test-broker.ts";
import { until } from "../support/until.ts";

const MAIN = join(import.meta.dirname, "../../gateway/main.ts");

let test: TestBroker;
let bus: ControlBus;
let instance: ScriptedInstance;
let config: GatewayConfig;
let folder: string;
let mainFile: string; // Only imports the real one, so that it can be missing.
let configFile: string;
let said: string[];
let kept: GatewayProcess[];
let load: SteadyLoad | null;

beforeAll(async () => {
  test = await startTestBroker();
  const { url } = test.broker;
  bus = await createControlBus({ url, signer: test.signer, onError: () => {} });
  await bus.ensureAppAccount("a1", "staging");
  const credentials = await test.signer.instanceCredentials("a1", "staging", "i1");
  instance = await startInstance({ url, credentials }, "i1", ({ header, respond }) => text(respond, header.path));
  await bus.publishSnapshot("staging", {
    appId: "a1",
    appName: "a1",
    hosts: [],
    isDefault: true,
    deployment: {
      kind: "live",
      releaseId: "r",
      broker: { url, ...(await test.signer.gatewayCredentials("a1", "staging")) },
      functions: [fn("ANY", "/*", { instanceIds: ["i1"] })],
    },
  });
});

afterAll(async () => {
  await instance.kill();
  await bus.close();
  await test.close();
});

beforeEach(async () => {
  const { url } = test.broker;
  folder = join(test.home, `gateways-${await freePort()}`);
  configFile = join(folder, "staging.json");
  mainFile = join(test.home, "code", "main.link.mjs");
  await mkdir(join(test.home, "code"), { recursive: true });
  await writeFile(mainFile, `import ${JSON.stringify(MAIN)};\n`);
  said = [];
  kept = [];
  load = null;
  config = {
    v: 1,
    gatewayId: "g1",
    environment: "staging",
    listen: [{ host: "127.0.0.1", port: await freePort() }],
    trustedProxies: [],
    broker: { url, ...(await test.signer.gatewayPlatformCredentials("staging")) },
    sitesFolder: "/nonexistent/sites",
    limits: { requestBodyBytesMax: REQUEST_BODY_BYTES_MAX, headerBytesMax: HEADER_BYTES_MAX, targetBytesMax: TARGET_BYTES_MAX },
  };
});

afterEach(async () => {
  await load?.stop();
  await Promise.all(kept.map((gateway) => gateway.stop()));
  const left = await pidsOf(configFile);
  if (left.length > 0) throw new Error(`gateways are left: ${left.join(", ")}`);
});

/** As an orchestrator does when it starts. */
async function keep(change: Partial<GatewayConfig> = {}): Promise<GatewayProcess> {
  const gateway = await startGateway({
    folder,
    mainFile,
    config: { ...config, ...change },
    status: async () => bus.gatewayStatus("staging", { timeoutMs: 500, gatewayId: "g1" }),
    report: (line) => void said.push(line),
  });
  kept.push(gateway);
  return gateway;
}

/** As a later orchestrator does, after the one before was killed. */
async function keepAgain(change: Partial<GatewayConfig> = {}): Promise<GatewayProcess> {
  for (const gateway of kept.splice(0)) gateway.release();
  return keep(change);
}

const portOf = ({ listen }: Pick<GatewayConfig, "listen">): number => listen[0]?.port ?? 0;
const listener = async (): Promise<number> => (await bus.gatewayStatus("staging", { timeoutMs: 500, gatewayId: "g1" }))?.pid ?? 0;
const written = async (): Promise<number> => (await readState(join(folder, "staging.state.json")))?.identity.pid ?? 0;
const statusAt = async (port: number): Promise<number> =>
  fetch(`http://127.0.0.1:${port}/x`, { headers: { connection: "close" } }).then(
    ({ status }) => status,
    () => 0,
  );

async function beginLoad(): Promise<SteadyLoad> {
  const running = startLoad({ port: portOf(config), path: "/load" });
  load = running;
  await until(() => running.counts.answered > 50, { timeoutMs: 5_000 });
  return running;
}

describe("a gateway that runs", () => {
  it("is adopted by the next orchestrator where its config is the same", async () => {
    await keep();
    const pid = await listener();
    await keepAgain();
    expect([await listener(), await written(), (await runningGateway(folder, "staging"))?.pid]).toEqual([pid, pid, pid]);
    expect(said).toEqual([]);
  });

  it("is replaced under load where its config is another one", async () => {
    await keep();
    const pid = await listener();
    const running = await beginLoad();
    await keepAgain({ trustedProxies: ["10.0.0.0/8"] });
    const successor = await listener();
    expect(successor).not.toBe(pid);
    expect(await written()).toBe(successor);
    await keepAgain({ trustedProxies: ["10.0.0.0/8"] });
    expect(await listener()).toBe(successor);
    await running.stop();
    expect(running.failures).toEqual([]);
    expect(said).toEqual([]);
  });

  it("is replaced under load as often as it is asked for", async () => {
    const gateway = await keep();
    const pids = [await listener()];
    const running = await beginLoad();
    for (let round = 0; round < 3; round += 1) {
      await gateway.restart();
      pids.push(await listener());
    }
    await Promise.all([gateway.restart(), gateway.restart()]);
    pids.push(await listener());
    await running.stop();
    expect(running.failures).toEqual([]);
    expect(new Set(pids).size).toBe(5);
    expect(await written()).toBe(pids.at(-1));
  });

  it("serves on where its code is missing, and the restart says so", async () => {
    const gateway = await keep();
    const pid = await listener();
    const running = await beginLoad();
    await rm(mainFile);
    await expect(gateway.restart()).rejects.toMatchObject({
      code: "GATEWAY_NOT_REPLACED",
      message: expect.stringContaining("It ended with exit code 1 before it served.") as unknown,
      detail: { problems: expect.arrayContaining([expect.stringContaining("main.link.mjs") as unknown]) as unknown },
    });
    expect(await listener()).toBe(pid);
    await running.stop();
    expect(running.failures).toEqual([]);
  });

  it("serves on with its earlier settings where it cannot have the new ones, and would start again with them", async () => {
    await keep();
    const pid = await listener();
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const address = taken.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const running = await beginLoad();
    const before = await readFile(configFile, "utf8");
    await keepAgain({ listen: [...config.listen, { host: "127.0.0.1", port }] });
    await running.stop();
    taken.close();
    expect(running.failures).toEqual([]);
    expect(await listener()).toBe(pid);
    expect(said).toEqual([expect.stringContaining(`the gateway of staging serves on with its earlier settings.`)]);
    expect(said[0]).toContain(`127.0.0.1:${port} is taken.`);
    expect(await readFile(configFile, "utf8")).toBe(before);
  });

  it("is stopped first where its addresses are in the way of the new ones, and where it is on another broker", async () => {
    await keep();
    const pid = await listener();
    await keepAgain({ listen: [{ host: "0.0.0.0", port: portOf(config) }] });
    expect(await listener()).not.toBe(pid);
    expect(said).toEqual([expect.stringContaining("its addresses are in the way of the new ones")]);
    expect(await statusAt(portOf(config))).toBe(200);
    const file = await readFile(configFile, "utf8");
    await writeFile(configFile, file.replace(test.broker.url, "nats://127.0.0.1:1"));
    await keepAgain();
    expect(said.at(-1)).toContain("it is on another broker");
  });
});

describe("a gateway that was replaced without its orchestrator", () => {
  const moments: readonly (readonly [string, (pid: number) => Promise<unknown>])[] = [
    ["at once", async () => undefined],
    ["while the successor starts", async () => until(async () => (await pidsOf(configFile)).length === 2, { timeoutMs: 5_000 })],
    ["once the successor listens", async (pid) => until(async () => ![0, pid].includes(await listener()), { timeoutMs: 10_000 })],
    ["when the one before is gone", async (pid) => until(async () => !(await pidsOf(configFile)).includes(pid), { timeoutMs: 20_000 })],
  ];

  it.each(moments)("is found by the next one %s, and kept", async (_when, moment) => {
    const first = await keep();
    const pid = await listener();
    const running = await beginLoad();
    first.release();
    process.kill(pid, HAND_OVER_SIGNAL);
    await moment(pid);
    await keepAgain();
    await until(async () => ![0, pid].includes(await listener()), { timeoutMs: 10_000, what: "the successor listens" });
    const successor = await listener();
    await until(async () => (await written()) === successor, { timeoutMs: 3_000, what: "the orchestrator has noticed" });
    await until(async () => (await pidsOf(configFile)).length === 1, { timeoutMs: 20_000, what: "the one before is gone" });
    expect(await listener()).toBe(successor);
    await running.stop();
    expect(running.failures).toEqual([]);
    expect(said).toEqual([]);
  });

  it("is replaced once more where the next orchestrator wants another config", async () => {
    const first = await keep();
    const pid = await listener();
    const running = await beginLoad();
    first.release();
    process.kill(pid, HAND_OVER_SIGNAL);
    await until(async () => (await pidsOf(configFile)).length === 2, { timeoutMs: 5_000 });
    await keepAgain({ trustedProxies: ["10.0.0.0/8"] });
    const status = await bus.gatewayStatus("staging", { timeoutMs: 500, gatewayId: "g1" });
    await keepAgain({ trustedProxies: ["10.0.0.0/8"] }); // It has what was wanted: nothing more happens.
    expect(await listener()).toBe(status?.pid);
    await running.stop();
    expect(running.failures).toEqual([]);
  });
});

describe("a gateway that is killed", () => {
  it("is back within a moment", async () => {
    await keep();
    const pid = await listener();
    const killedMs = performance.now();
    process.kill(pid, "SIGKILL");
    await until(async () => (await statusAt(portOf(config))) === 200, { timeoutMs: 10_000 });
    const refusedMs = performance.now() - killedMs;
    expect(refusedMs).toBeLessThan(5_000);
    expect(said).toEqual(["the gateway of staging ended; it is started again"]);
    expect(await written()).toBe(await listener());
  });

  it("is started again also while the one before finishes what it has", async () => {
    const gateway = await keep();
    const pid = await listener();
    const idle = await fetch(`http://127.0.0.1:${portOf(config)}/x`); // Its connection stays open.
    expect(idle.status).toBe(200);
    await gateway.restart();
    const successor = await listener();
    process.kill(successor, "SIGKILL");
    await until(async () => (await statusAt(portOf(config))) === 200, { timeoutMs: 10_000 });
    await until(async () => (await listener()) > 0, { timeoutMs: 3_000 });
    expect([pid, successor]).not.toContain(await listener());
  });

  it("in the middle of a hand-over is started again, and its successor is gone", async () => {
    await keep();
    const pid = await listener();
    process.kill(pid, HAND_OVER_SIGNAL);
    await until(async () => (await pidsOf(configFile)).length === 2, { timeoutMs: 5_000 });
    process.kill(pid, "SIGKILL");
    await until(async () => (await statusAt(portOf(config))) === 200, { timeoutMs: 10_000 });
    await until(async () => (await pidsOf(configFile)).length === 1, { timeoutMs: 5_000 });
    expect(await pidsOf(configFile)).toEqual([await listener()]);
  });

  it("and has a config that is no longer readable gets the one that is wanted", async () => {
    await keep();
    await writeFile(configFile, "{");
    process.kill(await listener(), "SIGKILL");
    await until(async () => (await statusAt(portOf(config))) === 200, { timeoutMs: 10_000 });
    expect(JSON.parse(await readFile(configFile, "utf8"))).toMatchObject(config);
  });
});

describe("the end", () => {
  it("of a gateway in the middle of a hand-over leaves nothing running", async () => {
    const gateway = await keep();
    const restarting = gateway.restart().catch((cause: unknown) => String(cause));
    await until(async () => (await pidsOf(configFile)).length === 2, { timeoutMs: 5_000 });
    await gateway.stop();
    expect(await restarting).toContain("It ended before its successor served.");
    expect(await pidsOf(configFile)).toEqual([]);
  });
});

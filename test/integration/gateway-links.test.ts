// When a gateway has a connection to an app's instances: once somebody asks for them, and not for ever.
import { afterAll, beforeAll, expect, it } from "vitest";
import { openAppUpstream, type AppUpstream } from "../../gateway/app-upstream.ts";
import { systemClock } from "../../gateway/clock.ts";
import type { Job } from "../../gateway/dispatch/job.ts";
import { createControlBus, type ControlBus } from "../../orchestrator/nats/control-bus.ts";
import type { BrokerAccess } from "../../runtime-image/contract/instance-manifest.ts";
import { GATEWAY_LINK_IDLE_MS } from "../../runtime-image/contract/limits.ts";
import { fn, startInstance, text, type ScriptedInstance } from "../support/gateway-world.ts";
import { startTestBroker, type TestBroker } from "../support/test-broker.ts";
import { until } from "../support/until.ts";

let test: TestBroker;
let bus: ControlBus;
let instance: ScriptedInstance;
let access: BrokerAccess;
const told: unknown[] = [];
const log = { info: () => undefined, error: (message: string) => void told.push(message) };

beforeAll(async () => {
  test = await startTestBroker();
  const { url } = test.broker;
  bus = await createControlBus({ url, signer: test.signer, onError: () => {} });
  await bus.ensureAppAccount("a1", "staging");
  const credentials = await test.signer.instanceCredentials("a1", "staging", "i1");
  instance = await startInstance({ url, credentials }, "i1", ({ header, respond }) => {
    if (header.path !== "/slow") return text(respond, header.path);
    setTimeout(() => text(respond, "slow"), 300);
  });
  access = { url, ...(await test.signer.gatewayCredentials("a1", "staging")) };
});

afterAll(async () => {
  await instance.kill();
  await bus.close();
  await test.close();
});

const socketCount = (): number => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;

function open(opensAtOnce: boolean): AppUpstream {
  const upstream = openAppUpstream({ appId: "a1", access, opensAtOnce, gatewayId: "g1", clock: systemClock, log });
  upstream.update([fn("GET", "/", { instanceIds: ["i1"], timeoutMs: 4 * GATEWAY_LINK_IDLE_MS })]);
  return upstream;
}

const REQUEST: Job["request"] = {
  v: 1,
  id: "r",
  method: "GET",
  path: "/",
  query: "",
  route: "GET /",
  params: null,
  headers: [],
  sourceIp: "127.0.0.1",
  scheme: "http",
  httpVersion: "1.1",
  startEpochMs: 0,
};

const ask = (upstream: AppUpstream, path: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const job: Job = {
      request: { ...REQUEST, path },
      body: new Uint8Array(0),
      isAbandoned: () => false,
      answer: (_, body) => resolve(Buffer.from(body).toString()),
      answerFromSite: () => reject(new Error("no site")),
      stream: () => null,
      fail: (code) => reject(new Error(code)),
    };
    upstream.submit("GET /", job);
  });

it("opens a link with the first request, and that request is answered", async () => {
  const before = socketCount();
  const upstream = open(false);
  upstream.sweep({ nowMs: 0, blockedMs: 0 });
  expect([upstream.isUp(), socketCount()]).toEqual([null, before]);
  expect(await ask(upstream, "/first")).toBe("/first");
  expect([upstream.isUp(), socketCount()]).toEqual([true, before + 1]);
  await upstream.close();
});

it("has one at once where a successor is to serve what the gateway before it serves", async () => {
  const upstream = open(true);
  expect(upstream.isUp()).toBe(false);
  await until(() => upstream.isUp() === true, { timeoutMs: 5_000 });
  await upstream.close();
});

it("ends the link of an app that nobody has asked for in a long time, and opens it again for who does", async () => {
  const before = socketCount();
  const upstream = open(false);
  expect(await ask(upstream, "/")).toBe("/");
  upstream.sweep({ nowMs: 1_000, blockedMs: 0 });
  upstream.sweep({ nowMs: 1_000 + GATEWAY_LINK_IDLE_MS - 1, blockedMs: 0 });
  expect(upstream.isUp()).toBe(true);
  upstream.sweep({ nowMs: 1_000 + GATEWAY_LINK_IDLE_MS, blockedMs: 0 });
  expect(upstream.isUp()).toBeNull();
  await until(() => socketCount() === before, { timeoutMs: 5_000 });
  expect(await ask(upstream, "/again")).toBe("/again");
  await upstream.close();
  expect(told).toEqual([]);
});

it("keeps the link while a request is on its way, however long ago it was sent", async () => {
  const upstream = open(false);
  expect(await ask(upstream, "/")).toBe("/");
  const slow = ask(upstream, "/slow");
  await until(() => instance.received.some(({ path }) => path === "/slow"), { timeoutMs: 5_000 });
  const nowMs = systemClock.nowMs();
  upstream.sweep({ nowMs, blockedMs: 0 });
  upstream.sweep({ nowMs: nowMs + 2 * GATEWAY_LINK_IDLE_MS, blockedMs: 2 * GATEWAY_LINK_IDLE_MS });
  expect(upstream.isUp()).toBe(true);
  expect(await slow).toBe("slow");
  await upstream.close();
});

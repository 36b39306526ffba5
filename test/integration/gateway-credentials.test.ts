// A gateway and an instance with the credentials that the platform really hands out, on the broker that it really runs.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createControlBus, type ControlBus } from "../../orchestrator/nats/control-bus.ts";
import { end, fn, gatewayListens, portIn, startGateway, startInstance, text, type GatewayChild } from "../support/gateway-world.ts";
import { startTestBroker, type TestBroker } from "../support/test-broker.ts";
import { until } from "../support/until.ts";

let test: TestBroker;
let bus: ControlBus;
let gateway: GatewayChild;
const folder = mkdtempSync(join(tmpdir(), "gateway-credentials-"));
const LARGE = Buffer.alloc(1_000_000, "x");

beforeAll(async () => {
  test = await startTestBroker();
  const { url } = test.broker;
  bus = await createControlBus({ url, signer: test.signer, onError: () => {} });
  await bus.ensureAppAccount("a1", "staging");
  gateway = startGateway(folder, { broker: { url, ...(await test.signer.gatewayPlatformCredentials("staging")) } });
  await gatewayListens(gateway);
});

afterAll(async () => {
  await end(gateway.child);
  await bus.close();
  await test.close();
  rmSync(folder, { recursive: true, force: true });
});

it("serves small and large bodies, notices a dead instance, and says how it is", async () => {
  const { url } = test.broker;
  const instance = await startInstance(
    { url, credentials: await test.signer.instanceCredentials("a1", "staging", "i1") },
    "i1",
    ({ header, body, respond }) => {
      if (header.path === "/large")
        respond({ v: 1, kind: "held", status: 200, headers: [], bodyBytes: LARGE.length, streamId: "s" }, LARGE);
      else if (header.path !== "/never") text(respond, `${header.route} ${body.length}`);
    },
  );
  const broker = { url, ...(await test.signer.gatewayCredentials("a1", "staging")) };
  const functions = [fn("ANY", "/", { instanceIds: ["i1"] })];
  const sequence = await bus.publishSnapshot("staging", {
    appId: "a1",
    appName: "a1",
    hosts: [],
    isDefault: true,
    deployment: { kind: "live", releaseId: "r", broker, functions },
  });
  const base = `http://127.0.0.1:${portIn(gateway.output())}`;

  await until(async () => (await fetch(base)).ok, { timeoutMs: 5_000 });
  expect(await (await fetch(base)).text()).toBe("ANY / 0");
  for (let round = 0; round < 2; round++) expect(await (await fetch(base, { method: "POST", body: LARGE })).text()).toBe("ANY / 1000000");
  expect(Buffer.from(await (await fetch(`${base}/large`)).arrayBuffer()).equals(LARGE)).toBe(true);
  expect(await bus.gatewayStatus("staging", { timeoutMs: 1_000, gatewayId: "g1" })).toMatchObject({
    listening: true,
    requestCount: 0,
    sequences: { a1: sequence },
  });

  const lost = fetch(`${base}/never`, { method: "POST", body: "x" });
  await until(() => instance.received.some(({ path }) => path === "/never"), { timeoutMs: 2_000 });
  await instance.kill();
  expect((await lost).status).toBe(502);
  await bus.removeSnapshot("staging", "a1");
  await until(async () => (await fetch(base)).status === 404, { timeoutMs: 5_000 });
  expect(gateway.output()).not.toContain('"level":"error"');
});

// What a gateway and the control plane can not do with their credentials: attacks against a real server.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Credentials } from "../../orchestrator/nats/accounts.ts";
import { createControlBus, type ControlBus } from "../../orchestrator/nats/control-bus.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { connectBare, type BareClient } from "../support/broker-client.ts";
import { startTestBroker, type TestBroker } from "../support/test-broker.ts";
import { until } from "../support/until.ts";

let test: TestBroker;
let bus: ControlBus;
const clients: BareClient[] = [];

const as = async (credentials: Credentials | Promise<Credentials>): Promise<BareClient> => {
  const client = await connectBare(test.broker.url, await credentials);
  clients.push(client);
  return client;
};

beforeAll(async () => {
  test = await startTestBroker();
  bus = await createControlBus({ url: test.broker.url, signer: test.signer, onError: () => {} });
  await bus.ensureAppAccount("a1", "staging");
});

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await bus.close();
  await test.close();
});

describe("a gateway", () => {
  const content = (appId: string) => ({ appId, appName: "hello", hosts: [], isDefault: true, deployment: { kind: "none" as const } });
  const reader = (environment: Environment): Promise<BareClient> => as(test.signer.gatewayPlatformCredentials(environment));

  it("watches its environment's snapshots, from the first one on and as they change", async () => {
    await bus.publishSnapshot("staging", content("w1"));
    const self = await reader("staging");
    const bucket = await self.nats.jetstream().views.kv("snapshot_staging", { bindOnly: true });
    const seen: string[] = [];
    const entries = await bucket.watch({ key: "w1" });
    const watching = (async () => {
      for await (const entry of entries)
        seen.push(`${entry.operation} ${entry.operation === "PUT" ? entry.json<{ appId: string }>().appId : entry.key}`);
    })();
    await until(() => seen.length === 1, { timeoutMs: 5_000 });
    await bus.removeSnapshot("staging", "w1");
    await until(() => seen.length === 2, { timeoutMs: 5_000 });
    expect(seen).toEqual(["PUT w1", "DEL w1"]);
    entries.stop();
    await watching;
  });

  it("says how it is when it is asked, and only its environment's is asked", async () => {
    const self = await reader("staging");
    const status = { pid: 1, gatewayId: "g1", listening: true, requestCount: 0, sequences: { a1: 7 }, connected: {} };
    self.nats.subscribe("gateway.staging.status", { callback: (_error, message) => void message.respond(JSON.stringify(status)) });
    await self.nats.flush();
    expect(await bus.gatewayStatus("staging", { timeoutMs: 2_000 })).toEqual(status);
    expect(await bus.gatewayStatus("staging", { timeoutMs: 200, gatewayId: "another" })).toBeNull();
    expect(await bus.gatewayStatus("production", { timeoutMs: 2_000 })).toBeNull();
  });

  it.each([
    "$KV.snapshot_staging.a1",
    "$KV.snapshot_production.a1",
    "$KV.control.apps.a1",
    "$JS.API.STREAM.CREATE.X",
    "$JS.API.STREAM.UPDATE.KV_snapshot_staging",
    "$JS.API.STREAM.DELETE.KV_snapshot_staging",
    "$JS.API.STREAM.PURGE.KV_snapshot_staging",
    "$JS.API.STREAM.MSG.DELETE.KV_snapshot_staging",
    "$JS.API.STREAM.MSG.GET.KV_snapshot_production",
    "$JS.API.DIRECT.GET.KV_snapshot_production",
    "$JS.API.CONSUMER.CREATE.KV_snapshot_production.x.$KV.snapshot_production.>",
    "$JS.API.CONSUMER.CREATE.KV_control.x.$KV.control.>",
    "gateway.staging.status",
    "_INBOX_orchestrator.x",
    "i.victim.req",
    "$SYS.REQ.CLAIMS.UPDATE",
  ])("may not publish to %s with its environment's credentials", async (subject) => {
    expect(await (await reader("staging")).isPublishRefused(subject)).toBe(true);
  });

  it.each([">", "$KV.>", "$JS.>", "_INBOX_orchestrator.>", "gateway.production.status", "$SYS.>", "i.>", "o.>"])(
    "may not subscribe to %s with its environment's credentials",
    async (subject) => {
      expect(await (await reader("staging")).isSubscribeRefused(subject)).toBe(true);
    },
  );

  it("cannot have the broker write into the other environment's snapshots or the control state", async () => {
    for (const environment of ["staging", "production"] as const) await bus.publishSnapshot(environment, content("a1"));
    await bus.writeControl("apps.a1", { name: "true" });
    const before = { production: await bus.readSnapshot("production", "a1"), control: await bus.readControl("apps.a1") };
    const self = await reader("staging");
    const create = "$JS.API.CONSUMER.CREATE.KV_snapshot_staging";
    let name = 0;
    for (const target of ["$KV.snapshot_production.a1", "$KV.control.apps.a1"]) {
      const config = {
        name: `c${(name += 1)}`,
        deliver_subject: target,
        deliver_policy: "all",
        ack_policy: "none",
        filter_subject: "$KV.snapshot_staging.>",
      };
      await self.send(
        `${create}.${config.name}.$KV.snapshot_staging.>`,
        JSON.stringify({ stream_name: "KV_snapshot_staging", config }),
        target,
      );
      await self.send("$JS.API.STREAM.INFO.KV_snapshot_staging", "", target);
      await self.send("$JS.API.INFO", "", target);
    }
    await bus.publishSnapshot("staging", content("a1")); // Would be delivered by those consumers, too.
    expect(await bus.readSnapshot("production", "a1")).toEqual(before.production);
    expect(await bus.readControl("apps.a1")).toEqual(before.control);
  });

  it("cannot choose what would be written into its own environment's snapshots", async () => {
    await bus.publishSnapshot("staging", content("a1"));
    const self = await reader("staging");
    const config = {
      name: "own",
      deliver_subject: "$KV.snapshot_staging.a2",
      deliver_policy: "all",
      ack_policy: "none",
      filter_subject: "$KV.snapshot_staging.>",
    };
    const answer = await self.nats.request(
      `$JS.API.CONSUMER.CREATE.KV_snapshot_staging.own.$KV.snapshot_staging.>`,
      JSON.stringify({ stream_name: "KV_snapshot_staging", config }),
    );
    expect(answer.json<{ error?: { description: string } }>().error?.description).toMatch(/cycle/);
    expect(await bus.readSnapshot("staging", "a2")).toBeNull();
    // An answer of the API as a value: no snapshot for anyone who reads it, and replaced by the next one.
    await self.send("$JS.API.INFO", "", "$KV.snapshot_staging.a1");
    await until(() => bus.readSnapshot("staging", "a1").then((found) => found === null), { timeoutMs: 5_000 });
    expect(await bus.publishSnapshot("staging", content("a1"))).toBeGreaterThan(1);
    expect(await bus.readSnapshot("staging", "a1")).not.toBeNull();
  });

  it("has no streams in an app's account, and no way to the snapshots from there", async () => {
    const self = await as(test.signer.gatewayCredentials("a1", "staging"));
    for (const subject of ["$JS.API.INFO", "$JS.API.STREAM.CREATE.X", "$KV.snapshot_staging.a1", "gateway.staging.status"])
      expect([subject, await self.isPublishRefused(subject)]).toEqual([subject, true]);
    for (const subject of [">", "i.>", "$JS.>", "_INBOX.>"])
      expect([subject, await self.isSubscribeRefused(subject)]).toEqual([subject, true]);
  });
});

describe("the control plane in an app's account", () => {
  it("may ping, and can send no instance a request", async () => {
    const self = await as(test.signer.controlCredentials("a1", "staging"));
    expect(await self.isPublishRefused("i.victim.ping")).toBe(false);
    for (const subject of ["i.victim.req", "i.victim.pull", "o.victim.up"])
      expect([subject, await self.isPublishRefused(subject)]).toEqual([subject, true]);
  });
});

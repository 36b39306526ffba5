// What an instance, and a gateway, can not do to others over the broker: attacks against a real server, with their own credentials.
import { createAccount, createUser, encodeAccount, encodeUser, fromSeed } from "@nats-io/jwt";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Credentials } from "../../orchestrator/nats/accounts.ts";
import { createControlBus, type ControlBus } from "../../orchestrator/nats/control-bus.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import {
  BROKER_ACCOUNT_CONNECTION_COUNT_MAX,
  BROKER_INSTANCE_PAYLOAD_BYTES_MAX,
  BROKER_INSTANCE_SUBSCRIPTION_COUNT_MAX,
} from "../../runtime-image/contract/limits.ts";
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
const instance = (instanceId: string, appId = "a1", environment: Environment = "staging"): Promise<BareClient> =>
  as(test.signer.instanceCredentials(appId, environment, instanceId));
const gateway = (appId = "a1", environment: Environment = "staging"): Promise<BareClient> => as(test.signer.gatewayCredentials(appId, environment));

beforeAll(async () => {
  test = await startTestBroker();
  bus = await createControlBus({ url: test.broker.url, signer: test.signer, onError: () => {} });
  for (const [appId, environment] of [["a1", "staging"], ["a1", "production"], ["a2", "staging"]] as const) await bus.ensureAppAccount(appId, environment);
});

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await bus.close();
  await test.close();
});

describe("an instance", () => {
  it("hears what is sent to it and speaks on its own branch", async () => {
    const [self, front] = [await instance("alive"), await gateway()];
    const inbound = await self.hear("i.alive.>");
    const outbound = await front.hear("o.*.g1.*");
    await front.send("i.alive.req", "request", "o.alive.g1.1");
    await until(() => inbound.length === 1, { timeoutMs: 5_000 });
    await self.send("o.alive.g1.1", "answer");
    await until(() => outbound.length === 1, { timeoutMs: 5_000 });
    expect([...inbound, ...outbound]).toEqual(["i.alive.req request", "o.alive.g1.1 answer"]);
  });

  it.each([
    ">", "*", "*.>", "i.>", "i.*.req", "i.victim.>", "i.victim.req", "o.>", "o.victim.>", "o.attacker.>", "o.*.up",
    "_INBOX.>", "_INBOX.x", "_INBOX_orchestrator.>", "$SYS.>", "$SYS.REQ.>", "$JS.>", "$JS.API.>", "$JS.EVENT.>", "$KV.>", "gateway.>", "gateway.staging.status", "control.>",
  ])("may not subscribe to %s", async (subject) => {
    expect(await (await instance("attacker")).isSubscribeRefused(subject)).toBe(true);
  });

  it.each([
    "i.victim.req", "i.victim.pull", "i.victim.ping", "i.attacker.req", "o.victim.up", "o.victim.g1.1", "o.x", "o", "_INBOX.x", "_INBOX_orchestrator.x.y",
    "$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.CREATE.X", "$JS.API.CONSUMER.CREATE.KV_snapshot_staging", "$JS.API.CONSUMER.DURABLE.CREATE.KV_snapshot_staging.x",
    "$JS.API.DIRECT.GET.KV_snapshot_staging", "$JS.API.STREAM.MSG.GET.KV_snapshot_staging", "$KV.snapshot_staging.a1", "$KV.control.apps.a1",
    "gateway.staging.status", "gateway.production.status", "$SYS.REQ.CLAIMS.UPDATE", "$SYS.REQ.ACCOUNT.PING.CONNZ", "$SYS.REQ.SERVER.PING", "$SYS.REQ.USER.INFO",
  ])("may not publish to %s", async (subject) => {
    expect(await (await instance("attacker")).isPublishRefused(subject)).toBe(true);
  });

  it("may not join a queue group on someone else's branch", async () => {
    const self = await instance("attacker");
    const refusal = new Promise<Error | null>((resolve) => self.nats.subscribe("i.victim.req", { queue: "q", callback: (error) => resolve(error) }));
    await self.nats.flush();
    expect(await refusal).not.toBeNull();
  });

  it("cannot make anyone answer into another instance by naming its subject as the reply", async () => {
    const [self, victim, front] = [await instance("attacker"), await instance("victim"), await gateway()];
    const heard = await victim.hear("i.victim.>");
    await front.hear("o.>"); // A gateway and the control plane listen, as they do in life.
    await bus.onInstanceEvent("a1", "staging", () => {});
    const targets = ["i.victim.req", "i.victim.ping", "o.victim.up", "$KV.snapshot_staging.a1"];
    for (const reply of targets)
      for (const subject of ["o.attacker.up", "o.attacker.g1.1", "o.attacker.nobody.1", "o.attacker.control.1"])
        await self.send(subject, JSON.stringify({ kind: "ready", instanceId: "attacker", loadMs: 1 }), reply);
    for (const reply of targets) await self.isPublishRefused("$JS.API.STREAM.MSG.GET.KV_snapshot_staging", { reply, body: '{"seq":1}' });
    const consumer = JSON.stringify({ stream_name: "KV_snapshot_staging", config: { deliver_subject: "i.victim.req", deliver_policy: "all", ack_policy: "none" } });
    expect(await self.isPublishRefused("$JS.API.CONSUMER.CREATE.KV_snapshot_staging", { body: consumer, reply: "o.attacker.x.1" })).toBe(true);
    await front.send("i.victim.req", "the fence"); // Whatever was on its way before this has arrived when this has.
    await until(() => heard.length > 0, { timeoutMs: 5_000 });
    expect(heard).toEqual(["i.victim.req the fence"]);
  });

  it("is heard by the control plane only where what it says of itself is true", async () => {
    const self = await instance("liar");
    const events: string[] = [];
    const end = await bus.onInstanceEvent("a1", "staging", (event) => void events.push(`${event.kind} ${event.instanceId}`));
    await self.send("o.liar.up", JSON.stringify({ kind: "ready", instanceId: "victim", loadMs: 1 }));
    await self.send("o.liar.up", "no json");
    await self.send("o.liar.up", JSON.stringify({ kind: "conquered", instanceId: "liar" }));
    await self.send("o.liar.up", JSON.stringify({ kind: "ready", instanceId: "liar", loadMs: 1 }));
    await until(() => events.length > 0, { timeoutMs: 5_000 });
    expect(events).toEqual(["ready liar"]);
    end();
  });

  it("reaches no instance of the same name in the other environment or in another app", async () => {
    const near = await gateway("a1", "staging");
    const heard: string[][] = [];
    const fars: BareClient[] = [];
    for (const [appId, environment] of [["a1", "production"], ["a2", "staging"]] as const) {
      const twin = await instance("twin", appId, environment);
      heard.push(await twin.hear("i.twin.>"));
      fars.push(await gateway(appId, environment));
    }
    const farAnswers = await Promise.all(fars.map((far) => far.hear("o.>")));
    await near.send("i.twin.req", "from staging");
    await (await instance("twin")).send("o.twin.up", "from staging");
    for (const far of fars) await far.send("i.twin.req", "own");
    await until(() => heard.every((list) => list.length > 0), { timeoutMs: 5_000 });
    expect(heard).toEqual([["i.twin.req own"], ["i.twin.req own"]]);
    expect(farAnswers).toEqual([[], []]);
  });

  it("is cut off when it sends more at once than an instance may", async () => {
    const self = await instance("loud");
    await self.send("o.loud.x.1", new Uint8Array(BROKER_INSTANCE_PAYLOAD_BYTES_MAX));
    const closed = self.nats.closed();
    self.nats.publish("o.loud.x.1", new Uint8Array(BROKER_INSTANCE_PAYLOAD_BYTES_MAX + 1));
    expect(String(await closed)).toMatch(/Maximum Payload Violation/i);
  });

  it("is cut off, or refused, when it subscribes more often than an instance may", async () => {
    const self = await instance("greedy");
    const errors: (Error | null)[] = [];
    for (let count = 0; count <= BROKER_INSTANCE_SUBSCRIPTION_COUNT_MAX; count += 1)
      self.nats.subscribe(`i.greedy.${count}`, { callback: (error) => void errors.push(error) });
    const closed = await Promise.race([self.nats.closed(), self.nats.flush().then(() => self.nats.flush())]).catch((error: unknown) => error);
    expect(`${String(closed)} ${errors.map(String).join()}`).toMatch(/maximum subscriptions exceeded/i);
  });

  it("cannot open more connections than its account may have, and the other accounts do not notice", async () => {
    const credentials = await test.signer.instanceCredentials("a2", "staging", "many");
    const opened: BareClient[] = [];
    try {
      let refusal: unknown = null;
      for (let count = 0; count <= BROKER_ACCOUNT_CONNECTION_COUNT_MAX && refusal === null; count += 1)
        await connectBare(test.broker.url, credentials).then(
          (client) => opened.push(client),
          (error: unknown) => (refusal = error),
        );
      expect(String(refusal)).toMatch(/maximum account active connections exceeded/i);
      expect(await bus.pingInstance("a1", "staging", "nobody", { timeoutMs: 1_000 })).toBeNull();
      await (await instance("unharmed")).hear("i.unharmed.>");
    } finally {
      await Promise.all(opened.map((client) => client.close()));
    }
  });
});

describe("credentials", () => {
  const seedOf = (key: { getSeed(): Uint8Array }): string => new TextDecoder().decode(key.getSeed());
  const everything = { pub: { allow: [">"] }, sub: { allow: [">"] } };

  it("are refused when an account that the operator never signed issued them", async () => {
    const [account, user] = [createAccount(), createUser()];
    await expect(as({ jwt: await encodeUser("forged", user, account, everything), seed: seedOf(user) })).rejects.toThrow(/authorization/i);
  });

  it("are refused when they claim an account whose key did not sign them", async () => {
    const [account, user] = [createAccount(), createUser()];
    const target = (await test.signer.appAccount("a1", "production")).publicKey;
    const jwt = await encodeUser("forged", user, target, everything, { signer: account });
    await expect(as({ jwt, seed: seedOf(user) })).rejects.toThrow(/authorization/i);
  });

  it("are refused when an instance signs a user of its own with its key", async () => {
    const own = await test.signer.instanceCredentials("a1", "staging", "i1");
    const user = createUser();
    const target = (await test.signer.appAccount("a1", "staging")).publicKey;
    const key = fromSeed(new TextEncoder().encode(own.seed));
    const signedByUser = { ...key, getPublicKey: () => target, getPrivateKey: () => key.getPrivateKey(), getSeed: () => key.getSeed(), sign: (bytes: Uint8Array) => key.sign(bytes), verify: () => true, clear: () => {}, seal: () => new Uint8Array(0), open: () => null };
    await expect(as({ jwt: await encodeUser("forged", user, signedByUser, everything), seed: seedOf(user) })).rejects.toThrow(/authorization/i);
  });

  it("are refused when their text was changed, and when someone else's seed comes with them", async () => {
    const [mine, other] = [await test.signer.instanceCredentials("a1", "staging", "i1"), await test.signer.instanceCredentials("a1", "staging", "i2")];
    const [head = "", claims = "", signature = ""] = mine.jwt.split(".");
    const widened = Buffer.from(Buffer.from(claims, "base64url").toString("utf8").replaceAll("i1", "i2")).toString("base64url");
    await expect(as({ jwt: `${head}.${widened}.${signature}`, seed: mine.seed })).rejects.toThrow(/authorization/i);
    await expect(as({ jwt: mine.jwt, seed: other.seed })).rejects.toThrow(/authorization/i);
  });

  it("cannot be had by pushing an account of one's own", async () => {
    const [account, self] = [createAccount(), await instance("attacker")];
    const jwt = await encodeAccount("own", account, { limits: { conn: -1, disk_storage: -1 } });
    expect(await self.isPublishRefused("$SYS.REQ.CLAIMS.UPDATE", { body: jwt })).toBe(true);
  });
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
      for await (const entry of entries) seen.push(`${entry.operation} ${entry.operation === "PUT" ? entry.json<{ appId: string }>().appId : entry.key}`);
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
    "$KV.snapshot_staging.a1", "$KV.snapshot_production.a1", "$KV.control.apps.a1", "$JS.API.STREAM.CREATE.X", "$JS.API.STREAM.UPDATE.KV_snapshot_staging",
    "$JS.API.STREAM.DELETE.KV_snapshot_staging", "$JS.API.STREAM.PURGE.KV_snapshot_staging", "$JS.API.STREAM.MSG.DELETE.KV_snapshot_staging",
    "$JS.API.STREAM.MSG.GET.KV_snapshot_production", "$JS.API.DIRECT.GET.KV_snapshot_production", "$JS.API.CONSUMER.CREATE.KV_snapshot_production.x.$KV.snapshot_production.>",
    "$JS.API.CONSUMER.CREATE.KV_control.x.$KV.control.>", "gateway.staging.status", "_INBOX_orchestrator.x", "i.victim.req", "$SYS.REQ.CLAIMS.UPDATE",
  ])("may not publish to %s with its environment's credentials", async (subject) => {
    expect(await (await reader("staging")).isPublishRefused(subject)).toBe(true);
  });

  it.each([">", "$KV.>", "$JS.>", "_INBOX_orchestrator.>", "gateway.production.status", "$SYS.>", "i.>", "o.>"])("may not subscribe to %s with its environment's credentials", async (subject) => {
    expect(await (await reader("staging")).isSubscribeRefused(subject)).toBe(true);
  });

  it("cannot have the broker write into the other environment's snapshots or the control state", async () => {
    for (const environment of ["staging", "production"] as const) await bus.publishSnapshot(environment, content("a1"));
    await bus.writeControl("apps.a1", { name: "true" });
    const before = { production: await bus.readSnapshot("production", "a1"), control: await bus.readControl("apps.a1") };
    const self = await reader("staging");
    const create = "$JS.API.CONSUMER.CREATE.KV_snapshot_staging";
    let name = 0;
    for (const target of ["$KV.snapshot_production.a1", "$KV.control.apps.a1"]) {
      const config = { name: `c${(name += 1)}`, deliver_subject: target, deliver_policy: "all", ack_policy: "none", filter_subject: "$KV.snapshot_staging.>" };
      await self.send(`${create}.${config.name}.$KV.snapshot_staging.>`, JSON.stringify({ stream_name: "KV_snapshot_staging", config }), target);
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
    const config = { name: "own", deliver_subject: "$KV.snapshot_staging.a2", deliver_policy: "all", ack_policy: "none", filter_subject: "$KV.snapshot_staging.>" };
    const answer = await self.nats.request(`$JS.API.CONSUMER.CREATE.KV_snapshot_staging.own.$KV.snapshot_staging.>`, JSON.stringify({ stream_name: "KV_snapshot_staging", config }));
    expect(answer.json<{ error?: { description: string } }>().error?.description).toMatch(/cycle/);
    expect(await bus.readSnapshot("staging", "a2")).toBeNull();
    // An answer of the API as a value: no snapshot for anyone who reads it, and replaced by the next one.
    await self.send("$JS.API.INFO", "", "$KV.snapshot_staging.a1");
    await until(() => bus.readSnapshot("staging", "a1").then((found) => found === null), { timeoutMs: 5_000 });
    expect(await bus.publishSnapshot("staging", content("a1"))).toBeGreaterThan(1);
    expect(await bus.readSnapshot("staging", "a1")).not.toBeNull();
  });

  it("has no streams in an app's account, and no way to the snapshots from there", async () => {
    const self = await gateway();
    for (const subject of ["$JS.API.INFO", "$JS.API.STREAM.CREATE.X", "$KV.snapshot_staging.a1", "gateway.staging.status"]) expect(await self.isPublishRefused(subject), subject).toBe(true);
    for (const subject of [">", "i.>", "$JS.>", "_INBOX.>"]) expect(await self.isSubscribeRefused(subject), subject).toBe(true);
  });
});

describe("the control plane in an app's account", () => {
  it("may ping, and can send no instance a request", async () => {
    const self = await as(test.signer.controlCredentials("a1", "staging"));
    expect(await self.isPublishRefused("i.victim.ping")).toBe(false);
    for (const subject of ["i.victim.req", "i.victim.pull", "o.victim.up"]) expect(await self.isPublishRefused(subject), subject).toBe(true);
  });
});

// What an instance can not do to others over the broker: attacks against a real server, with its own or forged credentials.
import { createAccount, createUser, decode, encodeAccount, encodeUser, fromSeed, type Account } from "@nats-io/jwt";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensureAccount } from "../../orchestrator/nats/account-directory.ts";
import type { Credentials } from "../../orchestrator/nats/accounts.ts";
import { openConnection } from "../../orchestrator/nats/connection.ts";
import { createControlBus, type ControlBus } from "../../orchestrator/nats/control-bus.ts";
import { loadBrokerKeys } from "../../orchestrator/nats/keys.ts";
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
const gateway = (appId = "a1", environment: Environment = "staging"): Promise<BareClient> =>
  as(test.signer.gatewayCredentials(appId, environment));

beforeAll(async () => {
  test = await startTestBroker();
  bus = await createControlBus({ url: test.broker.url, signer: test.signer, onError: () => {} });
  for (const [appId, environment] of [
    ["a1", "staging"],
    ["a1", "production"],
    ["a2", "staging"],
  ] as const)
    await bus.ensureAppAccount(appId, environment);
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
    ">",
    "*",
    "*.>",
    "i.>",
    "i.*.req",
    "i.victim.>",
    "i.victim.req",
    "o.>",
    "o.victim.>",
    "o.attacker.>",
    "o.*.up",
    "_INBOX.>",
    "_INBOX.x",
    "_INBOX_orchestrator.>",
    "$SYS.>",
    "$SYS.REQ.>",
    "$JS.>",
    "$JS.API.>",
    "$JS.EVENT.>",
    "$KV.>",
    "gateway.>",
    "gateway.staging.status",
    "control.>",
  ])("may not subscribe to %s", async (subject) => {
    expect(await (await instance("attacker")).isSubscribeRefused(subject)).toBe(true);
  });

  it.each([
    "i.victim.req",
    "i.victim.pull",
    "i.victim.ping",
    "i.attacker.req",
    "o.victim.up",
    "o.victim.g1.1",
    "o.x",
    "o",
    "_INBOX.x",
    "_INBOX_orchestrator.x.y",
    "$JS.API.INFO",
    "$JS.API.STREAM.NAMES",
    "$JS.API.STREAM.CREATE.X",
    "$JS.API.CONSUMER.CREATE.KV_snapshot_staging",
    "$JS.API.CONSUMER.DURABLE.CREATE.KV_snapshot_staging.x",
    "$JS.API.DIRECT.GET.KV_snapshot_staging",
    "$JS.API.STREAM.MSG.GET.KV_snapshot_staging",
    "$KV.snapshot_staging.a1",
    "$KV.control.apps.a1",
    "gateway.staging.status",
    "gateway.production.status",
    "$SYS.REQ.CLAIMS.UPDATE",
    "$SYS.REQ.ACCOUNT.PING.CONNZ",
    "$SYS.REQ.SERVER.PING",
    "$SYS.REQ.USER.INFO",
  ])("may not publish to %s", async (subject) => {
    expect(await (await instance("attacker")).isPublishRefused(subject)).toBe(true);
  });

  it("may not join a queue group on someone else's branch", async () => {
    const self = await instance("attacker");
    const refusal = new Promise<Error | null>((resolve) =>
      self.nats.subscribe("i.victim.req", { queue: "q", callback: (error) => resolve(error) }),
    );
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
    const consumer = JSON.stringify({
      stream_name: "KV_snapshot_staging",
      config: { deliver_subject: "i.victim.req", deliver_policy: "all", ack_policy: "none" },
    });
    expect(await self.isPublishRefused("$JS.API.CONSUMER.CREATE.KV_snapshot_staging", { body: consumer, reply: "o.attacker.x.1" })).toBe(
      true,
    );
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
    for (const [appId, environment] of [
      ["a1", "production"],
      ["a2", "staging"],
    ] as const) {
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
    if (self.nats.info === undefined) throw new Error("a connected client knows its server");
    self.nats.info.max_payload = 8_000_000; // The client would refuse by itself; an attacker's would not.
    self.nats.publish("o.loud.x.1", new Uint8Array(BROKER_INSTANCE_PAYLOAD_BYTES_MAX + 1));
    await self.nats.closed().catch(() => {});
    expect(self.nats.isClosed()).toBe(true);
  });

  it("gets no more subscriptions than an instance may have", async () => {
    const [self, front] = [await instance("greedy"), await gateway()];
    const heard: string[] = [];
    for (let count = 0; count <= BROKER_INSTANCE_SUBSCRIPTION_COUNT_MAX; count += 1)
      self.nats.subscribe(`i.greedy.${count}`, { callback: (error, message) => void (error === null && heard.push(message.subject)) });
    await self.nats.flush();
    for (let count = 0; count <= BROKER_INSTANCE_SUBSCRIPTION_COUNT_MAX; count += 1) await front.send(`i.greedy.${count}`, "");
    await front.send("i.greedy.0", "the fence");
    await until(() => heard.filter((subject) => subject === "i.greedy.0").length === 2, { timeoutMs: 5_000 });
    expect(heard).not.toContain(`i.greedy.${BROKER_INSTANCE_SUBSCRIPTION_COUNT_MAX}`);
    expect(self.errors).toHaveLength(1);
  });

  it("cannot open more connections than its account says, and the other accounts do not notice", async () => {
    const keys = await loadBrokerKeys(test.home);
    const { jwt, publicKey } = await test.signer.appAccount("small", "staging");
    const limits = decode<Account>(jwt).nats.limits;
    expect(limits?.conn).toBe(BROKER_ACCOUNT_CONNECTION_COUNT_MAX);
    const key = (seed: string) => fromSeed(new TextEncoder().encode(seed));
    const small = await encodeAccount(
      "small",
      key(keys.app("small", "staging").seed),
      { limits: { ...limits, conn: 3 } },
      { signer: key(keys.operator.seed) },
    );
    const system = await openConnection(
      { url: test.broker.url, ...(await test.signer.systemCredentials()) },
      { name: "test", onError: () => {} },
    );
    await ensureAccount(system, { name: "small", publicKey, jwt: small });
    await system.close();
    for (let count = 0; count < 3; count += 1) await instance(`i${count}`, "small");
    await expect(instance("i3", "small")).rejects.toBeDefined(); // The broker closes the socket; what the client makes of it varies.
    await (await instance("unharmed")).hear("i.unharmed.>");
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
    const signedByUser = {
      ...key,
      getPublicKey: () => target,
      getPrivateKey: () => key.getPrivateKey(),
      getSeed: () => key.getSeed(),
      sign: (bytes: Uint8Array) => key.sign(bytes),
      verify: () => true,
      clear: () => {},
      seal: () => new Uint8Array(0),
      open: () => null,
    };
    await expect(as({ jwt: await encodeUser("forged", user, signedByUser, everything), seed: seedOf(user) })).rejects.toThrow(
      /authorization/i,
    );
  });

  it("are refused when their text was changed, and when someone else's seed comes with them", async () => {
    const [mine, other] = [
      await test.signer.instanceCredentials("a1", "staging", "i1"),
      await test.signer.instanceCredentials("a1", "staging", "i2"),
    ];
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

// What an instance can not do through its right to the buckets: attacks on other apps, other environments and the broker itself.
import { createUser, encodeUser, fromSeed } from "@nats-io/jwt";
import { headers } from "nats";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadBrokerKeys } from "../../orchestrator/nats/keys.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import type { Store } from "../../runtime-image/library/bridge.ts";
import { connectBare, type BareClient } from "../support/broker-client.ts";
import { startStoreWorld, type StoreWorld } from "../support/store-world.ts";
import { until } from "../support/until.ts";

const KEY = "6161.62";
const SUBJECT = "$KV.data.6161.6.2.-";
const FAR = [
  ["a1", "production"],
  ["a2", "staging"],
] as const;

let world: StoreWorld;
let near: Store;
let attacker: BareClient;
const far: Store[] = [];
const clients: BareClient[] = [];

const instance = async (instanceId: string, appId = "a1", environment: Environment = "staging"): Promise<BareClient> => {
  const client = await connectBare(world.broker.broker.url, await world.broker.signer.instanceCredentials(appId, environment, instanceId));
  clients.push(client);
  return client;
};

beforeAll(async () => {
  world = await startStoreWorld();
  near = await world.store({ appId: "a1" });
  for (const [appId, environment] of FAR) {
    const store = await world.store({ appId, environment });
    await store.put("data", KEY, Buffer.from("theirs"));
    await store.put("sessions", "id", Buffer.from("theirs"));
    far.push(store);
  }
  attacker = await instance("attacker");
});

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await world.close();
});

async function expectFarUntouched(): Promise<void> {
  for (const store of far) {
    expect(Buffer.from((await store.get("data", KEY))?.bytes ?? []).toString()).toBe("theirs");
    expect([await store.count("data", ""), await store.count("sessions", "")]).toEqual([1, 1]);
  }
}

/** Has the broker publish these bytes on a subject of the account, as the answer to reading a value. */
async function publishThroughBroker(subject: string, bytes: string): Promise<void> {
  await near.put("data", "ff.ff", Buffer.from(bytes));
  await attacker.send("$JS.API.DIRECT.GET.KV_data", JSON.stringify({ last_by_subj: "$KV.data.ff.f.f.-" }), subject);
}

describe("an instance", () => {
  it.each([
    ...["CREATE", "UPDATE", "DELETE", "PURGE", "SNAPSHOT", "RESTORE", "MSG.GET", "LEADER.STEPDOWN", "PEER.REMOVE"].map(
      (action) => `$JS.API.STREAM.${action}.KV_data`,
    ),
    "$JS.API.STREAM.CREATE.OWN",
    "$JS.API.STREAM.NAMES",
    "$JS.API.STREAM.LIST",
    "$JS.API.STREAM.INFO.KV_other",
    "$JS.API.DIRECT.GET.KV_other",
    `$JS.API.DIRECT.GET.KV_data.${SUBJECT}`,
    "$JS.API.CONSUMER.CREATE.KV_data",
    "$JS.API.CONSUMER.CREATE.KV_data.name",
    `$JS.API.CONSUMER.CREATE.KV_data.name.${SUBJECT}`,
    "$JS.API.CONSUMER.DURABLE.CREATE.KV_data.name",
    "$JS.API.CONSUMER.MSG.NEXT.KV_data.name",
    "$JS.API.CONSUMER.LIST.KV_data",
    "$JS.API.ACCOUNT.PURGE.any",
    "$JS.API.SERVER.REMOVE",
    "$JS.API.INFO",
    "$JS.ACK.KV_data.name.1.1.1.1.0",
    "$JS.FC.KV_data.x",
    "$KV.other.x",
    "$KV.control.apps.a1",
    "$KV.snapshot_staging.a1",
    "$KV.data",
  ])("may not publish to %s", async (subject) => {
    expect(await attacker.isPublishRefused(subject)).toBe(true);
  });

  it.each(["$KV.>", "$KV.data.>", "$KV.*.>", "i.victim.s.>", "i.*.s.>", "$JS.API.>", "$JS.EVENT.ADVISORY.>", "_INBOX_orchestrator.>"])(
    "may not subscribe to %s",
    async (subject) => {
      expect(await attacker.isSubscribeRefused(subject)).toBe(true);
    },
  );

  it("cannot empty a bucket with one message, nor write what is larger than a value may be", async () => {
    await near.put("data", KEY, Buffer.from("mine"));
    const answers: string[] = [];
    attacker.nats.subscribe("i.attacker.answers.*", { callback: (_, message) => void answers.push(message.string()) });
    const rollup = headers();
    rollup.set("Nats-Rollup", "all");
    attacker.nats.publish("$KV.data.ff.-", "x", { headers: rollup, reply: "i.attacker.answers.1" });
    await attacker.send("$KV.data.ff.-", Buffer.alloc(600_000), "i.attacker.answers.2");
    await until(() => answers.length === 2, { timeoutMs: 5_000 });
    for (const answer of answers) expect(JSON.parse(answer)).toHaveProperty("error");
    expect(Buffer.from((await near.get("data", KEY))?.bytes ?? []).toString()).toBe("mine");
  });

  it("reaches the buckets of its own app and environment, whatever it writes", async () => {
    await attacker.send(SUBJECT, "attack");
    await attacker.send("$KV.sessions.id", "attack");
    await attacker.send("$JS.API.STREAM.MSG.DELETE.KV_data", '{"seq":1}');
    await attacker.send("$JS.API.STREAM.MSG.DELETE.KV_sessions", '{"seq":1}');
    expect(Buffer.from((await near.get("data", KEY))?.bytes ?? []).toString()).toBe("attack");
    await expectFarUntouched();
  });

  it("finds nothing of others in what it may ask about its buckets", async () => {
    const answers: string[] = [];
    attacker.nats.subscribe("i.attacker.info.*", { callback: (_, message) => void answers.push(message.string()) });
    await attacker.send("$JS.API.STREAM.INFO.KV_sessions", '{"subjects_filter":">"}', "i.attacker.info.1");
    await until(() => answers.length === 1, { timeoutMs: 5_000 });
    expect(JSON.parse(answers[0] ?? "")).not.toHaveProperty("state.subjects.$KV.data.6161.6.2.-");
    expect(answers[0]).not.toContain("theirs");
  });

  it("cannot have the broker tell the control plane of another instance", async () => {
    const events: string[] = [];
    const end = await world.control.onInstanceEvent("a1", "staging", ({ kind, instanceId }) => void events.push(`${kind} ${instanceId}`));
    await publishThroughBroker("o.victim.up", JSON.stringify({ kind: "ready", instanceId: "victim", loadMs: 1 }));
    await attacker.send("o.attacker.up", JSON.stringify({ kind: "ready", instanceId: "attacker", loadMs: 1 }));
    await until(() => events.length > 0, { timeoutMs: 5_000 });
    expect(events).toEqual(["ready attacker"]);
    end();
  });

  it("cannot give the broker's answer a reply subject, without which no instance answers a request", async () => {
    const victim = await instance("victim");
    const heard: string[] = [];
    victim.nats.subscribe("i.victim.>", { callback: (_, message) => void heard.push(message.reply ?? "") });
    await victim.nats.flush();
    await publishThroughBroker("i.victim.req", "forged");
    await until(() => heard.length === 1, { timeoutMs: 5_000 });
    expect(heard).toEqual([""]);
  });

  it("reaches no other account by naming its subjects, or the broker's own, for the answer", async () => {
    const heard: string[][] = [];
    for (const [appId, environment] of FAR) heard.push(await (await instance("twin", appId, environment)).hear("i.twin.>"));
    const config = JSON.stringify({ name: "OWN", subjects: ["i.>"], storage: "file" });
    const attacks = [
      ["i.twin.req", "forged"],
      [SUBJECT, "forged"],
      ["$KV.control.apps.a1", "{}"],
      ["$KV.snapshot_staging.a1", "{}"],
      ["$JS.API.STREAM.DELETE.KV_control", ""],
      ["$JS.API.STREAM.CREATE.OWN", config],
      ["$SYS.REQ.CLAIMS.UPDATE", "forged"],
      ["$SYS.REQ.CLAIMS.DELETE", "forged"],
      ["$SYS.ACCOUNT.X.CLAIMS.UPDATE", "forged"],
      ["gateway.staging.status", "{}"],
    ] as const;
    await world.control.writeControl("apps.a1", { mine: true });
    for (const [subject, bytes] of attacks) await publishThroughBroker(subject, bytes);
    for (const [appId, environment] of FAR) {
      const gateway = await connectBare(world.broker.broker.url, await world.broker.signer.gatewayCredentials(appId, environment));
      clients.push(gateway);
      await gateway.send("i.twin.req", "the fence");
    }
    await until(() => heard.every((list) => list.length > 0), { timeoutMs: 5_000 });
    expect(heard).toEqual([["i.twin.req the fence"], ["i.twin.req the fence"]]);
    expect((await world.control.readControl("apps.a1"))?.value).toEqual({ mine: true });
    await expectFarUntouched();
  });

  it("gets no third stream out of its account, in which it could record what goes by", async () => {
    const all = await owner("a1", "staging");
    await publishThroughBroker("$JS.API.STREAM.CREATE.OWN", JSON.stringify({ name: "OWN", subjects: ["i.>"], storage: "file" }));
    expect(await streamsSeenBy(all)).toEqual(["KV_data", "KV_sessions"]);
  });

  // Inside one app and environment accounts are no wall: there the broker asks on an instance's behalf what the instance may not ask.
  it("can destroy the buckets of its own app and environment at worst, which are made anew, and no others", async () => {
    const all = await owner("a1", "staging");
    await publishThroughBroker("$JS.API.STREAM.DELETE.KV_sessions", "");
    await until(async () => !(await streamsSeenBy(all)).includes("KV_sessions"), { timeoutMs: 5_000 });
    await world.control.ensureAppAccount("a1", "staging");
    expect(await streamsSeenBy(all)).toEqual(["KV_data", "KV_sessions"]);
    for (const [appId, environment] of FAR)
      expect(await streamsSeenBy(await owner(appId, environment))).toEqual(["KV_data", "KV_sessions"]);
    await expectFarUntouched();
  });
});

/** Someone with every right in an account, as only the platform's keys can make. */
async function owner(appId: string, environment: Environment): Promise<BareClient> {
  const keys = await loadBrokerKeys(world.broker.home);
  const user = createUser();
  const account = fromSeed(new TextEncoder().encode(keys.app(appId, environment).seed));
  const jwt = await encodeUser("owner", user, account, { pub: { allow: [">"] }, sub: { allow: [">"] } });
  const client = await connectBare(world.broker.broker.url, { jwt, seed: new TextDecoder().decode(user.getSeed()) });
  clients.push(client);
  return client;
}

async function streamsSeenBy(client: BareClient): Promise<readonly string[]> {
  const answer = await client.nats.request("$JS.API.STREAM.NAMES", "{}", { timeout: 5_000 });
  return answer.json<{ streams: string[] | null }>().streams?.toSorted() ?? [];
}

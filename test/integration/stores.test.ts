// Stores on a real broker: the behaviour list, counters under contention, and a broker that is killed.
import { decode, encodeAccount, fromSeed, type Account } from "@nats-io/jwt";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ensureAccount } from "../../orchestrator/nats/account-directory.ts";
import type { SignedAccount } from "../../orchestrator/nats/accounts.ts";
import { openConnection } from "../../orchestrator/nats/connection.ts";
import { loadBrokerKeys } from "../../orchestrator/nats/keys.ts";
import { createStores } from "../../orchestrator/stores/stores.ts";
import { RevisionConflict, type Store } from "../../runtime-image/library/bridge.ts";
import { data } from "../../runtime-image/library/data.ts";
import { describeStore } from "../conformance/store-behaviour.ts";
import { layStore } from "../support/laid-store.ts";
import { killBroker, startStoreWorld, type StoreWorld } from "../support/store-world.ts";
import { until } from "../support/until.ts";

describeStore("the store on the broker", async () => {
  const world = await startStoreWorld();
  return { store: await world.store(), other: await world.store(), close: () => world.close() };
});

describe("what functions count and keep", () => {
  let world: StoreWorld;
  beforeAll(async () => {
    world = await startStoreWorld();
  });
  afterAll(() => world.close());

  it("loses no increment of 50 that come at once, nor of those of other instances at the same time", async () => {
    const stores = await Promise.all([world.store(), world.store(), world.store()]);
    layStore(stores[0] ?? (await world.store()));
    const counting = Array.from({ length: 50 }, () => data.incr({ table: "counters", key: "visits", prop: "n" }));
    const others = stores.slice(1).flatMap((store) => Array.from({ length: 25 }, () => incrementBare(store, "visits")));
    await Promise.all([...counting, ...others]);
    expect(await data.get({ table: "counters", key: "visits" })).toMatchObject({ n: 100 });
  });

  it("keeps the same names of two apps, and of two environments, apart", async () => {
    const places = [{}, { environment: "production" as const }, { appId: "other" }];
    const stores = await Promise.all(places.map((place) => world.store(place)));
    for (const [index, store] of stores.entries()) await store.put("data", "6161.62", Buffer.from(`of ${index}`));
    const read = await Promise.all(stores.map((store) => store.get("data", "6161.62")));
    expect(read.map((found) => Buffer.from(found?.bytes ?? []).toString())).toEqual(["of 0", "of 1", "of 2"]);
    await stores[0]?.remove("data", "6161.62");
    expect(await stores[1]?.count("data", "6161.")).toBe(1);
  });

  it("refuses values when the room is used up, and still destroys", async () => {
    const store = await world.store({ appId: "small" });
    await giveLimits(world, "small", { disk_storage: 2_000_000 });
    const keys: string[] = [];
    const fill = async (): Promise<void> => {
      while (keys.length < 20) {
        const key = `6161.${Buffer.from(`k${keys.length}`).toString("hex")}`;
        await store.put("data", key, Buffer.alloc(200_000));
        keys.push(key);
      }
    };
    await expect(fill()).rejects.toMatchObject({ code: "STORE_FULL" });
    expect(keys.length).toBeGreaterThan(5);
    for (const key of keys.slice(0, 3)) await store.remove("data", key);
    await store.put("data", "6161.ff", Buffer.alloc(200_000));
    expect(await store.count("data", "6161.")).toBe(keys.length - 2);
  });

  it("deletes what was replaced when it has a moment, or is about to end", async () => {
    const store = await world.store({ appId: "replacing" });
    const owner = createStores({ url: world.broker.broker.url, signer: world.broker.signer });
    const { messages } = await owner.of("replacing", "staging");
    const messageCount = async (): Promise<number> => {
      let count = 0;
      for await (const _ of messages("data", "all")) count += 1;
      return count;
    };
    for (let n = 0; n < 300; n += 1) await store.put("data", `6161.${n % 10}${n % 10}`, Buffer.from(String(n)));
    await until(async () => (await messageCount()) === 10, { timeoutMs: 10_000 });
    for (let n = 0; n < 300; n += 1) await store.put("data", `6161.${n % 10}${n % 10}`, Buffer.from(String(n)));
    await store.settle();
    expect(await messageCount()).toBe(10);
    await Promise.all(Array.from({ length: 300 }, async (_, n) => store.put("data", "6161.ff", Buffer.from(String(n)))));
    await store.remove("data", "6161.ff");
    expect(await store.get("data", "6161.ff")).toBeNull();
    await store.settle();
    expect(await messageCount()).toBe(10);
    await owner.close();
  });

  it("makes room for stores in the account of an app that was made before there were any", async () => {
    await giveLimits(world, "old", { disk_storage: 0, streams: 0, consumer: 0 });
    const store = await world.store({ appId: "old" });
    await store.put("sessions", "id", Buffer.from("kept"));
    expect(await store.get("sessions", "id")).not.toBeNull();
  });

  it("brings buckets with other settings up to date", async () => {
    const store = await world.store({ appId: "settings" });
    await store.put("data", "6161.62", Buffer.from("kept"));
    await world.changeBucket("settings", "data", { max_msg_size: 1_000, allow_direct: false });
    await expect(store.put("data", "6161.63", Buffer.alloc(2_000))).rejects.toThrow("exceeds");
    await world.control.ensureAppAccount("settings", "staging");
    await store.put("data", "6161.63", Buffer.alloc(2_000));
    expect(Buffer.from((await store.get("data", "6161.62"))?.bytes ?? []).toString()).toBe("kept");
  });
});

describe("a broker that is killed", () => {
  it("has every acknowledged write and no destroyed document when it is back, and functions go on by themselves", async () => {
    const world = await startStoreWorld();
    try {
      const stores = await Promise.all([world.store(), world.store(), world.store()]);
      const acknowledged = new Map<string, string>();
      const destroyed = new Set<string>();
      let doneCount = 0;
      const end = new AbortController();
      const write = async (store: Store, writer: number): Promise<void> => {
        for (let count = 0; !end.signal.aborted; count += 1) {
          const key = `6161.${Buffer.from(`w${writer} ${count % 40}`).toString("hex")}`;
          const value = JSON.stringify({ writer, count });
          await store.put("data", key, Buffer.from(value));
          acknowledged.set(key, value);
          destroyed.delete(key);
          doneCount += 1;
          if (count % 7 !== 0) continue;
          acknowledged.delete(key); // From here on, nobody promised that it is there; from the answer on, that it is not.
          await store.remove("data", key);
          destroyed.add(key);
        }
      };
      const writing = Promise.all(stores.map(write));
      for (let round = 0; round < 3; round += 1) {
        const before = doneCount;
        await until(() => doneCount > before + 50, { timeoutMs: 20_000 });
        await killBroker(world);
      }
      end.abort();
      await writing;
      const read = async (key: string) => Buffer.from((await stores[0]?.get("data", key))?.bytes ?? []).toString();
      for (const [key, value] of acknowledged) expect(await read(key)).toBe(value);
      for (const key of destroyed) expect(await read(key)).toBe("");
      const listed = await stores[1]?.list("data", { prefix: "6161.", after: null, limit: 1_000 });
      expect(listed).toEqual([...acknowledged.keys()].toSorted());
    } finally {
      await world.close();
    }
  });

  it("is told as STORE_UNAVAILABLE where it stays away, in time for a handler to answer", async () => {
    const world = await startStoreWorld();
    const store = await world.store();
    await world.broker.broker.stop();
    const startMs = performance.now();
    await expect(store.get("data", "6161.62")).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await expect(store.put("data", "6161.62", Buffer.from("x"), { expectedRevision: 0 })).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
    });
    expect(performance.now() - startMs).toBeLessThan(2 * 9_500);
    await world.close();
  });
});

/** As one attempt of an increment in another instance: read, add, write at the revision that was read. */
async function incrementBare(store: Store, key: string): Promise<void> {
  const place = `${Buffer.from("counters").toString("hex")}.${Buffer.from(key).toString("hex")}`;
  for (;;) {
    const found = await store.get("data", place);
    const before = found === null ? 0 : (JSON.parse(Buffer.from(found.bytes).toString()) as { n: number }).n; // incr() wrote it.
    const bytes = Buffer.from(JSON.stringify({ table: "counters", key, n: before + 1 }));
    try {
      await store.put("data", place, bytes, { expectedRevision: found?.revision ?? 0 });
      return;
    } catch (error) {
      if (!(error instanceof RevisionConflict)) throw error;
    }
  }
}

/** Signs an account of an app anew, with other limits than the platform gives it. */
async function giveLimits(world: StoreWorld, appId: string, changed: Readonly<Record<string, number>>): Promise<void> {
  const { broker } = world;
  const keys = await loadBrokerKeys(broker.home);
  const account: SignedAccount = await broker.signer.appAccount(appId, "staging");
  const limits = { ...decode<Account>(account.jwt).nats.limits, ...changed };
  const key = (seed: string) => fromSeed(new TextEncoder().encode(seed));
  const signer = key(keys.operator.seed);
  const jwt = await encodeAccount(account.name, key(keys.app(appId, "staging").seed), { limits }, { signer });
  const access = { url: broker.broker.url, ...(await broker.signer.systemCredentials()) };
  const system = await openConnection(access, { name: "test", onError: () => {} });
  await ensureAccount(system, { ...account, jwt });
  await system.close();
}

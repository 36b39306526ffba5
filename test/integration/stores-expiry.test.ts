// Documents whose ttl is over leave the disk of a real broker, and no others do, whatever happens in between.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../orchestrator/clock.ts";
import {
  createExpiryKeeper,
  hasNothingToEnd,
  slotsToSweep,
  type ExpiryKeeper,
  type StorePlace,
} from "../../orchestrator/stores/expiry-keeper.ts";
import { createStores, type AppStores, type Stores } from "../../orchestrator/stores/stores.ts";
import { storeKeyOf } from "../../runtime-image/contract/document-names.ts";
import { dueSlot, slotDigits } from "../../runtime-image/contract/expiry-slots.ts";
import { data } from "../../runtime-image/library/data.ts";
import { entrySubject } from "../../runtime-image/store/expiry.ts";
import type { StoreRequests } from "../../runtime-image/store/requests.ts";
import { keysOf, layStore, type Docs } from "../support/laid-store.ts";
import { killBroker, startStoreWorld, type StoreWorld } from "../support/store-world.ts";
import { until } from "../support/until.ts";

const HOUR_MS = 3_600_000;
const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1_000) + seconds;

let world: StoreWorld;
let stores: Stores;
let running: ExpiryKeeper;
let appCount = 0;

interface TestApp {
  readonly appId: string;
  readonly owner: AppStores;
  readonly asked: { count: number };
  /** What the platform does on its own, as if so many milliseconds had passed. */
  sweepIn(ms: number): Promise<number>;
  counts(): Promise<{ documents: number; entries: number }>;
}

const writtenRevision = async ({ appId, environment }: StorePlace): Promise<number | null> =>
  world.control.writtenRevision(appId, environment);

/** An app of its own; the library's documents are those of its functions. */
async function app(): Promise<TestApp> {
  appCount += 1;
  const appId = `app${appCount}`;
  layStore(await world.store({ appId }));
  const owner = await stores.of(appId, "staging");
  const asked = { count: 0 };
  let aheadMs = 0;
  const keeper = createExpiryKeeper({
    places: () => [{ appId, environment: "staging" }],
    stores: async () => ({ store: owner.store, requests: countedRequests(owner.requests, asked) }),
    writtenRevision,
    clock: { nowEpochMs: () => Date.now() + aheadMs },
    report: (text) => {
      throw new Error(text);
    },
  });
  const subjectCount = (filter: string): Promise<number> => owner.requests.countOf("data", filter);
  return {
    appId,
    owner,
    asked,
    sweepIn: async (ms) => {
      aheadMs = ms;
      return keeper.sweep();
    },
    counts: async () => ({ documents: await subjectCount("$KV.data.>"), entries: await subjectCount("$KV.expiry.>") }),
  };
}

function countedRequests(requests: StoreRequests, asked: { count: number }): StoreRequests {
  const counted =
    <Parameters extends unknown[], Result>(ask: (...parameters: Parameters) => Result) =>
    (...parameters: Parameters): Result => {
      asked.count += 1;
      return ask(...parameters);
    };
  return {
    lastOf: counted(requests.lastOf),
    firstOf: counted(requests.firstOf),
    write: counted(requests.write),
    erase: counted(requests.erase),
    countOf: counted(requests.countOf),
    subjectsOf: counted(requests.subjectsOf),
  };
}

beforeAll(async () => {
  world = await startStoreWorld();
  stores = createStores({ url: world.broker.broker.url, signer: world.broker.signer });
  // Runs while the other tests do: its document is looked for at the end.
  layStore(await world.store({ appId: "minute" }));
  await data.set({ table: "t", key: "soon", ttl: inSeconds(1) });
  await data.set({ table: "t", key: "stays" });
  running = createExpiryKeeper({
    places: () => [{ appId: "minute", environment: "staging" }],
    stores: async ({ appId, environment }) => stores.of(appId, environment),
    writtenRevision,
    clock: systemClock,
    report: () => undefined,
  });
  running.start();
});

afterAll(async () => {
  await running.close();
  await stores.close();
  await world.close();
});

describe("documents whose ttl is over", () => {
  it("are taken away with what announced them, and no others are", async () => {
    const { sweepIn, counts } = await app();
    await data.set([
      { table: "t", key: "over", ttl: inSeconds(60) },
      { table: "t", key: "long over", ttl: 1 },
      { table: "other", key: "over", ttl: inSeconds(60) },
      { table: "t", key: "later", ttl: inSeconds(7_200) },
      { table: "t", key: "never" },
      { table: "t", key: "a ttl that is no number", ttl: "1" },
      { table: "t", key: "in a thousand thousand years", ttl: 3.2e13 },
    ]);
    expect(await counts()).toEqual({ documents: 7, entries: 4 });
    expect(await sweepIn(0)).toBe(0);
    expect(await sweepIn(HOUR_MS)).toBe(3);
    expect(await counts()).toEqual({ documents: 4, entries: 1 });
    expect(await data.count({ table: "t" })).toBe(4);
    expect(await sweepIn(2 * HOUR_MS + 60_000)).toBe(1);
    expect(await counts()).toEqual({ documents: 3, entries: 0 });
  });

  it("are told from what was written in their place", async () => {
    const { sweepIn, counts } = await app();
    for (const key of ["kept", "later", "counted"]) await data.set({ table: "t", key, n: 1, ttl: inSeconds(60) });
    await data.set({ table: "t", key: "kept", n: 2 });
    await data.set({ table: "t", key: "later", n: 2, ttl: inSeconds(7_200) });
    await data.incr({ table: "t", key: "counted", prop: "n" });
    expect(await sweepIn(HOUR_MS)).toBe(1);
    expect(((await data.get({ table: "t" })) as Docs).map(({ key, n }) => [key, n])).toEqual([
      ["kept", 2],
      ["later", 2],
    ]); // {table} gives documents.
    await until(async () => (await counts()).entries === 1, { timeoutMs: 5_000 });
  });

  it("leave nothing behind when they are destroyed, replaced or counted in before", async () => {
    const { counts } = await app();
    for (let n = 0; n < 10; n += 1) await data.set({ table: "t", key: "replaced", n, ttl: inSeconds(3_600 + n) });
    await data.set({ table: "t", key: "destroyed", ttl: inSeconds(3_600) });
    await data.destroy({ table: "t", key: "destroyed" });
    await data.set({ table: "t", key: "counted", ttl: inSeconds(3_600) });
    for (let n = 0; n < 10; n += 1) await data.incr({ table: "t", key: "counted", prop: "n" });
    await until(async () => (await counts()).entries === 2, { timeoutMs: 5_000 });
    expect(await data.count({ table: "t" })).toBe(2);
  });

  it("are found again where only the half was done: announced but not written, taken away but still announced", async () => {
    const { owner, sweepIn, counts } = await app();
    const announce = (key: string) =>
      owner.requests.write({ subject: entrySubject(`${slotDigits(dueSlot(Date.now()) - 100)}00`), bytes: Buffer.from(key) });
    await announce(storeKeyOf({ table: "t", key: "never written" }));
    await data.set({ table: "t", key: "over", ttl: inSeconds(60) });
    await data.set({ table: "t", key: "announced twice", ttl: inSeconds(60) });
    await announce(storeKeyOf({ table: "t", key: "announced twice" }));
    await data.set({ table: "t", key: "not over", ttl: inSeconds(7_200) });
    await announce(storeKeyOf({ table: "t", key: "not over" }));
    await owner.store.remove("data", storeKeyOf({ table: "t", key: "over" }), {
      expectedRevision: (await owner.store.get("data", storeKeyOf({ table: "t", key: "over" })))?.revision ?? 0,
    });
    expect(await sweepIn(HOUR_MS)).toBe(1);
    expect(await counts()).toEqual({ documents: 1, entries: 1 });
    expect(await sweepIn(3 * HOUR_MS)).toBe(1);
  });

  it("are all that entries can take away, also those that a function made up", async () => {
    const { owner, sweepIn, counts } = await app();
    await data.set({ table: "t", key: "mine" });
    const texts = ["", "nonsense", "7.4", "../..", storeKeyOf({ table: "t", key: "mine" }), "74.6d.69", ">"];
    for (const [index, text] of texts.entries())
      await owner.requests.write({ subject: entrySubject(`000000000${index}`), bytes: Buffer.from(text) });
    await owner.store.put("data", storeKeyOf({ table: "t", key: "no document" }), Buffer.from("[1"), { expiresEpochMs: 1 });
    expect(await sweepIn(HOUR_MS)).toBe(0);
    expect(await counts()).toEqual({ documents: 2, entries: 0 });
  });

  it("cost a look at themselves, however many others will end one day", async () => {
    const { sweepIn, asked, counts } = await app();
    const set = (keys: readonly string[], ttl: number) =>
      Promise.all(keys.map(async (key, index) => data.set({ table: "t", key, ttl: ttl + (index % 1_000) })));
    const keys = (name: string, count: number) => Array.from({ length: count }, (_, index) => `${name} ${index}`);
    for (let part = 0; part < 4; part += 1) await set(keys(`later ${part}`, 500), inSeconds(86_400));
    await sweepIn(0);
    asked.count = 0;
    await sweepIn(60_000);
    expect(asked.count).toBeLessThan(10);
    await set(keys("over", 5), inSeconds(120));
    asked.count = 0;
    expect(await sweepIn(HOUR_MS - 60_000)).toBe(5);
    expect(asked.count).toBeLessThan(100);
    expect(await counts()).toEqual({ documents: 2_000, entries: 2_000 });
    expect(await sweepIn(48 * HOUR_MS)).toBe(2_000);
    expect(await counts()).toEqual({ documents: 0, entries: 0 });
  });

  it("are taken away after the broker was killed in the middle of it, and what is not over is still there", async () => {
    const { sweepIn, counts, owner } = await app();
    const keys = Array.from({ length: 300 }, (_, index) => `k${String(index).padStart(3, "0")}`);
    await Promise.all(keys.map(async (key, index) => data.set({ table: "t", key, ttl: inSeconds(index % 2 === 0 ? 60 : 7_200) })));
    const sweeping = sweepIn(HOUR_MS).catch(() => 0);
    await until(async () => (await owner.store.count("data", "")) < 290, { timeoutMs: 20_000 });
    await killBroker(world);
    await sweeping;
    await sweepIn(HOUR_MS + 20_000);
    expect(await counts()).toEqual({ documents: 150, entries: 150 });
    expect(keysOf((await data.get({ table: "t", limit: 1_000 })) as Docs)).toEqual(keys.filter((_, index) => index % 2 === 1)); // {table} gives documents.
  });
});

describe("looking for them", () => {
  it("begins with all time that ever was, goes on with what has become due, and now and then looks everywhere again", () => {
    const nowEpochMs = 1_800_000_000_000;
    const last = dueSlot(nowEpochMs);
    expect(slotsToSweep(undefined, nowEpochMs)).toEqual({ first: 0, last });
    expect(slotsToSweep({ nextSlot: last - 1, fullAtEpochMs: nowEpochMs + 1 }, nowEpochMs)).toEqual({ first: last - 1, last });
    expect(slotsToSweep({ nextSlot: last - 1, fullAtEpochMs: nowEpochMs }, nowEpochMs)).toEqual({ first: 0, last });
  });

  it("is not done where nothing was ever written, nor where nothing was since a look that left nothing to end", () => {
    const left = { nextSlot: 1, fullAtEpochMs: 0, revision: 7, hasEntries: false };
    expect(hasNothingToEnd(undefined, 0)).toBe(true);
    expect(hasNothingToEnd(left, 7)).toBe(true);
    expect(hasNothingToEnd(undefined, 7)).toBe(false);
    expect(hasNothingToEnd(left, 8)).toBe(false);
    expect(hasNothingToEnd({ ...left, hasEntries: true }, 7)).toBe(false);
    expect([hasNothingToEnd(left, null), hasNothingToEnd({ ...left, revision: null }, null)]).toEqual([false, false]); // The broker does not say.
  });

  it("asks a store for nothing until a document is written there, and again until the last one that ends has left", async () => {
    const { asked, sweepIn, counts } = await app();
    expect([await sweepIn(0), asked.count]).toEqual([0, 0]);
    await data.set({ table: "t", key: "stays" });
    await sweepIn(0);
    const first = asked.count;
    expect(first).toBeGreaterThan(0);
    await sweepIn(20_000);
    expect(asked.count).toBe(first);
    await data.set({ table: "t", key: "over", ttl: inSeconds(60) });
    expect([await sweepIn(40_000), await sweepIn(60_000), await sweepIn(HOUR_MS)]).toEqual([0, 0, 1]);
    expect(await counts()).toEqual({ documents: 1, entries: 0 });
    const last = asked.count;
    await sweepIn(2 * HOUR_MS);
    expect(asked.count).toBe(last);
  });

  it("says once that it fails, and goes on as soon as it can", async () => {
    const { appId, owner } = await app();
    await data.set({ table: "t", key: "over", ttl: inSeconds(60) });
    const reports: string[] = [];
    let isAway = true;
    const keeper = createExpiryKeeper({
      places: () => [{ appId, environment: "staging" }],
      stores: async () => (isAway ? Promise.reject(new Error("the broker is away")) : owner),
      writtenRevision,
      clock: { nowEpochMs: () => Date.now() + HOUR_MS },
      report: (text) => void reports.push(text),
    });
    expect([await keeper.sweep(), await keeper.sweep()]).toEqual([0, 0]);
    isAway = false;
    expect(await keeper.sweep()).toBe(1);
    expect(reports).toEqual(["documents of staging whose ttl is over stay on the disk for now: the broker is away"]);
  });
});

describe("sessions that nobody visits", () => {
  it("leave the disk when their time is over, and those that were renewed meanwhile do not", async () => {
    const { appId, owner } = await app();
    await world.changeBucket(appId, "sessions", { max_age: 2_000_000_000 });
    const { store } = owner;
    await store.put("sessions", "idle", Buffer.from("{}"));
    const renew = async () => store.put("sessions", "renewed", Buffer.from("{}"));
    await renew();
    expect(await store.count("sessions", "")).toBe(2);
    await until(async () => (await renew()) > 0 && (await store.get("sessions", "idle")) === null, { timeoutMs: 10_000 });
    expect(await store.get("sessions", "renewed")).not.toBeNull();
    await until(async () => (await store.count("sessions", "")) === 0, { timeoutMs: 10_000 });
  });
});

describe("a minute after its end", () => {
  it("a document has left the disk by itself, and is not counted", async () => {
    const { requests } = await stores.of("minute", "staging");
    await until(async () => (await requests.countOf("data", ">")) === 1, { timeoutMs: 60_000 });
    expect(await requests.countOf("data", "$KV.data.74.>")).toBe(1);
  });
});

// Stores that are full: each limit is named when it is reached, what is there stays, and destroying makes room again.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { layBridge, type BridgeRequest, type Store } from "../../runtime-image/library/bridge.ts";
import { data } from "../../runtime-image/library/data.ts";
import { functions } from "../../runtime-image/library/functions.ts";
import { version2 } from "../support/library-events.ts";
import { getOne } from "../support/laid-store.ts";
import { startStoreWorld, type StoreWorld } from "../support/store-world.ts";

const { session } = functions.http;
let world: StoreWorld;
let appCount = 0;

beforeAll(async () => {
  world = await startStoreWorld();
});
afterAll(() => world.close());

/** An app whose bucket has a small limit. What the library does is done as part of one request. */
async function appWith(
  bucket: "data" | "sessions",
  settings: Readonly<Record<string, number>>,
): Promise<{ store: Store; visit(cookie: string): void }> {
  appCount += 1;
  const appId = `full${appCount}`;
  const store = await world.store({ appId });
  await world.changeBucket(appId, bucket, settings);
  let request: BridgeRequest = requestWith("");
  layBridge({ environment: "staging", appName: "app", secret: "00".repeat(32), currentRequest: () => request, store }, () => null);
  return { store, visit: (cookie) => void (request = requestWith(cookie)) };
}

const requestWith = (cookie: string): BridgeRequest => ({
  id: "r",
  method: "GET",
  path: "/",
  scheme: "http",
  headers: cookie === "" ? [] : ["cookie", cookie],
});

/** Sets documents until there is no room for another; their keys. */
async function fill(attributes: Readonly<Record<string, unknown>>): Promise<{ keys: string[]; error: unknown }> {
  const keys: string[] = [];
  try {
    for (;;) {
      const key = `k${keys.length}`;
      await data.set({ table: "t", key, n: keys.length, ...attributes });
      keys.push(key);
    }
  } catch (error) {
    return { keys, error };
  }
}

describe("documents", () => {
  it("of the greatest number that there may be are all there, can be destroyed, and then others have room", async () => {
    await appWith("data", { max_msgs: 20 });
    const { keys, error } = await fill({});
    expect(error).toMatchObject({
      code: "STORE_FULL",
      message: expect.stringContaining("The limit of 20 documents is reached.") as string,
    });
    expect(keys).toHaveLength(20);
    await expect(data.set({ table: "t", key: "k1", n: "changed" })).rejects.toMatchObject({ code: "STORE_FULL" });
    await expect(data.incr({ table: "t", key: "k1", prop: "n" })).rejects.toMatchObject({ code: "STORE_FULL" });
    expect(await data.count({ table: "t" })).toBe(20);
    for (const key of keys) expect(await getOne({ table: "t", key })).toMatchObject({ n: keys.indexOf(key) });
    await data.destroy({ table: "t", key: "k0" });
    await data.incr({ table: "t", key: "k1", prop: "n" });
    expect(await getOne({ table: "t", key: "k1" })).toMatchObject({ n: 2 });
    for (const key of keys) await data.destroy({ table: "t", key });
    expect((await fill({})).keys).toHaveLength(20);
  });

  it("that fill their part of the disk leave the sessions theirs, and give room back when they are destroyed", async () => {
    const { store } = await appWith("data", { max_bytes: 2_000_000 });
    const { keys, error } = await fill({ text: "x".repeat(150_000) });
    expect(error).toMatchObject({
      code: "STORE_FULL",
      message: expect.stringContaining("The limit of 2 MB for documents is reached.") as string,
    });
    await store.put("sessions", "id", Buffer.alloc(400_000));
    for (let round = 0; round < 3; round += 1) {
      for (const key of keys) await data.destroy({ table: "t", key });
      expect(await store.count("data", "")).toBe(0);
      expect((await fill({ text: "x".repeat(150_000) })).keys).toEqual(keys);
    }
  });

  it("with a ttl leave nothing behind when there is no room for them", async () => {
    const { store } = await appWith("data", { max_bytes: 1_000_000 });
    const ttl = Math.floor(Date.now() / 1_000) + 3_600;
    const { keys } = await fill({ text: "x".repeat(150_000), ttl });
    for (let count = 0; count < 5; count += 1)
      await expect(data.set({ table: "t", key: "more", text: "x".repeat(150_000), ttl })).rejects.toMatchObject({ code: "STORE_FULL" });
    for (const key of keys) await data.destroy({ table: "t", key });
    expect(await store.count("data", "")).toBe(0);
    await world.changeBucket(`full${appCount}`, "data", { max_msgs: 2 }); // One document and what announces it.
    expect((await fill({ ttl })).keys).toHaveLength(1);
  });
});

describe("sessions", () => {
  it("of the greatest number that there may be can be read and ended, and then another begins", async () => {
    const { visit } = await appWith("sessions", { max_msgs: 3 });
    const cookies: string[] = [];
    const signIn = async (): Promise<void> => {
      visit("");
      cookies.push((await session.write({ visitor: cookies.length }))?.split(";")[0] ?? "");
    };
    for (let count = 0; count < 3; count += 1) await signIn();
    await expect(signIn()).rejects.toMatchObject({
      code: "STORE_FULL",
      message: expect.stringContaining("The limit of 3 sessions is reached.") as string,
    });
    for (const [visitor, cookie] of cookies.entries()) expect(await session.read(version2({ headers: { cookie } }))).toEqual({ visitor });
    await data.set({ table: "t", key: "has room of its own" });
    visit(cookies[0] ?? "");
    await session.write({});
    await signIn();
    expect(await session.read(version2({ headers: { cookie: cookies[3] ?? "" } }))).toEqual({ visitor: 3 });
  });
});

describe("a value", () => {
  it("beyond what one may be is refused by the broker itself", async () => {
    const store = await world.store({ appId: "usual" });
    await expect(store.put("data", "6161.62", Buffer.alloc(600_000))).rejects.toThrow("exceeds");
  });
});

// Documents with a time to live, counters, and callbacks in place of promises.
import { beforeEach, describe, expect, it } from "vitest";
import { count, decr, destroy, get, incr, set } from "../../../runtime-image/library/data.ts";
import { getSome, keysOf, layStore } from "../../support/laid-store.ts";
import { createMemoryStore } from "../../support/memory-store.ts";

beforeEach(() => layStore(createMemoryStore()));

const nowS = (): number => Math.floor(Date.now() / 1_000);

describe("a ttl", () => {
  it("that is over makes a document gone from every read, and clears it away", async () => {
    await set([
      { table: "t", key: "gone", ttl: nowS() - 1 },
      { table: "t", key: "later", ttl: nowS() + 60 },
      { table: "t", key: "text", ttl: "1" },
    ]);
    expect(await get({ table: "t", key: "gone" })).toBeNull();
    await set({ table: "t", key: "gone", ttl: nowS() - 1 });
    expect(await getSome([{ table: "t", key: "gone" }])).toEqual([]);
    await set({ table: "t", key: "gone", ttl: nowS() });
    expect(keysOf(await getSome({ table: "t" }))).toEqual(["later", "text"]);
    expect(await count({ table: "t" })).toBe(2);
  });

  it("that is over does not make pages shorter", async () => {
    for (let index = 10; index < 60; index += 1) await set({ table: "t", key: `k${index}`, ...(index % 2 === 0 ? { ttl: 1 } : {}) });
    const first = await getSome({ table: "t", limit: 20 });
    expect(first).toHaveLength(20);
    expect(await getSome({ table: "t", cursor: first.cursor })).toHaveLength(5);
  });

  it("that is over does not take a document along that was written in its place", async () => {
    const memory = createMemoryStore();
    layStore({
      ...memory,
      get: async (bucket, key) => {
        const found = await memory.get(bucket, key);
        await memory.put(bucket, key, Buffer.from('{"table":"t","key":"k","fresh":true}')); // Just after it was read.
        return found;
      },
    });
    await set({ table: "t", key: "k", ttl: 1 });
    expect(await get({ table: "t", key: "k" })).toBeNull();
    expect(await get({ table: "t", key: "k" })).toEqual({ table: "t", key: "k", fresh: true });
  });
});

describe("a counter", () => {
  it("starts at 0 and returns the whole document", async () => {
    expect(await incr({ table: "things-i-like", key: "trees", prop: "n" })).toEqual({ table: "things-i-like", key: "trees", n: 1 });
    expect(await decr({ table: "things-i-like", key: "trees", prop: "n" })).toEqual({ table: "things-i-like", key: "trees", n: 0 });
    expect(await decr({ table: "things-i-like", key: "trees", prop: "m" })).toEqual({ table: "things-i-like", key: "trees", n: 0, m: -1 });
  });

  it("loses nothing when many count at once, and when others write in between", async () => {
    const memory = createMemoryStore();
    let intruderCount = 0;
    layStore({
      ...memory,
      put: async (bucket, key, bytes, options) => {
        if ((intruderCount += 1) % 3 === 0) {
          const found = await memory.get(bucket, key);
          if (found !== null) await memory.put(bucket, key, found.bytes);
        }
        return memory.put(bucket, key, bytes, options);
      },
    });
    await Promise.all(Array.from({ length: 50 }, async () => incr({ table: "t", key: "k", prop: "n" })));
    expect(await get({ table: "t", key: "k" })).toMatchObject({ n: 50 });
  });

  it("begins anew where the document has expired", async () => {
    await set({ table: "t", key: "k", n: 5, ttl: 1 });
    expect(await incr({ table: "t", key: "k", prop: "n" })).toEqual({ table: "t", key: "k", n: 1 });
  });

  it("counts in no text, and under no name that is not there", async () => {
    await set({ table: "t", key: "k", n: "5" });
    await expect(incr({ table: "t", key: "k", prop: "n" })).rejects.toThrow("Invalid property n: expected a number, found string");
    expect(await incr({ table: "t", key: "k", prop: "toString" })).toMatchObject({ toString: 1 });
    for (const name of ["table", "key", "prop"])
      await expect(incr({ table: "t", key: "k", prop: "n", [name]: undefined })).rejects.toThrow(
        new ReferenceError(`Missing param: ${name}`),
      );
  });
});

describe("callbacks", () => {
  const called = (work: (callback: (error: unknown, value?: unknown) => void) => unknown): Promise<readonly [unknown, unknown]> =>
    new Promise((resolve) => expect(work((error, value) => resolve([error, value]))).toBeUndefined());

  it("get what a promise would", async () => {
    expect(await called((done) => set({ table: "t", key: "k" }, done))).toEqual([null, { table: "t", key: "k" }]);
    expect(await called((done) => get({ table: "t" }, done))).toEqual([null, [{ table: "t", key: "k" }]]);
    expect(await called((done) => count({ table: "t" }, done))).toEqual([null, 1]);
    expect(await called((done) => incr({ table: "t", key: "k", prop: "n" }, done))).toEqual([null, { table: "t", key: "k", n: 1 }]);
    expect(await called((done) => destroy({ table: "t", key: "k" }, done))).toEqual([null, undefined]);
  });

  it("get the error where something is wrong", async () => {
    const [error] = await called((done) => set({}, done));
    expect(error).toBeInstanceOf(ReferenceError);
  });
});

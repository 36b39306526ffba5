// Documents: what apps written for @begin/data rely on, and where we are stricter than it was.
import { beforeEach, describe, expect, it } from "vitest";
import type { Store } from "../../../runtime-image/library/bridge.ts";
import { count, data, destroy, get, page, set } from "../../../runtime-image/library/data.ts";
import { getOne, getSome, keysOf, layStore, type Doc } from "../../support/laid-store.ts";
import { createMemoryStore } from "../../support/memory-store.ts";

let store: Store;

function lay(laid: Store): void {
  store = laid;
  layStore(laid);
}

beforeEach(() => lay(createMemoryStore()));

const thrownBy = async (work: () => unknown): Promise<Error> => {
  try {
    await work();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error("nothing was thrown");
};
describe("one document", () => {
  it("comes back as it was saved, with its table and key", async () => {
    const saved = await set({
      table: "tacos",
      key: "al pastor",
      hot: true,
      toppings: ["onion"],
      size: { cm: 12 },
      note: "",
      nothing: null,
    });
    expect(saved).toEqual({ table: "tacos", key: "al pastor", hot: true, toppings: ["onion"], size: { cm: 12 }, note: "", nothing: null });
    expect(await getOne({ table: "tacos", key: "al pastor" })).toEqual(saved);
  });

  it("is null where there is none", async () => {
    expect(await get({ table: "foo", key: "nooo" })).toBeNull();
    expect(await get({ table: "foo", key: undefined })).toBeNull();
    expect(await get({ table: "foo", key: "x".repeat(51) })).toBeNull();
  });

  it("gets a key that is safe in a URL and never the same where it comes without one", async () => {
    const saved = (await set(Array.from({ length: 25 }, () => ({ table: "tokens" })))) as Doc[];
    const alone = (await set({ table: "tokens", key: "" })) as Doc;
    const keys = keysOf([...saved, alone]);
    expect(new Set(keys).size).toBe(26);
    for (const key of keys) expect(key).toMatch(/^[\w-]{10,20}$/);
  });

  it("leaves the object that was handed over as it was", async () => {
    const params = Object.freeze({ table: "t", list: Object.freeze([1]) });
    const saved = (await set(params)) as Doc;
    expect(params).toEqual({ table: "t", list: [1] });
    expect(saved["list"]).not.toBe(params.list);
    await set(Object.freeze([params]));
    await destroy(Object.freeze({ ...saved }));
  });

  it("is replaced whole by the next set, not merged", async () => {
    await set({ table: "t", key: "k", a: 1 });
    await set({ table: "t", key: "k", b: 2 });
    expect(await get({ table: "t", key: "k" })).toEqual({ table: "t", key: "k", b: 2 });
  });

  it("may be up to 200 KB of JSON, and not a byte more", async () => {
    const frame = JSON.stringify({ table: "t", key: "k", text: "" }).length;
    await set({ table: "t", key: "k", text: "x".repeat(200_000 - frame) });
    for (const text of ["x".repeat(200_001 - frame), "é".repeat(100_000)])
      expect(await thrownBy(() => set({ table: "t", key: "k", text }))).toMatchObject({
        message: "Item too large; must be less than 200KB",
      });
  });

  it("may have attributes of any name", async () => {
    const params = JSON.parse('{"table":"t","key":"k","__proto__":{"polluted":true},"constructor":1}') as Record<string, unknown>;
    await set(params);
    const found = await getOne({ table: "t", key: "k" });
    expect(Object.keys(found ?? {}).toSorted()).toEqual(["__proto__", "constructor", "key", "table"]);
    expect(found).not.toHaveProperty("polluted");
  });

  it("is destroyed by what set returned, and destroying it again is nothing", async () => {
    const junk = await set({ table: "junk", noop: true });
    expect(await destroy(junk)).toBeUndefined();
    await destroy(junk);
    expect(await count({ table: "junk" })).toBe(0);
  });
});

describe("names", () => {
  it.each([
    "Māori",
    "Wai'ale'ale",
    "日本語",
    "a#b",
    "a.b",
    "*",
    ">",
    "with space",
    "emoji 👩‍👩‍👧",
    "\u0000",
    "😀".repeat(50),
    "-",
    "$KV",
    "../..",
  ])("may be %j", async (name) => {
    await set({ table: name, key: name, n: 1 });
    expect(await get({ table: name, key: name })).toEqual({ table: name, key: name, n: 1 });
    expect(keysOf(await getSome({ table: name }))).toEqual([name]);
    await destroy({ table: name, key: name });
    expect(await count({ table: name })).toBe(0);
  });

  it("do not reach into tables that begin like theirs, and keys with a # stay whole", async () => {
    for (const table of ["a", "ab", "a#b", "A"]) await set({ table, key: "k#1", of: table });
    for (const table of ["a", "ab", "a#b", "A"]) {
      expect(await getSome({ table })).toEqual([{ table, key: "k#1", of: table }]);
      expect(await count({ table })).toBe(1);
    }
  });

  it("that are numbers count as their text", async () => {
    await set({ table: "t", key: 42, n: 1 });
    expect(await get({ table: "t", key: "42" })).toEqual({ table: "t", key: "42", n: 1 });
    expect(await get({ table: "t", key: 42 })).toEqual({ table: "t", key: "42", n: 1 });
  });

  it.each([
    [{ key: "k" }, ReferenceError, "Table is not defined"],
    [{ table: "", key: "k" }, ReferenceError, "Table is not defined"],
    [{ table: "x".repeat(51) }, Error, `Table name has too many characters; max 50, received 51 for ${"x".repeat(51)}`],
    [{ table: "😀".repeat(51) }, Error, `Table name has too many characters; max 50, received 51 for ${"😀".repeat(51)}`],
    [{ table: "t", key: "x".repeat(51) }, Error, "Key name has too many characters; max 50, received 51"],
    [{ table: "t", key: "\ud800" }, SyntaxError, /^Invalid key name of "\\ud800": names must be/],
    [{ table: {} }, SyntaxError, /^Invalid table name of object: names must be/],
    [null, ReferenceError, "Missing params"],
    [[{ table: "t" }, { key: "k" }], ReferenceError, "Table is not defined"],
    [[null], ReferenceError, "Table is not defined"],
    [Array.from({ length: 26 }, () => ({ table: "t" })), Error, "Batch too large; max 25, received 26"],
  ])("wrong in set(%j) are refused in the words of the original", async (params, kind, message) => {
    const error = await thrownBy(() => set(params));
    expect(error).toBeInstanceOf(kind);
    expect(error.message).toMatch(message);
    expect(await store.count("data", "")).toBe(0);
  });
});

describe("several documents", () => {
  it("are saved across tables, and read in the order that was asked for, without the missing ones", async () => {
    await set([
      { table: "ppl", key: "b" },
      { table: "tacos", key: "pollo" },
      { table: "ppl", key: "a" },
    ]);
    const found = await getSome([
      { table: "tacos", key: "pollo" },
      { table: "ppl", key: "nobody" },
      { table: "ppl", key: "a" },
    ]);
    expect(found).toEqual([
      { table: "tacos", key: "pollo" },
      { table: "ppl", key: "a" },
    ]);
  });

  it("are read by what set returned", async () => {
    const saved = await set([
      { table: "m", name: "golden ears" },
      { table: "m", name: "baker" },
      { table: "m", name: "sky pilot" },
    ]);
    expect(await get(saved)).toEqual(saved);
  });

  it("of the same key in one batch leave the last", async () => {
    await set([
      { table: "t", key: "k", n: 1 },
      { table: "t", key: "k", n: 2 },
      { table: "t", key: "k", n: 3 },
    ]);
    expect(await get({ table: "t", key: "k" })).toMatchObject({ n: 3 });
  });

  it("are written or destroyed only where every one of them is right", async () => {
    await set({ table: "t", key: "stays" });
    await expect(
      set([
        { table: "t", key: "a" },
        { table: "t", key: "b", text: "x".repeat(200_001) },
      ]),
    ).rejects.toThrow("Item too large");
    await expect(destroy([{ table: "t", key: "stays" }, { table: "t" }])).rejects.toThrow(new ReferenceError("Missing table in params"));
    expect(keysOf(await getSome({ table: "t" }))).toEqual(["stays"]);
  });

  it("tell which of them were applied where the store fails in the middle", async () => {
    const memory = createMemoryStore();
    const full = Object.assign(new Error("The store is full."), { code: "STORE_FULL" });
    lay({
      ...memory,
      put: (bucket, key, bytes, options) => (key.endsWith("62") ? Promise.reject(full) : memory.put(bucket, key, bytes, options)),
    });
    const error = await thrownBy(() =>
      set([
        { table: "t", key: "a" },
        { table: "t", key: "b" },
        { table: "t", key: "c" },
      ]),
    );
    expect(error).toMatchObject({
      name: "BatchError",
      code: "STORE_FULL",
      applied: [
        { table: "t", key: "a" },
        { table: "t", key: "c" },
      ],
      failed: [{ table: "t", key: "b" }],
      message: "2 of 3 items were applied (t/a, t/c), not t/b: The store is full.",
    });
    expect(keysOf(await getSome({ table: "t" }))).toEqual(["a", "c"]);
  });

  it("are 25 at most to destroy and 100 at most to read", async () => {
    const places = (length: number) => Array.from({ length }, (_, index) => ({ table: "t", key: `k${index}` }));
    await destroy(places(25));
    await get(places(100));
    await expect(destroy(places(26))).rejects.toThrow("Batch too large; max 25, received 26");
    await expect(get(places(101))).rejects.toThrow("Batch too large; max 100, received 101");
    await expect(get([{ table: "t" }])).rejects.toThrow("Invalid params: all items must have table and key");
  });
});

describe("a table", () => {
  const fill = async (keys: readonly string[], table = "t") => {
    for (let start = 0; start < keys.length; start += 25) await set(keys.slice(start, start + 25).map((key) => ({ table, key })));
  };

  it("is read ten at a time in the order of keys, with a cursor only where there are more", async () => {
    const keys = Array.from({ length: 25 }, (_, index) => `k${String((index * 7) % 25).padStart(2, "0")}`);
    await fill(keys);
    const first = await getSome({ table: "t" });
    const second = await getSome({ table: "t", cursor: first.cursor });
    const third = await getSome({ table: "t", cursor: second.cursor });
    expect([first, second, third].flatMap(keysOf)).toEqual(keys.toSorted());
    expect([first, second, third].map(({ length }) => length)).toEqual([10, 10, 5]);
    expect([typeof first.cursor, typeof second.cursor, "cursor" in third]).toEqual(["string", "string", false]);
    expect("cursor" in (await getSome({ table: "t", limit: 25 }))).toBe(false);
  });

  it("orders keys by code point, which is the order of their UTF-8", async () => {
    await fill(["😀", "～", "z", "é", "a", "B", "1", "aa"]);
    expect(keysOf(await getSome({ table: "t" }))).toEqual(["1", "B", "a", "aa", "z", "é", "～", "😀"]);
  });

  it("is empty where nobody wrote to it", async () => {
    expect(await getSome({ table: "curling" })).toEqual([]);
    expect(await count({ table: "curling" })).toBe(0);
  });

  it("gives the documents whose keys begin as asked, page by page too", async () => {
    await fill(["2019-09-16", "2019-09-17", "2019-09-19", "2019-09-21", "2019-10-17", "2019-09", "2019-0", "2018"]);
    expect(keysOf(await getSome({ table: "t", begin: "2019-09" }))).toEqual([
      "2019-09",
      "2019-09-16",
      "2019-09-17",
      "2019-09-19",
      "2019-09-21",
    ]);
    const first = await getSome({ table: "t", begin: "2019-09", limit: 2 });
    const second = await getSome({ table: "t", begin: "2019-09", limit: 3, cursor: first.cursor });
    expect([...keysOf(first), ...keysOf(second)]).toHaveLength(5);
    expect("cursor" in second).toBe(false);
    for (const begin of ["2019-099", "3", "\u0000", "2019-09-160"]) expect(await getSome({ table: "t", begin })).toEqual([]);
  });

  it("begins with bytes that end in any digit", async () => {
    const keys = ["\u0000", "\u0000a", "\u000f", "\u0010", "0", "a", "p", "\u007f", "ÿ"];
    await fill(keys);
    for (const key of keys)
      expect(keysOf(await getSome({ table: "t", begin: key }))).toEqual(key === "\u0000" ? ["\u0000", "\u0000a"] : [key]);
  });

  it("goes on behind the cursor whatever was written and destroyed meanwhile", async () => {
    await fill(["b", "d", "f", "h"]);
    const first = await getSome({ table: "t", limit: 2 });
    await destroy([
      { table: "t", key: "d" },
      { table: "t", key: "f" },
    ]);
    await fill(["a", "c", "e", "i"]);
    expect(keysOf(await getSome({ table: "t", cursor: first.cursor }))).toEqual(["e", "h", "i"]);
  });

  it("refuses a cursor that is none, or another table's, and a limit that is no number", async () => {
    await fill(["a", "b"]);
    await fill(["a", "b"], "other");
    const { cursor } = await getSome({ table: "other", limit: 1 });
    for (const wrong of [cursor, "nonsense", Buffer.from("{}").toString("base64"), Buffer.from("null").toString("base64")])
      await expect(get({ table: "t", cursor: wrong })).rejects.toThrow("Invalid cursor; expected one that came with a page of t");
    for (const limit of [-1, 1.5, "many", {}]) await expect(get({ table: "t", limit })).rejects.toThrow("Invalid limit");
    expect(await getSome({ table: "t", limit: "1" })).toHaveLength(1);
  });

  it("ends a page of large documents early, with a cursor that goes on", async () => {
    const text = "x".repeat(190_000);
    for (let index = 0; index < 100; index += 25)
      await set(Array.from({ length: 25 }, (_, one) => ({ table: "t", key: `k${index + one + 100}`, text })));
    const first = await getSome({ table: "t", limit: 1_000 });
    const second = await getSome({ table: "t", limit: 1_000, cursor: first.cursor });
    expect(first.length).toBeLessThan(100);
    expect(keysOf([...first, ...second])).toEqual(Array.from({ length: 100 }, (_, index) => `k${index + 100}`));
  });

  it("is walked through by page(), which leaves what it was given alone", async () => {
    await fill(Array.from({ length: 102 }, (_, index) => `k${index}`));
    const params = Object.freeze({ table: "t", limit: 25 });
    const sizes: number[] = [];
    for await (const one of page(params)) sizes.push(one.length);
    expect(sizes).toEqual([25, 25, 25, 25, 2]);
    const empty: unknown[] = [];
    for await (const one of data.page({ table: "none" })) empty.push(one);
    expect(empty).toEqual([[]]);
    expect(() => page({})).toThrow(new ReferenceError("Missing params.table"));
  });

  it("says what is missing in the words of the original", async () => {
    await expect(get({})).rejects.toThrow(new ReferenceError("Invalid args; expected [{table, key}], {table, key} or {table}"));
    await expect(get(undefined)).rejects.toThrow("Invalid args; expected");
    await expect(count({})).rejects.toThrow(new ReferenceError("Missing params.table"));
    await expect(destroy(undefined)).rejects.toThrow(new ReferenceError("Missing params in arguments"));
    await expect(destroy({ table: "t" })).rejects.toThrow(new ReferenceError("Key is not defined"));
  });
});

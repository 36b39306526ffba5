// What every Store does, whatever is behind it: one list, played on the real one and on the one in memory.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RevisionConflict, type Store } from "../../runtime-image/library/bridge.ts";

export interface StoreUnderTest {
  readonly store: Store;
  readonly other: Store; // Another client of the same buckets.
  close(): Promise<void>;
}

const text = (value: string): Uint8Array => Buffer.from(value);
const hex = (value: string): string => Buffer.from(value).toString("hex");
let tableCount = 0;

/** A prefix that nothing else uses. */
const freshPrefix = (): string => `${hex(`table ${(tableCount += 1)}`)}.`;

export function describeStore(name: string, open: () => Promise<StoreUnderTest>): void {
  // oxlint-disable-next-line vitest/valid-title -- A parameter that is always a string.
  describe(name, () => {
    let test: StoreUnderTest;
    let store: Store;
    beforeAll(async () => {
      test = await open();
      store = test.store;
    });
    afterAll(() => test.close());

    const readText = async (key: string): Promise<string | null> => {
      const found = await store.get("data", key);
      return found === null ? null : Buffer.from(found.bytes).toString("utf8");
    };
    const fill = (prefix: string, keys: readonly string[]) =>
      Promise.all(keys.map((key) => store.put("data", prefix + hex(key), text(key))));
    const allKeys = async (prefix: string, limit: number): Promise<string[]> => {
      const keys: string[] = [];
      for (;;) {
        const page = await store.list("data", { prefix, after: keys.at(-1) ?? null, limit });
        keys.push(...page);
        if (page.length < limit) return keys;
      }
    };

    describe("a value", () => {
      it("is read as it was written, by everyone, and has the revision that writing it gave", async () => {
        const key = `${freshPrefix()}61`;
        const revision = await store.put("data", key, text("first"));
        expect(await store.get("data", key)).toMatchObject({ revision });
        expect(await readText(key)).toBe("first");
        expect(await test.other.get("data", key)).toEqual(await store.get("data", key));
      });

      it("is null where nothing was written", async () => {
        expect(await store.get("data", `${freshPrefix()}61`)).toBeNull();
        expect(await store.get("sessions", "nobody")).toBeNull();
      });

      it("may be empty, and may hold every byte", async () => {
        const prefix = freshPrefix();
        const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
        await store.put("data", `${prefix}61`, new Uint8Array(0));
        await store.put("data", `${prefix}62`, bytes);
        expect((await store.get("data", `${prefix}61`))?.bytes).toHaveLength(0);
        expect(Buffer.from((await store.get("data", `${prefix}62`))?.bytes ?? []).equals(bytes)).toBe(true);
      });

      it("of 400 KB fits", async () => {
        const bytes = Buffer.alloc(400_000, "x");
        await store.put("sessions", "large", bytes);
        expect(Buffer.from((await store.get("sessions", "large"))?.bytes ?? []).equals(bytes)).toBe(true);
      });

      it("is the same whatever happens to the bytes that were handed over", async () => {
        const key = `${freshPrefix()}61`;
        const bytes = text("mine");
        await store.put("data", key, bytes);
        bytes.fill(0);
        expect(await readText(key)).toBe("mine");
      });

      it("is another one in the other bucket", async () => {
        await store.put("data", "6161.62", text("document"));
        expect(await store.get("sessions", "6161.62")).toBeNull();
      });
    });

    describe("writing", () => {
      it("takes the place of what was there, with a greater revision", async () => {
        const key = `${freshPrefix()}61`;
        const first = await store.put("data", key, text("first"));
        const second = await store.put("data", key, text("second"));
        expect(second).toBeGreaterThan(first);
        expect(await readText(key)).toBe("second");
      });

      it("at the expected revision succeeds, and at any other is a conflict that changes nothing", async () => {
        const key = `${freshPrefix()}61`;
        const first = await store.put("data", key, text("first"), { expectedRevision: 0 });
        await store.put("data", key, text("second"), { expectedRevision: first });
        for (const expectedRevision of [0, first, first + 1_000_000])
          await expect(store.put("data", key, text("third"), { expectedRevision })).rejects.toBeInstanceOf(RevisionConflict);
        expect(await readText(key)).toBe("second");
      });

      it("at revision 0 works again once the value was removed", async () => {
        const key = `${freshPrefix()}61`;
        await store.put("data", key, text("first"));
        await store.remove("data", key);
        await store.put("data", key, text("again"), { expectedRevision: 0 });
        expect(await readText(key)).toBe("again");
      });

      it("by many at the same revision lets one of them through", async () => {
        const key = `${freshPrefix()}61`;
        const writers = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? store : test.other));
        const outcomes = await Promise.allSettled(writers.map((writer) => writer.put("data", key, text("x"), { expectedRevision: 0 })));
        expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      });
    });

    describe("removing", () => {
      it("makes a value null for everyone, and is nothing where there is none", async () => {
        const key = `${freshPrefix()}61`;
        await store.put("data", key, text("there"));
        await store.remove("data", key);
        await store.remove("data", key);
        expect(await store.get("data", key)).toBeNull();
        expect(await test.other.get("data", key)).toBeNull();
      });

      it("of a revision leaves what was written after it", async () => {
        const key = `${freshPrefix()}61`;
        const first = await store.put("data", key, text("first"));
        const second = await store.put("data", key, text("second"));
        await store.remove("data", key, { expectedRevision: first });
        expect(await readText(key)).toBe("second");
        await store.remove("data", key, { expectedRevision: second });
        expect(await readText(key)).toBeNull();
      });

      it("leaves the neighbours", async () => {
        const prefix = freshPrefix();
        await fill(prefix, ["a", "aa", "ab", "b"]);
        await store.remove("data", prefix + hex("a"));
        expect(await allKeys(prefix, 10)).toEqual(["aa", "ab", "b"].map((key) => prefix + hex(key)));
      });
    });

    describe("listing", () => {
      it("is in the order of keys, not of writing", async () => {
        const prefix = freshPrefix();
        const keys = ["m", "z", "a", "ma", "é", "0", "Z", "日本", "~", "a b"];
        await fill(prefix, keys);
        const expected = keys.map((key) => prefix + hex(key)).toSorted();
        expect(await allKeys(prefix, 100)).toEqual(expected);
      });

      it("goes on after any text, with the number that was asked for", async () => {
        const prefix = freshPrefix();
        await fill(prefix, ["a", "b", "c", "d"]);
        const list = (after: string | null, limit: number) => store.list("data", { prefix, after, limit });
        expect(await list(null, 2)).toEqual([`${prefix}61`, `${prefix}62`]);
        expect(await list(`${prefix}62`, 2)).toEqual([`${prefix}63`, `${prefix}64`]);
        expect(await list(`${prefix}61~`, 1)).toEqual([`${prefix}62`]);
        expect(await list(`${prefix}6`, 1)).toEqual([`${prefix}61`]);
        expect(await list(`${prefix}64`, 2)).toEqual([]);
        expect(await list("00.00", 10)).toHaveLength(4);
        expect(await list("ff.ff", 10)).toEqual([]);
      });

      it("knows the keys of its own prefix only, also where another begins like it", async () => {
        await fill("aaaa.", ["1"]);
        await fill("aaaaaa.", ["2"]);
        await fill("aa.", ["3"]);
        expect(await allKeys("aaaa.", 10)).toEqual([`aaaa.${hex("1")}`]);
        expect(await store.count("data", "aaaa.")).toBe(1);
      });

      it("divides a table of some thousand keys with a common beginning, and finds each key once, whatever the page", async () => {
        const prefix = freshPrefix();
        const keys = Array.from({ length: 3_000 }, (_, index) => `user-${(index * 7_919) % 3_000}`);
        keys.push("user-", "user", "u", "v", "user-1\u0000", "zebra");
        for (let start = 0; start < keys.length; start += 500) await fill(prefix, keys.slice(start, start + 500));
        const expected = keys.map((key) => prefix + hex(key)).toSorted();
        expect(await allKeys(prefix, 400)).toEqual(expected);
        expect(await allKeys(prefix, 5_000)).toEqual(expected);
        expect(await store.count("data", prefix)).toBe(keys.length);
        expect(await test.other.list("data", { prefix, after: `${prefix}${hex("user-15")}`, limit: 2 })).toEqual(
          expected.filter((key) => key > `${prefix}${hex("user-15")}`).slice(0, 2),
        );
      });

      it("works for keys as long as keys can be", async () => {
        const prefix = `${hex("😀".repeat(50))}.`;
        const keys = ["😀".repeat(50), "😀".repeat(49), `${"😀".repeat(49)}😁`].map((key) => prefix + hex(key));
        for (const key of keys) await store.put("data", key, text(key));
        expect(await allKeys(prefix, 1)).toEqual(keys.toSorted());
        for (const key of keys) await store.remove("data", key);
        expect(await store.count("data", prefix)).toBe(0);
      });

      it("finds everything of a bucket, too", async () => {
        const keys = ["list-a", "list-b"];
        for (const key of keys) await store.put("sessions", key, text(key));
        const all = await store.list("sessions", { prefix: "", after: null, limit: 100 });
        expect(all.filter((key) => key.startsWith("list-"))).toEqual(keys);
        expect(await store.count("sessions", "")).toBe(all.length);
      });
    });
  });
}

// Listing a table in order: whatever keys it has, and whatever an instance remembers of it, nothing is missed or found twice.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nextKeys, type KeyRanges, type Walk } from "../../../runtime-image/store/walk.ts";

interface Asked {
  count: number; // Keys that were counted, over all questions.
  names: number; // Keys that were listed.
  questions: number;
}

function walkOver(keys: readonly string[]): { readonly walk: Walk; readonly asked: Asked } {
  const asked: Asked = { count: 0, names: 0, questions: 0 };
  const below = (beginning: string): string[] => {
    asked.questions += 1;
    return keys.filter((key) => key.startsWith(beginning));
  };
  const ranges: KeyRanges = {
    count: async (beginning) => {
      const { length } = below(beginning);
      asked.count += length;
      return length;
    },
    names: async (beginning) => {
      const names = below(beginning).toSorted();
      asked.names += names.length;
      return names;
    },
    samples: async (beginning) => {
      const [first, ...rest] = below(beginning);
      return first === undefined ? null : [first, rest.at(-1) ?? first];
    },
    exists: async (key) => below(key).includes(key),
  };
  return { walk: { ranges, large: new Set() }, asked };
}

async function allOf(walk: Walk, limit: number): Promise<string[]> {
  const found: string[] = [];
  for (;;) {
    const page = await nextKeys(walk, { after: found.at(-1) ?? null, limit });
    found.push(...page);
    if (page.length < limit) return found;
  }
}

const hex = (text: string): string => Buffer.from(text).toString("hex");
const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => hex(`user-${String(index).padStart(6, "0")}`));

describe("listing a table", () => {
  it("finds every key once and in order, in pages of any size, with any recollection of large ranges", async () => {
    const byte = fc.constantFrom(0x00, 0x0f, 0x61, 0x62, 0xff);
    const key = fc.array(byte, { minLength: 1, maxLength: 4 }).map((bytes) => Buffer.from(bytes).toString("hex"));
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(key, { maxLength: 60 }),
        fc.integer({ min: 1, max: 70 }),
        fc.array(key.map((text) => text.slice(0, 3))),
        async (keys, limit, remembered) => {
          const { walk } = walkOver(keys);
          for (const beginning of ["", ...remembered]) walk.large.add(beginning);
          expect(await allOf(walk, limit)).toEqual(keys.toSorted());
        },
      ),
      { numRuns: 200 },
    );
  });

  it("starts after any text, whether or not there is such a key", async () => {
    const text = fc.stringMatching(/^[0-9a-f]{1,5}[~/`]?$/);
    const { walk } = walkOver(numbered(3_000));
    const sorted = numbered(3_000).toSorted();
    await fc.assert(
      fc.asyncProperty(
        text.map((end) => hex("user-0") + end),
        async (after) => {
          expect(await nextKeys(walk, { after, limit: 5 })).toEqual(sorted.filter((key) => key > after).slice(0, 5));
        },
      ),
      { numRuns: 100 },
    );
  });

  it("does not list or count a table of 20,000 for a page in the middle of it, once it knows where it is large", async () => {
    const { walk, asked } = walkOver(numbered(20_000));
    await nextKeys(walk, { after: null, limit: 10 });
    Object.assign(asked, { count: 0, names: 0, questions: 0 });
    const after = hex("user-010505");
    expect(await nextKeys(walk, { after, limit: 10 })).toEqual(numbered(10_516).slice(10_506));
    await nextKeys(walk, { after, limit: 10 });
    expect(asked.names).toBeLessThan(5_000);
    expect(asked.count).toBeLessThan(20_000);
    expect(asked.questions).toBeLessThan(50);
  });

  it("forgets that a range was large when it is not any more", async () => {
    const keys = numbered(5_000);
    const { walk, asked } = walkOver(keys);
    await allOf(walk, 1_000);
    keys.length = 3;
    expect(await allOf(walk, 10)).toEqual(numbered(3));
    await allOf(walk, 10);
    Object.assign(asked, { questions: 0 });
    expect(await allOf(walk, 10)).toEqual(numbered(3));
    expect(asked.questions).toBe(2);
  });
});

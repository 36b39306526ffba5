// Many writes at once, bounded, in order per key.
import { describe, expect, it } from "vitest";
import { carryOutInTurn } from "../../../orchestrator/stores/in-turn.ts";

interface Item {
  readonly key: string;
  readonly value: number;
}

const soon = (): Promise<void> => new Promise((done) => setImmediate(done));

describe("writes in turn", () => {
  it("never has more on its way than it may, by number or by size", async () => {
    let running = 0;
    let most = 0;
    const items = Array.from({ length: 50 }, (_, value) => ({ key: String(value), value }));
    const act = async (): Promise<void> => {
      most = Math.max(most, (running += 1));
      await soon();
      running -= 1;
    };
    await carryOutInTurn(items, { countAtOnce: 7, keyOf: ({ key }) => key }, act);
    expect(most).toBe(7);
    most = 0;
    await carryOutInTurn(items, { countAtOnce: 7, keyOf: ({ key }) => key, bytesAtOnce: { max: 30, of: () => 10 } }, act);
    expect(most).toBe(3);
  });

  it("keeps the order of one key, and lets others pass it", async () => {
    const done: string[] = [];
    const slow = Promise.withResolvers<void>();
    const items: Item[] = [
      { key: "a", value: 1 },
      { key: "a", value: 2 },
      { key: "b", value: 1 },
    ];
    const working = carryOutInTurn(items, { countAtOnce: 10, keyOf: ({ key }) => key }, async ({ key, value }) => {
      if (value === 1 && key === "a") await slow.promise;
      done.push(`${key}${value}`);
      if (key === "b") slow.resolve();
    });
    await working;
    expect(done).toEqual(["b1", "a1", "a2"]);
  });

  it("begins nothing after a failure, waits for what is on its way, and fails with it", async () => {
    const begun: number[] = [];
    const ended: number[] = [];
    const items = Array.from({ length: 20 }, (_, value) => ({ key: String(value % 2), value }));
    const working = carryOutInTurn(items, { countAtOnce: 3, keyOf: ({ key }) => key }, async ({ value }) => {
      begun.push(value);
      if (value === 0) throw new Error("the disk is full");
      await soon();
      ended.push(value);
    });
    await expect(working).rejects.toThrow("the disk is full");
    expect(begun.length).toBeLessThan(5);
    expect(ended).toEqual(begun.filter((value) => value !== 0));
  });

  it("fails with what its source fails with, once what is on its way has ended", async () => {
    const ended: number[] = [];
    const source = (async function* () {
      yield { key: "a", value: 1 };
      await soon();
      throw new Error("the file is damaged");
    })();
    const working = carryOutInTurn(source, { countAtOnce: 3, keyOf: ({ key }) => key }, async ({ value }) => {
      await soon();
      await soon();
      ended.push(value);
    });
    await expect(working).rejects.toThrow("the file is damaged");
    expect(ended).toEqual([1]);
  });
});

// What writers leave to be deleted: it waits for a pause, but not without bounds.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  STORE_CLEARING_AT_ONCE_COUNT,
  STORE_CLEARING_AT_ONCE_COUNT_MAX,
  STORE_CLEARING_BYTES_MAX,
  STORE_CLEARING_COUNT_MAX,
  STORE_CLEARING_PAUSE_MS,
  STORE_CLEARING_SAME_KEY_COUNT_MAX,
} from "../../../runtime-image/contract/limits.ts";
import { createClearingBacklog, type ClearingBacklog } from "../../../runtime-image/store/clearing.ts";

interface Item {
  readonly id: number;
  readonly subject: string;
  readonly byteCount: number;
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Clearings are begun at once, and end when they are told to. */
function opened(): { backlog: ClearingBacklog<Item>; begun: number[]; endAll(failure?: Error): Promise<void> } {
  const begun: number[] = [];
  const ends: ((failure?: Error) => void)[] = [];
  const backlog = createClearingBacklog<Item>(async ({ id }) => {
    begun.push(id);
    await new Promise<void>((resolve, reject) => ends.push((failure) => (failure === undefined ? resolve() : reject(failure))));
  });
  const endAll = async (failure?: Error): Promise<void> => {
    while (ends.length > 0) {
      for (const end of ends.splice(0)) end(failure);
      await vi.advanceTimersByTimeAsync(0);
    }
  };
  return { backlog, begun, endAll };
}

const small = (id: number): Item => ({ id, subject: `key ${id}`, byteCount: 10 });

describe("what is to be cleared", () => {
  it("waits as long as writers follow one another, and then goes, the oldest first, few at once", async () => {
    const { backlog, begun, endAll } = opened();
    for (let id = 0; id < 20; id += 1) {
      await backlog.add(small(id));
      await vi.advanceTimersByTimeAsync(STORE_CLEARING_PAUSE_MS - 1);
    }
    expect(begun).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(begun).toEqual(Array.from({ length: STORE_CLEARING_AT_ONCE_COUNT }, (_, id) => id));
    await endAll();
    expect(begun).toEqual(Array.from({ length: 20 }, (_, id) => id));
  });

  it("stops for a writer who comes in between, and goes on after that", async () => {
    const { backlog, begun, endAll } = opened();
    for (let id = 0; id < 10; id += 1) await backlog.add(small(id));
    await vi.advanceTimersByTimeAsync(STORE_CLEARING_PAUSE_MS);
    await backlog.add(small(10));
    await endAll();
    expect(begun).toHaveLength(STORE_CLEARING_AT_ONCE_COUNT);
    await vi.advanceTimersByTimeAsync(STORE_CLEARING_PAUSE_MS);
    await endAll();
    expect(begun).toHaveLength(11);
  });

  it.each([
    ["count", STORE_CLEARING_COUNT_MAX, 10],
    ["bytes", STORE_CLEARING_BYTES_MAX / 200_000, 200_000],
  ])(
    "has a bound for its %s: beyond, an old one goes for each new one, and writers wait for many on their way",
    async (_, countMax, byteCount) => {
      const { backlog, begun, endAll } = opened();
      for (let id = 0; id < countMax; id += 1) await backlog.add({ ...small(id), byteCount });
      expect(begun).toEqual([]);
      for (let more = 0; more < STORE_CLEARING_AT_ONCE_COUNT_MAX; more += 1) await backlog.add({ ...small(countMax + more), byteCount });
      expect(begun).toHaveLength(STORE_CLEARING_AT_ONCE_COUNT_MAX);
      let isThrough = false;
      const waiting = backlog.add({ ...small(-1), byteCount }).then(() => (isThrough = true));
      await vi.advanceTimersByTimeAsync(0);
      expect(isThrough).toBe(false);
      await endAll();
      await waiting;
    },
  );

  it("is not much of one key: of that, too, an old one goes for each new one", async () => {
    const { backlog, begun, endAll } = opened();
    const hot = (id: number): Item => ({ id, subject: "hot", byteCount: 10 });
    await backlog.add(small(-1));
    for (let id = 0; id < STORE_CLEARING_SAME_KEY_COUNT_MAX; id += 1) await backlog.add(hot(id));
    expect(begun).toEqual([]);
    for (let more = 0; more < 5; more += 1) await backlog.add(hot(STORE_CLEARING_SAME_KEY_COUNT_MAX + more));
    expect(begun).toEqual([0, 1, 2, 3, 4]);
    const settling = backlog.settle();
    await endAll();
    await settling;
    expect(begun).toHaveLength(STORE_CLEARING_SAME_KEY_COUNT_MAX + 6);
  });

  it("goes on where one fails, and is all gone when it was settled", async () => {
    const { backlog, begun, endAll } = opened();
    for (let id = 0; id < 5; id += 1) await backlog.add(small(id));
    let isSettled = false;
    const settling = backlog.settle().then(() => (isSettled = true));
    await vi.advanceTimersByTimeAsync(0);
    expect(isSettled).toBe(false);
    await endAll(new Error("the broker is away"));
    await settling;
    expect(begun).toHaveLength(5);
  });
});

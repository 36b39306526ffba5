// State changes in memory: what a reader who was away gets, and how iterating over them ends.
import { describe, expect, it } from "vitest";
import { followed } from "../../../orchestrator/api/follow.ts";
import { type StateChange, createJournal } from "../../../orchestrator/api/journal.ts";
import { API_EVENT_COUNT_KEPT, API_PENDING_COUNT_MAX } from "../../../runtime-image/contract/limits.ts";

const clock = { nowEpochMs: () => 1_000 };
const change = (text: string): StateChange => ({ kind: "deployed", environment: "staging", text });

describe("the journal", () => {
  it("gives what came after an id, and nothing to who names none", () => {
    const journal = createJournal(clock);
    const ids: string[] = [];
    journal.follow((entry) => ids.push(entry.id));
    for (const text of ["one", "two", "three"]) journal.add(change(text));
    expect(journal.after(ids[0] ?? "")?.map((entry) => entry.text)).toEqual(["two", "three"]);
    expect(journal.after(ids[2] ?? "")).toEqual([]);
    expect(journal.after(null)).toEqual([]);
  });

  it("says that it no longer knows what came after an old id, or one of an earlier run", () => {
    const journal = createJournal(clock);
    const ids: string[] = [];
    journal.follow((entry) => ids.push(entry.id));
    for (let count = 0; count < API_EVENT_COUNT_KEPT + 2; count += 1) journal.add(change(String(count)));
    expect(journal.after(ids[0] ?? "")).toBeNull();
    expect(journal.after(ids[1] ?? "")).toHaveLength(API_EVENT_COUNT_KEPT);
    expect(journal.after("zz-1")).toBeNull();
    expect(createJournal({ nowEpochMs: () => 2_000 }).after(ids[5] ?? "")).toBeNull();
  });
});

describe("following", () => {
  it("begins with what there is, goes on with what happens, ends with the signal", async () => {
    const over = new AbortController();
    let hear: (value: number) => void = () => undefined;
    let isHeard = true;
    const subscribe = (listener: (value: number) => void): (() => void) => {
      hear = listener;
      return () => (isHeard = false);
    };
    const values = followed(subscribe, { first: [1, 2], signal: over.signal });
    hear(3);
    const seen: number[] = [];
    for await (const value of values) {
      seen.push(value);
      if (value === 3) queueMicrotask(() => hear(4));
      if (value === 4) over.abort();
    }
    expect([seen, isHeard]).toEqual([[1, 2, 3, 4], false]);
  });

  it("breaks off for a reader who is too far behind, instead of leaving something out", async () => {
    let hear: (value: number) => void = () => undefined;
    const values = followed<number>(
      (listener) => {
        hear = listener;
        return () => undefined;
      },
      { signal: new AbortController().signal },
    );
    for (let value = 0; value <= API_PENDING_COUNT_MAX; value += 1) hear(value);
    const read = async (): Promise<void> => {
      for await (const value of values) expect(value).toBeLessThan(API_PENDING_COUNT_MAX);
    };
    await expect(read()).rejects.toThrow("too far behind");
  });
});

// Reading from someone who may never answer, and doing a few things at once.
import { describe, expect, it } from "vitest";
import { createLanes } from "../../../orchestrator/sources/lanes.ts";
import { untilAborted } from "../../../orchestrator/sources/until-aborted.ts";

const live = (): AbortSignal => new AbortController().signal;

describe("what is read until a signal fires", () => {
  it("comes as it is", async () => {
    async function* numbers(): AsyncGenerator<number> {
      yield 1;
      yield 2;
    }
    const seen: number[] = [];
    for await (const number of untilAborted(numbers(), live())) seen.push(number);
    expect(seen).toEqual([1, 2]);
  });

  it("ends with the signal's reason where the next one never comes", async () => {
    const stopping = new AbortController();
    async function* hanging(): AsyncGenerator<number> {
      yield 1;
      stopping.abort(new Error("that is enough"));
      await new Promise(() => undefined);
    }
    const items = untilAborted(hanging(), stopping.signal);
    expect(await items.next()).toEqual({ done: false, value: 1 });
    await expect(items.next()).rejects.toThrow("that is enough");
  });

  it("asks for nothing when the signal has fired before", async () => {
    let isAsked = false;
    async function* items(): AsyncGenerator<number> {
      isAsked = true;
      yield 1;
    }
    await expect(untilAborted(items(), AbortSignal.abort(new Error("too late"))).next()).rejects.toThrow("too late");
    expect(isAsked).toBe(false);
  });

  it("is ended when nobody wants more of it, and only then", async () => {
    const ends: string[] = [];
    async function* items(name: string): AsyncGenerator<number> {
      try {
        yield 1;
        yield 2;
      } finally {
        ends.push(name);
      }
    }
    for await (const _ of untilAborted(items("left early"), live())) break;
    for await (const _ of untilAborted(items("read to its end"), live())) continue;
    expect(ends).toEqual(["left early", "read to its end"]);
  });
});

describe("lanes", () => {
  it("never do more at once than there are", async () => {
    const lanes = createLanes(3);
    let runningCount = 0;
    let most = 0;
    for (let index = 0; index < 20; index += 1)
      await lanes.start(async () => {
        runningCount += 1;
        most = Math.max(most, runningCount);
        await new Promise(setImmediate);
        runningCount -= 1;
      });
    await lanes.done();
    expect([most, runningCount]).toEqual([3, 0]);
  });

  it("tell of a failure to whoever brings the next one, and at the end, when nothing runs any more", async () => {
    const lanes = createLanes(2);
    let isDone = false;
    await lanes.start(async () => {
      await new Promise(setImmediate);
      isDone = true;
    });
    await expect(
      lanes.start(async () => Promise.reject(new Error("the disk is gone"))).then(async () => lanes.start(async () => undefined)),
    ).rejects.toThrow("the disk is gone");
    await expect(lanes.done()).rejects.toThrow("the disk is gone");
    expect(isDone).toBe(true);
  });
});

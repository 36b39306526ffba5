// Listing the control state while it is written to: whole, each key once, and never broken by what comes in the middle.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createControlBus, type ControlBus } from "../../orchestrator/nats/control-bus.ts";
import { startTestBroker, type TestBroker } from "../support/test-broker.ts";

let test: TestBroker;
let bus: ControlBus;

beforeAll(async () => {
  test = await startTestBroker();
  bus = await createControlBus({ url: test.broker.url, signer: test.signer, onError: () => undefined });
});
afterAll(async () => {
  await bus.close();
  await test.close();
});

const LIST_COUNT = 10;
const WRITER_COUNT = 8;
const VALUE = "x".repeat(40_000); // Large, so that some are still to come when they are written again.
const keys = Array.from({ length: 200 }, (_, index) => `listed.k${index}`);

describe("a listing of the control state", () => {
  it("holds every key once, also those that are written again meanwhile, and none that is removed", async () => {
    for (const key of keys) await bus.writeControl(key, VALUE);
    await bus.writeControl("listed.gone", 0);
    await bus.removeControl("listed.gone");
    const state = { isOver: false, writeCount: 0 };
    const write = async (): Promise<void> => {
      while (!state.isOver) {
        state.writeCount += 1;
        await bus.writeControl(keys[(state.writeCount * 67) % keys.length] ?? "", VALUE);
      }
    };
    const writers = Array.from({ length: WRITER_COUNT }, write);
    try {
      for (let count = 0; count < LIST_COUNT; count += 1) {
        const listed = (await bus.listControl("listed")).map(({ key }) => key);
        expect(listed.toSorted()).toEqual(keys.toSorted());
      }
    } finally {
      state.isOver = true;
      await Promise.all(writers);
    }
    expect(state.writeCount).toBeGreaterThan(LIST_COUNT);
  });
});

// What is remembered of deliveries: numbers that only grow, and which of them are not over.
import { describe, expect, it } from "vitest";
import { createDeliveryBook } from "../../../orchestrator/deliveries/delivery-book.ts";
import { type Delivery, begun, ended, newDelivery } from "../../../orchestrator/deliveries/delivery.ts";
import { memoryState } from "../../support/control-state.ts";

const delivery = (number: number, appId = "a1"): Delivery =>
  newDelivery({
    appId,
    app: "shop",
    number,
    source: { kind: "upload", commit: "c", ref: null, message: null },
    by: "ann",
    createdEpochMs: number,
  });
const GREEN = { state: "green", releaseId: "r", detail: null, problems: [], remedy: null } as const;

describe("a book of deliveries", () => {
  it("numbers those of each app on its own, also for the next orchestrator and for two who ask at once", async () => {
    const state = memoryState();
    const book = createDeliveryBook(state);
    expect(await Promise.all([book.nextNumber("a1"), book.nextNumber("a1"), book.nextNumber("a2")])).toEqual([1, 2, 1]);
    await book.keep(delivery(2));
    expect(await createDeliveryBook(state).nextNumber("a1")).toBe(3);
  });

  it("tells which are not over, oldest first", async () => {
    const book = createDeliveryBook(memoryState());
    for (const number of [3, 1, 2]) await book.keep(delivery(number));
    await book.keep(begun(delivery(3)));
    await book.keep(ended(begun(delivery(1)), GREEN));
    expect((await book.unfinished()).map(({ number, state, tryCount }) => [number, state, tryCount])).toEqual([
      [2, "queued", 0],
      [3, "running", 1],
    ]);
    expect((await book.list("a1")).map(({ number }) => number)).toEqual([3, 2, 1]);
    expect(await book.find("a1", 1)).toMatchObject({ state: "green" });
  });

  it("forgets an app and no other one", async () => {
    const state = memoryState();
    const book = createDeliveryBook(state);
    for (const appId of ["a1", "a11"]) await book.keep(delivery(1, appId));
    await book.clear("a1");
    expect(state.keys()).toEqual(["delivery-open.a11.1", "delivery.a11.1"]);
  });
});

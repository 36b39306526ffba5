// Builds that are being made or started, and builds that are being removed, at the same moment.
import { describe, expect, it } from "vitest";
import { createBuildUse } from "../../../orchestrator/engines/build-use.ts";

const gate = () => Promise.withResolvers<void>();

describe("a build in use", () => {
  it("is not removed while anyone needs it, and is afterwards", async () => {
    const use = createBuildUse();
    const [first, second] = [gate(), gate()];
    const starts = [use.during("b", () => first.promise), use.during("b", () => second.promise)];
    await Promise.resolve();
    const removed: string[] = [];
    const remove = (): Promise<void> => use.remove("b", async () => void removed.push("b"));
    await remove();
    first.resolve();
    await starts[0];
    await remove();
    expect(removed).toEqual([]);
    second.resolve();
    await starts[1];
    await remove();
    expect(removed).toEqual(["b"]);
  });

  it("waits for a removal that has begun, also for one that fails, and others do not", async () => {
    const use = createBuildUse();
    const removal = gate();
    const order: string[] = [];
    const removing = use.remove("b", () => removal.promise.then(() => void order.push("removed")));
    const again = use.remove("b", async () => void order.push("removed twice"));
    const making = use.during("b", async () => void order.push("made"));
    await use.during("other", async () => void order.push("other made"));
    removal.resolve();
    await Promise.all([removing, again, making]);
    expect(order).toEqual(["other made", "removed", "made"]);
    const failing = use.remove("b", () => Promise.reject(new Error("the disk is gone")));
    await Promise.all([expect(failing).rejects.toThrow("gone"), use.during("b", async () => void order.push("made again"))]);
    expect(order.at(-1)).toBe("made again");
  });

  it("is remembered by when it was last asked for, until it is removed", async () => {
    let nowEpochMs = 5;
    const use = createBuildUse(() => nowEpochMs);
    expect(use.lastAskedEpochMs("b")).toBe(0);
    await use.during("b", async () => {});
    nowEpochMs = 9;
    await use.during("b", async () => {});
    expect(use.lastAskedEpochMs("b")).toBe(9);
    await use.remove("b", async () => {});
    expect(use.lastAskedEpochMs("b")).toBe(0);
  });
});

// Which builds are in use: from before a deploy asks for them until it is over, and known for a while after that.
import { describe, expect, it } from "vitest";
import { createUsedBuilds } from "../../../orchestrator/releases/used-builds.ts";

function world() {
  const clock = { now: 1_000, nowEpochMs: () => clock.now };
  return { clock, used: createUsedBuilds(clock) };
}

describe("a build", () => {
  it("is used for as long as a deploy that asked for it goes on, however long ago that was", async () => {
    const { clock, used } = world();
    const recorded = Promise.withResolvers<void>();
    const deploy = used.during(async (use) => {
      use("b1");
      await recorded.promise;
    });
    clock.now = 1_000_000_000;
    expect(used.isUsedSince("b1", clock.now)).toBe(true);
    expect(used.isUsedSince("b2", 0)).toBe(false);
    recorded.resolve();
    await deploy;
    expect(used.isUsedSince("b1", 1_000_000_000)).toBe(true); // At that very moment it was.
    expect(used.isUsedSince("b1", 1_000_000_001)).toBe(false);
  });

  it("is no longer used when its deploy has failed, and is by another one that goes on", async () => {
    const { clock, used } = world();
    const recorded = Promise.withResolvers<void>();
    const other = used.during(async (use) => {
      use("b1");
      await recorded.promise;
    });
    await expect(
      used.during(async (use) => {
        use("b1");
        throw new Error("red");
      }),
    ).rejects.toThrow("red");
    clock.now = 2_000;
    expect(used.isUsedSince("b1", 2_000)).toBe(true);
    recorded.resolve();
    await other;
    clock.now = 3_000;
    expect(used.isUsedSince("b1", 3_000)).toBe(false);
    expect(used.isUsedSince("b1", 2_000)).toBe(true);
  });
});

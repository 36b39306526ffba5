// How a run of npm in a builder is said to have ended.
import { describe, expect, it } from "vitest";
import { outcomeOf } from "../../../orchestrator/engines/builder-run.ts";

const run = { exitCode: 1, wasOutOfMemory: false, isDiskFull: false, reason: null };

describe("the outcome of a run", () => {
  it("is its exit code where nothing else ended it", () => {
    expect(outcomeOf({ ...run, exitCode: 0 })).toEqual({ kind: "ended", exitCode: 0 });
    expect(outcomeOf({ ...run, exitCode: 7 })).toEqual({ kind: "ended", exitCode: 7 });
  });

  it("is good where it ended well, whatever was asked of it in its last moment", () => {
    const asked = { ...run, exitCode: 0, reason: "timed-out" as const, wasOutOfMemory: true, isDiskFull: true };
    expect(outcomeOf(asked)).toEqual({ kind: "ended", exitCode: 0 });
  });

  it("is why it was ended, before what else went wrong by that", () => {
    expect(outcomeOf({ ...run, exitCode: 137, reason: "cancelled", wasOutOfMemory: true })).toEqual({ kind: "cancelled" });
    expect(outcomeOf({ ...run, exitCode: 137, wasOutOfMemory: true, isDiskFull: true })).toEqual({ kind: "out-of-memory" });
    expect(outcomeOf({ ...run, isDiskFull: true })).toEqual({ kind: "disk-full" });
  });
});

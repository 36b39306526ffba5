// When the watchdog ends a process, and when it must not.
import { describe, expect, it } from "vitest";
import { judge, startWatch, type Observation, type WatchdogRules } from "../../../runtime-image/runtime/watchdog-verdict.ts";

const RULES: WatchdogRules = { blockedAfterMs: 2_000, gapMs: 1_000, memoryBytesMax: null };
const at = (nowMs: number, tickCount: number, residentBytes = 0): Observation => ({ nowMs, tickCount, residentBytes });

function play(observations: readonly Observation[], rules = RULES): string[] {
  const [first = at(0, 0), ...rest] = observations;
  let watch = startWatch(first);
  return rest.map((seen) => {
    const result = judge(watch, seen, rules);
    watch = result.watch;
    return result.verdict.kind;
  });
}

describe("the watchdog", () => {
  it("is content with a main thread that ticks, however long it lives", () => {
    expect(new Set(play(Array.from({ length: 100 }, (_, number) => at(number * 250, number))))).toEqual(new Set(["fine"]));
  });

  it("ends a process whose main thread stopped ticking for long enough, and not before", () => {
    expect(play([0, 500, 1_000, 1_500, 1_999, 2_000].map((nowMs) => at(nowMs, 7)))).toEqual(["fine", "fine", "fine", "fine", "blocked"]);
  });

  it("gives a process that was frozen as a whole all of its time afresh", () => {
    expect(play([at(0, 7), at(900, 7), at(60_000, 7), at(60_900, 7), at(61_800, 7), at(62_100, 7)])).toEqual([
      "fine",
      "fine",
      "fine",
      "fine",
      "blocked",
    ]);
  });

  it("ends a process above its memory, and only where it watches that", () => {
    expect(play([at(0, 0, 100), at(250, 1, 101)], { ...RULES, memoryBytesMax: 100 })).toEqual(["memory"]);
    expect(play([at(0, 0, 100), at(250, 1, 101)])).toEqual(["fine"]);
  });
});

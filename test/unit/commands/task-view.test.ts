// The steps of a delivery as text: redrawn, in lines, narrow, coloured, failed, and begun anew.
import { describe, expect, it } from "vitest";
import type { EndLine, LogLine } from "../../../orchestrator/commands/answers.ts";
import { columnsOf } from "../../../orchestrator/commands/plain-text.ts";
import {
  durationText,
  emptyView,
  failureLines,
  liveLines,
  plainLine,
  type TaskView,
  withLine,
  withNote,
} from "../../../orchestrator/commands/task-view.ts";

type Step = "verify" | "install" | "build" | "lint" | "test" | "deploy";
type State = "waiting" | "running" | "done" | "failed" | "skipped";
const step = (name: Step, state: State, durationMs: number | null = null): LogLine => ({ kind: "step", step: name, state, durationMs });
const line = (name: Step, text: string): LogLine => ({ kind: "line", step: name, text });
const end = (state: EndLine["state"]): LogLine => ({ kind: "end", state, releaseId: null, detail: null, problems: [], remedy: null });

const viewOf = (...lines: readonly LogLine[]): TaskView => lines.reduce((view, one) => withLine(view, one, 1_000), emptyView);
const look = { nowMs: 1_000, columnCount: 80, rowCount: 24, isColored: false };

describe("the list of steps", () => {
  it("shows every step from the beginning on", () => {
    expect(liveLines(emptyView, look)).toEqual(["· verify", "· install", "· build", "· lint", "· test", "· deploy"]);
  });

  it("shows what is done, what runs for how long and what it said last, and what waits", () => {
    const view = viewOf(
      step("verify", "done", 212),
      step("install", "running"),
      line("install", "npm http fetch GET 200"),
      line("install", "added 34 packages"),
      line("install", "  "),
    );
    expect(liveLines(view, { ...look, nowMs: 3_400 })).toEqual([
      "✔ verify   0.2 s",
      "⠼ install  2.4 s",
      "  added 34 packages",
      "· build",
      "· lint",
      "· test",
      "· deploy",
    ]);
  });

  it("turns its mark while a step runs", () => {
    const view = viewOf(step("verify", "running"));
    const marks = [1_000, 1_100, 1_200].map((nowMs) => liveLines(view, { ...look, nowMs })[0]?.[0]);
    expect(new Set(marks).size).toBe(3);
  });

  it("counts on from what a step took before somebody looked", () => {
    expect(liveLines(viewOf(step("build", "running", 60_000)), { ...look, nowMs: 6_000 })[2]).toBe("⠋ build    1 min 05 s");
  });

  it("shows no time where the clock was set back", () => {
    expect(liveLines(viewOf(step("build", "running")), { ...look, nowMs: 0 })[2]).toBe("⠋ build    0.0 s");
  });

  it("shows what failed, what was skipped, and what was stopped", () => {
    expect(liveLines(viewOf(step("lint", "skipped"), step("test", "failed", 3_100), end("red")), look).slice(3)).toEqual([
      "– lint     skipped",
      "✖ test     3.1 s",
      "· deploy",
    ]);
    expect(liveLines(viewOf(step("build", "running"), line("build", "x"), end("cancelled")), look)[2]).toBe("■ build");
  });

  it("shows a note below", () => {
    expect(liveLines(withNote(emptyView, "Cancelling it."), { ...look, columnCount: 10 }).at(-1)).toBe("Cancellin…");
  });

  it.each([1, 2, 3, 8, 12, 20])("is never wider than a terminal of %i columns", (columnCount) => {
    const view = viewOf(step("verify", "done", 200), step("install", "running"), line("install", "日本語 \u001b[31mx".repeat(30)));
    for (const text of liveLines(withNote(view, "a note of some length"), { ...look, columnCount }))
      expect(columnsOf(text)).toBeLessThanOrEqual(Math.max(2, columnCount)); // A mark and its space.
  });

  it("leaves out what waits, then what is done first, where there are too few rows", () => {
    const view = viewOf(step("verify", "done", 200), step("install", "done", 900), step("build", "running"), line("build", "x"));
    const at = (rowCount: number): string[] => liveLines(view, { ...look, rowCount });
    expect(at(7)).toHaveLength(7);
    expect(at(6)).toEqual(["✔ verify   0.2 s", "✔ install  0.9 s", "⠋ build    0.0 s", "  x"]);
    expect(at(3)).toEqual(["✔ install  0.9 s", "⠋ build    0.0 s", "  x"]);
    expect(liveLines(emptyView, { ...look, rowCount: 2 })).toEqual([]);
  });

  it("lets no output act on the terminal", () => {
    const view = viewOf(step("test", "running"), line("test", "\u001b[2J\u001b]0;title\u0007ok\u0007"));
    expect(liveLines(view, look)[5]).toBe("  ok");
  });

  it("is coloured where that is wanted, and says the same", () => {
    const view = viewOf(step("verify", "done", 200), step("install", "running"), line("install", "x"), step("lint", "skipped"));
    const colored = liveLines(view, { ...look, isColored: true });
    expect(colored[0]).toBe("\u001b[32m✔\u001b[0m verify   0.2 s");
    // oxlint-disable-next-line no-control-regex -- The colours are what is looked for.
    expect(colored.map((text) => text.replaceAll(/\u001b\[\d+m/g, ""))).toEqual(liveLines(view, look));
  });

  it("takes back the steps behind one that begins anew", () => {
    const view = viewOf(
      step("verify", "done", 1),
      step("install", "done", 1),
      line("build", "half"),
      step("build", "running"),
      step("verify", "running"),
    );
    expect(liveLines(view, look)).toEqual(["⠋ verify   0.0 s", "· install", "· build", "· lint", "· test", "· deploy"]);
  });
});

describe("the last lines of a step that failed", () => {
  it("are twenty at most", () => {
    const lines = Array.from({ length: 50 }, (_, index) => line("test", `line ${index}`));
    const shown = failureLines(viewOf(step("test", "running"), ...lines, step("test", "failed", 1)));
    expect(shown[1]).toBe("The last lines of test:");
    expect(shown.slice(2, -1)).toEqual(Array.from({ length: 20 }, (_, index) => `  line ${index + 30}`));
  });

  it("are none where no step failed, or it said nothing", () => {
    expect(failureLines(viewOf(step("test", "done", 1), line("test", "x")))).toEqual([]);
    expect(failureLines(viewOf(step("test", "failed", 1)))).toEqual([]);
  });
});

describe("a line of the log", () => {
  it.each([
    [step("verify", "done", 212), "verify … ok 0.2 s"],
    [step("test", "failed", 75_000), "test … FAILED 1 min 15 s"],
    [step("lint", "skipped"), "lint … skipped"],
    [step("build", "running"), null],
    [step("build", "waiting"), null],
    [line("test", "\u001b[31mnot ok\u001b[0m"), "test    | not ok"],
    [line("install", ""), "install |"],
    [end("green"), null],
  ])("reads well where nothing is redrawn: %j", (one, text) => {
    expect(plainLine(one, false)).toBe(text);
  });

  it("is coloured where that is wanted", () => {
    expect(plainLine(step("verify", "done", 212), true)).toBe("verify … \u001b[32mok\u001b[0m 0.2 s");
  });
});

describe("a duration", () => {
  it("is in seconds, then in minutes", () => {
    expect([0, 49, 950, 59_900, 59_960, 125_000, 3_600_000].map(durationText)).toEqual([
      "0.0 s",
      "0.0 s",
      "0.9 s",
      "59.9 s",
      "1 min 00 s",
      "2 min 05 s",
      "60 min 00 s",
    ]);
  });
});

// Steps that are drawn on a terminal: in place, also where it is narrow, low, or changes its size; and written where nothing can be redrawn.
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { LogLine } from "../../../orchestrator/commands/answers.ts";
import { createTaskWriter, type TaskWriter } from "../../../orchestrator/commands/task-writer.ts";
import { createTerminal, type Terminal } from "../../support/terminal.ts";

const step = (name: "verify" | "install" | "test", state: "running" | "done" | "failed", durationMs: number | null = null): LogLine => ({
  kind: "step",
  step: name,
  state,
  durationMs,
});
const line = (text: string): LogLine => ({ kind: "line", step: "install", text });
const end = (state: "green" | "red"): LogLine => ({ kind: "end", state, releaseId: "r", detail: null, problems: [], remedy: null });

function drawing(terminal: Terminal): { writer: TaskWriter; tick(): void } {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let nowMs = 0;
  const writer = createTaskWriter("list", terminal, { nowEpochMs: () => nowMs });
  return {
    writer,
    tick() {
      nowMs += 100;
      vi.advanceTimersByTime(100);
    },
  };
}

describe("a list on a terminal", () => {
  it("is drawn over itself, and leaves each step once", () => {
    const terminal = createTerminal({ columnCount: 40, rowCount: 24 });
    terminal.write("$ orchestrator deploy\n");
    const { writer, tick } = drawing(terminal);
    writer.line(step("verify", "running"));
    tick();
    writer.line(step("verify", "done", 200));
    writer.line(step("install", "running"));
    writer.line(line("a line that is much longer than this terminal is wide"));
    for (let count = 0; count < 20; count += 1) tick();
    expect(terminal.rows().slice(0, 4)).toEqual([
      "$ orchestrator deploy",
      "✔ verify   0.2 s",
      "⠙ install  2.0 s",
      "  a line that is much longer than this …",
    ]);
    writer.line(step("install", "done", 2_000));
    writer.line(end("green"));
    writer.close();
    terminal.write("staging runs release r\n");
    expect(terminal.rows()).toEqual([
      "$ orchestrator deploy",
      "✔ verify   0.2 s",
      "✔ install  2.0 s",
      "· build",
      "· lint",
      "· test",
      "· deploy",
      "staging runs release r",
    ]);
  });

  it("stands whole from the first moment on", () => {
    const terminal = createTerminal({ columnCount: 40, rowCount: 24 });
    drawing(terminal).writer.close();
    expect(terminal.rows()).toEqual(["· verify", "· install", "· build", "· lint", "· test", "· deploy"]);
  });

  it.each([1, 2, 5, 11])("keeps to its place on a terminal of %i columns", (columnCount) => {
    const terminal = createTerminal({ columnCount, rowCount: 24 });
    terminal.write("$\n");
    const { writer, tick } = drawing(terminal);
    writer.line(step("install", "running"));
    writer.line(line("日本語日本語日本語"));
    for (let count = 0; count < 5; count += 1) tick();
    expect(terminal.rows()).toHaveLength(columnCount > 2 ? 8 : 7); // There is room for what install said, or not.
    expect(terminal.rows()[0]).toBe("$");
  });

  it.each([2, 3, 4])("does not scroll a terminal of %i rows away", (rowCount) => {
    const terminal = createTerminal({ columnCount: 40, rowCount });
    terminal.write("$\n");
    const { writer, tick } = drawing(terminal);
    writer.line(step("verify", "done", 100));
    writer.line(step("install", "running"));
    writer.line(line("x"));
    for (let count = 0; count < 5; count += 1) tick();
    expect(terminal.rows()).toEqual(["$", ...["✔ verify   0.1 s", "⠴ install  0.5 s", "  x"].slice(-(rowCount - 1))]);
  });

  it("keeps to its place when the terminal is made narrower", () => {
    const terminal = createTerminal({ columnCount: 60, rowCount: 24 });
    terminal.write("above\n");
    const { writer, tick } = drawing(terminal);
    writer.line(step("install", "running"));
    writer.line(line("x".repeat(55)));
    tick();
    terminal.resize(20);
    tick();
    expect(terminal.rows()).toEqual([
      "above",
      "· verify",
      "⠹ install  0.2 s",
      `  ${"x".repeat(17)}…`,
      "· build",
      "· lint",
      "· test",
      "· deploy",
    ]);
  });

  it("shows the last lines of the step that failed, whole", () => {
    const terminal = createTerminal({ columnCount: 200, rowCount: 24 });
    const { writer } = drawing(terminal);
    writer.line(step("install", "running"));
    writer.line(line(`npm error ${"x".repeat(100)}`));
    writer.line(step("install", "failed", 100));
    writer.line(end("red"));
    writer.close();
    expect(terminal.rows().slice(-4)).toEqual(["", "The last lines of install:", `  npm error ${"x".repeat(100)}`, ""]);
  });

  it("draws nothing more once it is closed", () => {
    const terminal = createTerminal({ columnCount: 40, rowCount: 24 });
    const { writer, tick } = drawing(terminal);
    writer.close();
    const before = terminal.written();
    tick();
    expect(terminal.written()).toBe(before);
  });

  it("leaves no colours where none are wanted, and ends those that it begins", () => {
    const drawn = (isColored: boolean): string => {
      const terminal = createTerminal({ columnCount: 40, rowCount: 24, isColored });
      const { writer } = drawing(terminal);
      writer.line(step("verify", "done", 1));
      writer.close();
      return terminal.written();
    };
    // oxlint-disable-next-line no-control-regex -- The colours are what is looked for.
    const colors = (text: string): string[] => text.match(/\u001b\[\d+m/g) ?? [];
    expect(colors(drawn(false))).toEqual([]);
    expect(colors(drawn(true)).at(-1)).toBe("\u001b[0m");
  });
});

describe("lines elsewhere", () => {
  it("are written once each, in order", () => {
    const terminal = createTerminal({ columnCount: 20, rowCount: 5 });
    const writer = createTaskWriter("lines", terminal, { nowEpochMs: () => 0 });
    for (const one of [step("install", "running"), line("added 34 packages in 2 s"), step("install", "done", 2_000), end("green")])
      writer.line(one);
    writer.note("a note");
    writer.close();
    expect(terminal.written()).toBe("install | added 34 packages in 2 s\ninstall … ok 2.0 s\n");
    expect(terminal.notices).toEqual(["a note"]);
  });

  it("are the log's own for programs", () => {
    const terminal = createTerminal({ columnCount: 20, rowCount: 5 });
    const writer = createTaskWriter("json", terminal, { nowEpochMs: () => 0 });
    const lines = [step("install", "running"), line("\u001b[31mred"), end("red")];
    for (const one of lines) writer.line(one);
    writer.close();
    expect(
      terminal
        .written()
        .trimEnd()
        .split("\n")
        .map((text) => JSON.parse(text) as LogLine),
    ).toEqual(lines);
  });
});

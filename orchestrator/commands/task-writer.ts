// Shows a delivery as it goes on: a list redrawn in place on a terminal, lines elsewhere, the log's own JSON for programs.
import type { Clock } from "../clock.ts";
import type { Screen } from "../log.ts";
import type { LogLine } from "./answers.ts";
import { columnsOf } from "./plain-text.ts";
import { emptyView, failureLines, liveLines, plainLine, type TaskView, withLine, withNote } from "./task-view.ts";

export interface TaskWriter {
  line(line: LogLine): void;
  /** Something beside the log, for a person. */
  note(text: string): void;
  /** Nothing is drawn any more; what stands there stays. */
  close(): void;
}

export type TaskStyle = "list" | "lines" | "json";

const DRAW_INTERVAL_MS = 100; // One step of the spinner.

export function createTaskWriter(style: TaskStyle, screen: Screen, clock: Clock): TaskWriter {
  switch (style) {
    case "list":
      return listWriter(screen, clock);
    case "lines":
      return linesWriter(screen);
    case "json":
      return { line: (line) => screen.write(`${JSON.stringify(line)}\n`), note: screen.notice, close: () => undefined };
  }
}

function linesWriter(screen: Screen): TaskWriter {
  return {
    line(line) {
      const text = plainLine(line, screen.isColored);
      if (text !== null) screen.write(`${text}\n`);
    },
    note: screen.notice,
    close: () => undefined,
  };
}

/** What a terminal shows of the lines that were drawn last. */
interface Drawn {
  readonly columns: readonly number[]; // Of each line.
}

function listWriter(screen: Screen, clock: Clock): TaskWriter {
  let view: TaskView = emptyView;
  let drawn: Drawn = { columns: [] };
  const draw = (): void => {
    const [columnCount, rowCount] = [screen.columnCount(), roomOf(screen)];
    const look = { nowMs: clock.nowEpochMs(), columnCount, rowCount, isColored: screen.isColored };
    screen.write(redrawText(rowsOf(drawn, columnCount), liveLines(view, look)));
    drawn = { columns: liveLines(view, { ...look, isColored: false }).map((line) => Math.min(columnsOf(line), columnCount)) };
  };
  draw();
  const timer = setInterval(draw, DRAW_INTERVAL_MS);
  return {
    line(line) {
      view = withLine(view, line, clock.nowEpochMs());
    },
    note(text) {
      view = withNote(view, text);
    },
    close() {
      clearInterval(timer);
      draw();
      if (view.end?.state === "red") for (const line of failureLines(view)) screen.write(`${line}\n`);
    },
  };
}

/** The cursor stands on the row below the list; a list as high as the terminal would scroll away from under it. */
const roomOf = (screen: Screen): number => Math.max(1, screen.rowCount() - 1);

/** A terminal that was made narrower since has folded lines. */
const rowsOf = ({ columns }: Drawn, columnCount: number): number =>
  columns.reduce((sum, one) => sum + Math.max(1, Math.ceil(one / Math.max(1, columnCount))), 0);

/**
 * Lines are not folded while they are drawn: a character that is wider than it is taken for must not move the list. A row is emptied
 * before it is written: behind a line that fills it, the cursor still stands on its last character.
 */
function redrawText(rowCountBefore: number, lines: readonly string[]): string {
  const up = rowCountBefore === 0 ? "" : `\u001b[${rowCountBefore}A`;
  return `\u001b[?7l\r${up}${lines.map((line) => `\u001b[K${line}\n`).join("")}\u001b[J\u001b[?7h`;
}

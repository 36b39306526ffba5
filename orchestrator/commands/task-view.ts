// What a delivery's steps look like: as a list that is redrawn on a terminal, or as lines that follow one another. Pure.
import { STEPS, type Step } from "../deliveries/delivery.ts";
import type { EndLine, LogLine, StepLine } from "./answers.ts";
import { cutText, plainText } from "./plain-text.ts";

export interface TaskView {
  readonly tasks: readonly Task[];
  readonly note: string | null; // Stands below the list.
  readonly end: EndLine | null;
}

interface Task {
  readonly step: Step;
  readonly state: StepLine["state"];
  readonly begunMs: number; // By the clock of whoever looks on.
  readonly durationMs: number | null;
  readonly lastLines: readonly string[];
}

export interface Look {
  readonly nowMs: number;
  readonly columnCount: number;
  readonly rowCount: number; // That the list may take.
  readonly isColored: boolean;
}

const LAST_LINE_COUNT = 20; // What is shown of a step that failed.

const waiting = (step: Step): Task => ({ step, state: "waiting", begunMs: 0, durationMs: null, lastLines: [] });

export const emptyView: TaskView = { tasks: STEPS.map(waiting), note: null, end: null };

export const withNote = (view: TaskView, note: string): TaskView => ({ ...view, note });

export function withLine(view: TaskView, line: LogLine, nowMs: number): TaskView {
  switch (line.kind) {
    case "step":
      return withStep(view, line, nowMs);
    case "line":
      return {
        ...view,
        tasks: view.tasks.map((task) =>
          task.step === line.step ? { ...task, lastLines: [...task.lastLines, plainText(line.text)].slice(-LAST_LINE_COUNT) } : task,
        ),
      };
    case "end":
      return { ...view, end: line };
  }
}

/** A step that begins anew, after the orchestrator was away, takes back those behind it. */
function withStep(view: TaskView, { step, state, durationMs }: StepLine, nowMs: number): TaskView {
  const at = view.tasks.findIndex((task) => task.step === step);
  const tasks = view.tasks.map((task, index): Task => {
    if (index === at)
      return state === "running" ? { ...waiting(step), state, begunMs: nowMs - (durationMs ?? 0) } : { ...task, state, durationMs };
    return state === "running" && index > at ? waiting(task.step) : task;
  });
  return { ...view, tasks };
}

type Mark = Task["state"] | "stopped";

const MARKS: Readonly<Record<Exclude<Mark, "running">, readonly [mark: string, color: number]>> = {
  waiting: ["·", 2],
  done: ["✔", 32],
  failed: ["✖", 31],
  skipped: ["–", 2],
  stopped: ["■", 33],
};
const SPINNER = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const SPINNER_FRAME_MS = 100;
const RUNNING_COLOR = 36;
const DIM = 2;
const STEP_LENGTH_MAX = Math.max(...STEPS.map((step) => step.length));
const MARK_COLUMNS = 2;

/** A line for each step, and below the running one the last line that it printed. None is wider than the terminal. */
export function liveLines(view: TaskView, look: Look): string[] {
  const linesOf = (tasks: readonly Task[]): string[] => [
    ...tasks.flatMap((task) => taskLines(task, { ...look, isOver: view.end !== null })),
    ...(view.note === null ? [] : [cutText(view.note, look.columnCount)]),
  ];
  const all = linesOf(view.tasks);
  // Where there is no room for all, what waits is left out first.
  return all.length <= look.rowCount ? all : linesOf(view.tasks.filter(({ state }) => state !== "waiting")).slice(-look.rowCount);
}

function taskLines(task: Task, look: Look & { readonly isOver: boolean }): string[] {
  const { nowMs, columnCount, isColored, isOver } = look;
  const mark: Mark = isOver && task.state === "running" ? "stopped" : task.state; // What was cancelled tells of no end.
  const [sign, color] = mark === "running" ? [spinnerAt(nowMs), RUNNING_COLOR] : MARKS[mark];
  const text = cutText(`${task.step.padEnd(STEP_LENGTH_MAX)}  ${timeOf(task, mark, nowMs)}`.trimEnd(), columnCount - MARK_COLUMNS);
  const head = `${painted(sign, color, isColored)} ${mark === "waiting" || mark === "skipped" ? painted(text, DIM, isColored) : text}`;
  const last = mark === "running" ? (task.lastLines.findLast((line) => line.trim() !== "") ?? "") : "";
  const below = cutText(last.trim(), columnCount - MARK_COLUMNS);
  return below === "" ? [head] : [head, `${" ".repeat(MARK_COLUMNS)}${painted(below, DIM, isColored)}`];
}

const spinnerAt = (nowMs: number): string => SPINNER[Math.floor(nowMs / SPINNER_FRAME_MS) % SPINNER.length] ?? "";

function timeOf(task: Task, mark: Mark, nowMs: number): string {
  if (mark === "waiting") return "";
  if (mark === "skipped") return "skipped";
  if (mark === "running") return durationText(Math.max(0, nowMs - task.begunMs));
  return task.durationMs === null ? "" : durationText(task.durationMs);
}

export function durationText(durationMs: number): string {
  const seconds = durationMs / 1_000;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
}

/** The last lines of the step that failed. */
export function failureLines({ tasks }: TaskView): string[] {
  const failed = tasks.find(({ state }) => state === "failed");
  if (failed === undefined || failed.lastLines.length === 0) return [];
  return ["", `The last lines of ${failed.step}:`, ...failed.lastLines.map((line) => `  ${line}`), ""];
}

const WORDS: Readonly<Record<StepLine["state"], readonly [word: string, color: number] | null>> = {
  waiting: null,
  running: null,
  done: ["ok", 32],
  failed: ["FAILED", 31],
  skipped: ["skipped", DIM],
};

/** A line of the log where nothing can be redrawn; null where there is nothing to say. */
export function plainLine(line: LogLine, isColored: boolean): string | null {
  if (line.kind === "line") return `${painted(`${line.step.padEnd(STEP_LENGTH_MAX)} |`, DIM, isColored)} ${plainText(line.text)}`.trimEnd();
  const words = line.kind === "step" ? WORDS[line.state] : null;
  if (line.kind === "end" || words === null) return null;
  const [word, color] = words;
  const time = line.durationMs === null || line.state === "skipped" ? "" : ` ${durationText(line.durationMs)}`;
  return `${line.step} … ${painted(word, color, isColored)}${time}`;
}

const painted = (text: string, color: number, isColored: boolean): string =>
  isColored && text !== "" ? `\u001b[${color}m${text}\u001b[0m` : text;

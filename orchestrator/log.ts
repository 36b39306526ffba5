// What the orchestrator prints: text for people, or one JSON object per line; the only file here that writes to the console.
import { once } from "node:events";
import { ERRORS, PlatformError } from "../runtime-image/contract/errors.ts";
import type { LogEntry } from "./logs/log-store.ts";

export interface Output {
  /** One step done or begun. */
  step(text: string): void;
  warn(text: string): void;
  error(error: unknown): void;
  /** A line that a function printed. People are told the app where there may be doubt about it. */
  printed(entry: LogEntry, options: { readonly namesApp: boolean }): void;
  /** A block of lines for people, and the same facts for programs. */
  facts(event: string, lines: readonly string[], value: object): void;
}

export interface OutputSettings {
  readonly isJson: boolean;
  readonly isColored: boolean;
}

export function createOutput(settings: OutputSettings): Output {
  return settings.isJson ? jsonOutput() : textOutput(settings.isColored);
}

function textOutput(isColored: boolean): Output {
  const paint = (code: number, text: string): string => (isColored ? `\u001b[${code}m${text}\u001b[0m` : text);
  const write = (text: string): boolean => process.stdout.write(`${text}\n`);
  return {
    step: (text) => write(`${paint(2, "·")} ${text}`),
    warn: (text) => write(`${paint(33, "!")} ${text}`),
    error: (error) =>
      process.stderr.write(
        `${errorLines(error)
          .map((line, index) => (index === 0 ? paint(31, line) : line))
          .join("\n")}\n`,
      ),
    printed(entry, { namesApp }) {
      const place = [...(namesApp && entry.app !== null ? [entry.app] : []), entry.environment, entry.functionName].join(" ");
      write(`${paint(entry.level === "error" ? 31 : 36, place)} ${entry.text}`);
    },
    facts: (_event, lines) => write(lines.join("\n")),
  };
}

function jsonOutput(): Output {
  const write = (value: object): boolean => process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), ...value })}\n`);
  return {
    step: (text) => write({ event: "step", text }),
    warn: (text) => write({ event: "warning", text }),
    error: (error) => write({ event: "error", ...errorFacts(error) }),
    printed: (entry) => write({ event: "printed", ...entry }),
    facts: (event, _lines, value) => write({ event, ...value }),
  };
}

/** For people: what, where, what to do. The stack is shown for what should never happen only. */
export function errorLines(error: unknown): string[] {
  if (!(error instanceof PlatformError)) return [`INTERNAL: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`];
  const { problems = [], remedy } = error.detail;
  return [
    `${error.code}: ${error.message}`,
    ...problems.map((problem) => `  - ${problem}`),
    ...(remedy === undefined ? [] : [`  ${remedy}`]),
  ];
}

function errorFacts(error: unknown): object {
  if (!(error instanceof PlatformError))
    return { code: "INTERNAL", message: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  return { code: error.code, message: ERRORS[error.code].message, ...error.detail };
}

/** A reader that goes away (a closed terminal, the end of a pipe) must not take the process with it: there is something to clean up. */
export function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) stream.off("error", endNow).on("error", () => undefined);
}

/** A command whose reader goes away, as "head" does, ends as other programs do: at once, and without a word. */
export function endWithReaders(): void {
  for (const stream of [process.stdout, process.stderr]) if (!stream.listeners("error").includes(endNow)) stream.on("error", endNow);
}

const endNow = (): void => process.exit(EXIT_BROKEN_PIPE);

const EXIT_BROKEN_PIPE = 141; // As a shell says of what SIGPIPE ended.

/** Prints lines that are the very result of a command. */
export function printLine(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Asks a person for something, beside what the command's result is. */
export function printPrompt(text: string): void {
  process.stderr.write(text);
}

/** Says something beside the result of a command, which may go into a file. */
export function printNotice(text: string): void {
  showProgress(null);
  process.stderr.write(`${text}\n`);
}

/** Resolves when more may be written: a long result is made no faster than it is taken. */
export async function writeOut(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, "drain");
}

/** Where the result of a command goes, for those that redraw it in place. */
export interface Screen {
  readonly isTerminal: boolean;
  readonly isColored: boolean;
  columnCount(): number;
  rowCount(): number;
  write(text: string): void;
  /** Beside the result. */
  notice(text: string): void;
}

export const resultScreen = ({ isColored }: { readonly isColored: boolean }): Screen => ({
  isTerminal: process.stdout.isTTY,
  isColored: isColored && process.stdout.isTTY,
  columnCount: () => process.stdout.columns || 80, // Some terminals do not say.
  rowCount: () => process.stdout.rows || 24,
  write: (text) => void process.stdout.write(text),
  notice: printNotice,
});

let isProgressShown = false;

/** One line that changes, where a person looks on; null takes it away. */
export function showProgress(text: string | null): void {
  if (!process.stderr.isTTY || (text === null && !isProgressShown)) return;
  // Some terminals do not say how wide they are.
  const width = (process.stderr.columns || 80) - 1;
  process.stderr.write(`\r${text === null ? "" : text.slice(0, width)}\u001b[K`);
  isProgressShown = text !== null;
}

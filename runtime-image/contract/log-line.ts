// How a runtime writes what user code prints: one JSON text per line on stdout, so that whoever reads it can tag it.
// A line that is no such text was written past console.* (process.stdout, a native crash) and is taken as it is.

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface PrintedLine {
  readonly epochMs: number;
  readonly level: LogLevel;
  readonly requestId: string | null; // Null outside of any request.
  readonly text: string;
}

const MARK = '{"orc":1,';

export function encodePrintedLine(line: PrintedLine): string {
  return `${MARK}${JSON.stringify(line).slice(1)}\n`;
}

/** Null for a line that no runtime wrote. */
export function decodePrintedLine(text: string): PrintedLine | null {
  if (!text.startsWith(MARK)) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isPrintedLine(value) ? { epochMs: value.epochMs, level: value.level, requestId: value.requestId, text: value.text } : null;
  } catch {
    return null; // A line that was cut off by a crash: it is shown as it is.
  }
}

function isPrintedLine(value: unknown): value is PrintedLine {
  if (typeof value !== "object" || value === null) return false;
  const line: Partial<Record<keyof PrintedLine, unknown>> = value;
  return (
    typeof line.epochMs === "number" &&
    typeof line.text === "string" &&
    (line.requestId === null || typeof line.requestId === "string") &&
    LOG_LEVELS.some((level) => level === line.level)
  );
}

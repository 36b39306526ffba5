// Reads Docker's framed log stream: frames become lines, each with its stream and time.
import { LOG_LINE_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { createFrameCutter } from "./docker-frames.ts";
import type { LogLine } from "./engine.ts";

const CUT_MARK = " … (line cut)";

export interface LogReader {
  push(chunk: Uint8Array): void;
  /** Hands out what has no line end yet. */
  end(): void;
  /** The time of the last frame as Docker wrote it: RFC 3339 with nanoseconds, "" before the first. */
  lastTime(): string;
}

/** Skips frames that are not after a time: a reader that reconnects has seen those. */
export function createLogReader(onLine: (line: LogLine) => void, { after }: { readonly after: string }): LogReader {
  const framesIn = createFrameCutter();
  let lastTime = after;
  const open: Record<LogLine["stream"], PartialLine | null> = { stdout: null, stderr: null };
  const flush = (stream: LogLine["stream"]): void => {
    const line = open[stream];
    if (line === null) return; // Most streams end with a whole line.
    open[stream] = null;
    onLine({ stream, epochMs: line.epochMs, text: line.isCut ? line.text + CUT_MARK : line.text });
  };
  const takeFrame = (stream: LogLine["stream"], frame: Buffer): void => {
    // One frame is one message: its time, a space, then text that lacks a line end where Docker cut a long line.
    const space = frame.indexOf(0x20);
    const time = frame.toString("latin1", 0, space);
    if (time <= after) return;
    lastTime = time;
    const text = frame.toString("utf8", space + 1);
    const isWhole = text.endsWith("\n");
    open[stream] = append(open[stream], isWhole ? text.slice(0, -1) : text, Date.parse(time));
    if (isWhole) flush(stream);
  };
  return {
    push(chunk) {
      for (const { stream, body } of framesIn(chunk)) takeFrame(stream, body);
    },
    end() {
      flush("stdout");
      flush("stderr");
    },
    lastTime: () => lastTime,
  };
}

interface PartialLine {
  readonly text: string;
  readonly epochMs: number;
  readonly isCut: boolean;
}

function append(line: PartialLine | null, text: string, epochMs: number): PartialLine {
  if (line?.isCut) return line;
  const joined = (line?.text ?? "") + text;
  const isCut = joined.length > LOG_LINE_BYTES_MAX;
  return { text: isCut ? joined.slice(0, LOG_LINE_BYTES_MAX) : joined, epochMs: line?.epochMs ?? epochMs, isCut };
}

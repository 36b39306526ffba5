// The only file that writes to the console: what user code prints, line by line, collected per event-loop turn and never lost.
import { Console } from "node:console";
import fs from "node:fs";
import { LOG_LINE_BYTES_MAX } from "../contract/limits.ts";
import { encodePrintedLine, type LogLevel, type PrintedLine } from "../contract/log-line.ts";
import type { SharedState } from "./shared-state.ts";

const STDOUT = 1;
const FLUSH_ABOVE_BYTES = 65_536; // Held no longer once there is this much of it.
const RETRY_DELAY_MS = 5; // A pipe that is full; whoever reads it needs a moment.
const LAST_WRITE_TIMEOUT_MS = 500; // How long an exit waits for a full pipe.
const BYTES_PER_CHARACTER_MAX = 6; // A control character is written as six in JSON.

export interface Log {
  print(level: LogLevel, text: string, requestId: string | null): void;
  /** Writes everything now, waiting for a full pipe if it must: for an exit or a crash. */
  flushNow(): void;
}

export interface LogSink {
  /** How many of the bytes were taken; 0 when the reader is busy. */
  write(bytes: Uint8Array, offset: number, length: number): number;
}

export function createLog(shared: SharedState, sink: LogSink = stdoutSink): Log {
  const buffer = shared.logBytes;
  let length = 0;
  let isScheduled = false;

  const setLength = (next: number) => {
    length = next;
    shared.setLogLength(next);
  };
  const writeSome = () => {
    const taken = sink.write(buffer, 0, length);
    if (taken < length) buffer.copyWithin(0, taken, length);
    setLength(length - taken);
  };
  const flushSoon = () => {
    isScheduled = false;
    writeSome();
    if (length > 0) schedule((run) => setTimeout(run, RETRY_DELAY_MS).unref());
  };
  const schedule = (later: (run: () => void) => void) => {
    if (isScheduled) return;
    isScheduled = true;
    later(flushSoon);
  };
  const flushNow = () => {
    const deadlineMs = performance.now() + LAST_WRITE_TIMEOUT_MS;
    for (;;) {
      writeSome();
      if (length === 0 || performance.now() > deadlineMs) return;
      pause(RETRY_DELAY_MS);
    }
  };

  return {
    print(level, text, requestId) {
      const line = encodeLine({ epochMs: Date.now(), level, requestId, text });
      if (length + Buffer.byteLength(line) > buffer.length) flushNow();
      // A reader that takes nothing for half a second loses lines rather than stopping the function.
      if (length + Buffer.byteLength(line) > buffer.length) setLength(0);
      setLength(length + buffer.write(line, length));
      if (length >= FLUSH_ABOVE_BYTES) writeSome();
      if (length > 0) schedule(setImmediate);
    },
    flushNow,
  };
}

/** The whole line, mark and line end included, stays within the limit: readers and log drivers bound lines by their bytes. */
export function encodeLine(line: PrintedLine): string {
  const encoded = encodePrintedLine(line);
  if (encoded.length * 3 <= LOG_LINE_BYTES_MAX || Buffer.byteLength(encoded) <= LOG_LINE_BYTES_MAX) return encoded;
  const note = ` … (cut: the line had ${Buffer.byteLength(line.text)} bytes)`;
  let keep = Math.min(line.text.length, LOG_LINE_BYTES_MAX);
  for (;;) {
    const shorter = encodePrintedLine({ ...line, text: line.text.slice(0, keep).toWellFormed() + note });
    const surplus = Buffer.byteLength(shorter) - LOG_LINE_BYTES_MAX;
    if (surplus <= 0) return shorter;
    keep = Math.max(0, keep - Math.ceil(surplus / BYTES_PER_CHARACTER_MAX) - 1);
  }
}

const LEVELS: Readonly<Record<string, LogLevel>> = {
  assert: "error",
  count: "info",
  countReset: "warn",
  debug: "debug",
  dir: "info",
  dirxml: "info",
  error: "error",
  group: "info",
  groupCollapsed: "info",
  groupEnd: "info",
  info: "info",
  log: "info",
  table: "info",
  time: "info",
  timeEnd: "info",
  timeLog: "info",
  trace: "error",
  warn: "warn",
};

/** Takes the place of the global console. Node's own Console formats, so that tables, groups and counters read as ever. */
export function captureConsole(log: Log, currentRequestId: () => string | null): void {
  let level: LogLevel = "info";
  const stream = { write: (text: string) => log.print(level, text.endsWith("\n") ? text.slice(0, -1) : text, currentRequestId()) };
  // Console only ever calls write() when it does not ignore errors.
  const formatter = new Console({ stdout: stream as never, ignoreErrors: false, colorMode: false });
  const methods = formatter as unknown as Record<string, (...values: unknown[]) => void>; // Looked up by the names above.
  for (const [name, levelOfMethod] of Object.entries(LEVELS)) {
    const method = methods[name];
    if (method === undefined) continue;
    const captured = (...values: unknown[]) => {
      level = levelOfMethod;
      method.apply(formatter, values);
    };
    Object.defineProperty(console, name, { value: captured, writable: true, configurable: true, enumerable: true });
  }
}

/** For the moments when there is no log yet, or none any more. */
export function printAtOnce(level: LogLevel, text: string): void {
  const bytes = Buffer.from(encodeLine({ epochMs: Date.now(), level, requestId: null, text }));
  writeAll(bytes, bytes.length);
}

/** For the watchdog: what the main thread printed and can no longer write. */
export function writePrinted(shared: SharedState): void {
  writeAll(shared.logBytes, shared.logLength());
}

/** Plain text beside the log, for whoever started this process by hand. */
export function printToStderr(text: string): void {
  try {
    fs.writeSync(2, `${text}\n`);
  } catch {
    // Nobody reads it; the same was printed and reported elsewhere.
  }
}

function writeAll(bytes: Uint8Array, length: number): void {
  const deadlineMs = performance.now() + LAST_WRITE_TIMEOUT_MS;
  let offset = 0;
  while (offset < length && performance.now() < deadlineMs) {
    const taken = stdoutSink.write(bytes, offset, length - offset);
    if (taken === 0) pause(RETRY_DELAY_MS);
    offset += taken;
  }
}

const stdoutSink: LogSink = {
  write(bytes, offset, length) {
    try {
      return fs.writeSync(STDOUT, bytes, offset, length);
    } catch (error) {
      const isBusy = error instanceof Error && "code" in error && error.code === "EAGAIN";
      return isBusy ? 0 : length; // Nobody reads any more (EPIPE): an instance serves on without its log.
    }
  },
};

const sleeper = new Int32Array(new SharedArrayBuffer(4));
const pause = (delayMs: number): void => void Atomics.wait(sleeper, 0, 0, delayMs);

// Follows the log files of an instance line by line, and keeps them from growing without end.
import { fstatSync } from "node:fs";
import { open, stat, truncate } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

import { systemClock } from "../clock.ts";
import type { LogLine } from "./engine.ts";
import { createLineCutter } from "./process-lines.ts";
import type { LineCutter } from "./process-lines.ts";

const FOLLOW_INTERVAL_MS = 250;
const READ_BYTES = 262_144;
const LOG_FILE_BYTES_MAX = 16_000_000; // Who follows has read them long before; this is for what nobody follows.

export interface FollowOptions {
  readonly outputFile: string;
  readonly errorFile: string;
  readonly sinceEpochMs: number;
  readonly signal: AbortSignal;
  isOver(): Promise<boolean>; // Whether the instance is gone and prints no more.
}

/** Ends once the instance is over and everything it printed was told. */
export async function followFiles(options: FollowOptions, onLine: (line: LogLine) => void): Promise<void> {
  const { signal, sinceEpochMs } = options;
  const tell = (lines: readonly LogLine[]): void => {
    if (!signal.aborted) lines.filter((line) => line.epochMs >= sinceEpochMs).forEach((line) => onLine(line));
  };
  const tails = await Promise.all([openTail("stdout", options.outputFile), openTail("stderr", options.errorFile)]);
  try {
    let isOver = false;
    while (!isOver && !signal.aborted) {
      isOver = await options.isOver(); // Asked first: what it printed before its end is then read below.
      for (const tail of tails) await tail.readOn(tell);
      if (!isOver) await pause(signal);
    }
    for (const tail of tails) tell(tail.rest());
  } finally {
    await Promise.all(tails.map((tail) => tail.close()));
  }
}

/** The files are appended to, so a writer goes on at the new end, which is the beginning. */
export async function boundLogs(files: readonly string[]): Promise<void> {
  for (const file of files) {
    const size = await stat(file).then(
      (stats) => stats.size,
      () => 0, // Removed meanwhile.
    );
    if (size > LOG_FILE_BYTES_MAX) await truncate(file, 0);
  }
}

interface Tail {
  readOn(tell: (lines: readonly LogLine[]) => void): Promise<void>;
  rest(): LogLine[];
  close(): Promise<void>;
}

async function openTail(stream: LogLine["stream"], path: string): Promise<Tail> {
  const file = await open(path, "r"); // Held open: what was written is read to its end even after the file was removed.
  const cutter: LineCutter = createLineCutter(stream);
  // Lines without a time of their own were written at the latest when the file was; those that come while we look, now.
  let epochMs = (await file.stat()).mtimeMs;
  let offset = 0;
  return {
    async readOn(tell) {
      const { size } = fstatSync(file.fd); // A look at what the kernel holds; four times a second for each instance, waiting for it costs far more.
      if (size < offset) offset = 0; // It was emptied.
      for await (const bytes of readFrom(file, { offset, end: size })) {
        offset += bytes.length;
        tell(cutter.push(bytes, epochMs));
      }
      epochMs = systemClock.nowEpochMs();
    },
    rest: () => cutter.rest(epochMs),
    close: () => file.close(),
  };
}

async function* readFrom(file: FileHandle, range: { offset: number; end: number }): AsyncGenerator<Buffer> {
  let position = range.offset;
  while (position < range.end) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(READ_BYTES), 0, Math.min(READ_BYTES, range.end - position), position);
    if (bytesRead === 0) return; // Emptied under our hands.
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function pause(signal: AbortSignal): Promise<void> {
  try {
    await delay(FOLLOW_INTERVAL_MS, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

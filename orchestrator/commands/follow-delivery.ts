// Follows a delivery to its end: its log as it comes, across a restart of the orchestrator, and Ctrl-C, which cancels it.
import { setTimeout as delay } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { ApiClient } from "../api/client.ts";
import { systemClock } from "../clock.ts";
import { environmentSettings } from "../config.ts";
import { outliveReaders, resultScreen } from "../log.ts";
import { checkedAnswer, type EndLine, LOG_LINE, type LogLine } from "./answers.ts";
import { onInterrupts } from "./interrupts.ts";
import { createTaskWriter, type TaskStyle, type TaskWriter } from "./task-writer.ts";

export interface Following {
  readonly api: ApiClient;
  readonly deliveryId: string;
  readonly style: TaskStyle;
  readonly onInterrupt: "cancel" | "leave";
}

export interface Followed {
  readonly end: EndLine | null; // Null: it was interrupted, and went on without a reader.
  readonly isInterrupted: boolean;
}

const RETRY_INTERVAL_MS = 1_000;
const RETRY_COUNT_MAX = 30; // A restart of the orchestrator takes some five seconds on a busy machine.
const CANCEL_TIMEOUT_MS = 20_000; // A step's processes get ten seconds to end by themselves.

export const logPathOf = (deliveryId: string): string => `/api/deliveries/${encodeURIComponent(deliveryId)}/log`;

export function taskStyleOf(isJson: boolean): TaskStyle {
  if (isJson) return "json";
  return process.stdout.isTTY && !environmentSettings().isDumbTerminal ? "list" : "lines";
}

export const openTaskWriter = (style: TaskStyle): TaskWriter =>
  createTaskWriter(style, resultScreen({ isColored: !environmentSettings().noColor }), systemClock);

export async function followDelivery(following: Following): Promise<Followed> {
  outliveReaders(); // What was begun goes on, whoever reads.
  const writer = openTaskWriter(following.style);
  const leaving = new AbortController();
  let isInterrupted = false;
  let deadline: NodeJS.Timeout | undefined;
  const interrupts = onInterrupts((isLast) => {
    isInterrupted = true;
    if (isLast || following.onInterrupt === "leave") return leaving.abort();
    deadline = setTimeout(() => leaving.abort(), CANCEL_TIMEOUT_MS);
    void cancel(following, writer, leaving); // It tells of its own failure.
  });
  try {
    return { end: await lastLine(following, writer, leaving.signal), isInterrupted };
  } finally {
    clearTimeout(deadline);
    interrupts.close();
    writer.close();
  }
}

async function cancel({ api, deliveryId }: Following, writer: TaskWriter, leaving: AbortController): Promise<void> {
  writer.note("Cancelling it; press Ctrl-C twice more to leave it alone.");
  try {
    await api.post(`/api/deliveries/${encodeURIComponent(deliveryId)}/cancel`);
  } catch (error) {
    if (error instanceof PlatformError && error.code === "DELIVERY_OVER") return; // Its end is on the way.
    writer.note(`It could not be cancelled: ${error instanceof Error ? error.message : String(error)}`);
    leaving.abort();
  }
}

/** The log is read anew where it breaks off; what was shown is not shown again. */
async function lastLine({ api, deliveryId }: Following, writer: TaskWriter, leaving: AbortSignal): Promise<EndLine | null> {
  const fresh = newLines();
  let cause: unknown = null;
  for (let breakCount = 0; breakCount <= RETRY_COUNT_MAX; breakCount += 1) {
    if (breakCount > 0) await delay(RETRY_INTERVAL_MS, undefined, { signal: leaving }).catch(() => undefined); // Told to leave.
    if (leaving.aborted) return null;
    try {
      const end = await readLog(`${logPathOf(deliveryId)}?follow=true`, { api, writer, leaving, isNew: fresh.reading() });
      if (end !== null || leaving.aborted) return end;
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== "NOT_RUNNING") throw error;
      cause = error;
    }
  }
  const detail = "The log of the delivery broke off; the delivery itself may go on.";
  throw new PlatformError(
    "NOT_RUNNING",
    { detail, remedy: `Look again with: orchestrator delivery log ${deliveryId} --follow` },
    { cause },
  );
}

interface Reading {
  readonly api: ApiClient;
  readonly writer: TaskWriter;
  readonly leaving: AbortSignal;
  readonly isNew: (line: LogLine) => boolean;
}

/** Null where it ended before the delivery did. */
async function readLog(path: string, { api, writer, leaving, isNew }: Reading): Promise<EndLine | null> {
  const over = new AbortController();
  let end: EndLine | null = null;
  const take = (value: unknown): void => {
    const line = checkedAnswer(LOG_LINE, value, `GET ${path}`);
    if (end !== null || !isNew(line)) return;
    writer.line(line);
    if (line.kind !== "end") return;
    end = line;
    over.abort();
  };
  await api.lines(path, take, AbortSignal.any([leaving, over.signal])).catch((cause: unknown) => {
    if (!(cause instanceof SyntaxError)) throw cause;
    throw new PlatformError("INTERNAL", { detail: `The answer to GET ${path} holds a line that is no JSON.` }, { cause });
  });
  return end;
}

/** Which lines of a log that is read again were not there before. It is the same one, or one that begins alike and goes on otherwise. */
export function newLines(): { reading(): (line: LogLine) => boolean } {
  const seen: number[] = []; // A sum of each line: logs may be long.
  return {
    reading() {
      let index = 0;
      return (line) => {
        const sum = crc32(JSON.stringify(line));
        const isSame = seen[index] === sum;
        if (!isSame) seen.splice(index, Infinity, sum);
        index += 1;
        return !isSame;
      };
    },
  };
}

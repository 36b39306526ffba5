// The log of a delivery: a file of events, bounded, which those who follow it hear as it grows.
import { type FileHandle, mkdir, open, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { DELIVERY_LINE_LENGTH_MAX, DELIVERY_LOG_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import type { LogEvent, Step } from "./delivery.ts";

export interface DeliveryLog {
  /** What there is so far. */
  readonly events: readonly LogEvent[];
  add(event: LogEvent): void;
  line(step: Step, text: string): void;
  follow(hear: (event: LogEvent) => void): () => void;
  /** Resolves when all of it is written. */
  close(): Promise<void>;
}

export interface DeliveryLogs {
  /** A new one, in place of what an earlier try left. */
  begin(deliveryId: string): Promise<DeliveryLog>;
  /** Of one that is over. Empty where there is none (any more). */
  read(deliveryId: string): Promise<readonly LogEvent[]>;
  remove(deliveryId: string): Promise<void>;
}

const TOO_LONG = "… the log is full; what follows is left out";

export function createDeliveryLogs(folder: string): DeliveryLogs {
  const fileOf = (deliveryId: string): string => join(folder, `${deliveryId}.ndjson`);
  return {
    async begin(deliveryId) {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      return createLog(await open(fileOf(deliveryId), "w", 0o600));
    },
    async read(deliveryId) {
      const text = await readFile(fileOf(deliveryId), "utf8").catch(() => "");
      return text.split("\n").flatMap((line) => eventIn(line) ?? []);
    },
    remove: async (deliveryId) => rm(fileOf(deliveryId), { force: true }),
  };
}

function createLog(file: FileHandle): DeliveryLog {
  const events: LogEvent[] = [];
  const followers = new Set<(event: LogEvent) => void>();
  let byteCount = 0;
  let isFull = false;
  let written: Promise<unknown> = Promise.resolve();
  const put = (event: LogEvent): void => {
    const text = `${JSON.stringify(event)}\n`;
    byteCount += Buffer.byteLength(text);
    events.push(event);
    written = written.then(async () => file.write(text)).catch(() => undefined); // A full disk fails the delivery where it matters.
    for (const follower of followers) follower(event);
  };
  return {
    events,
    add: put,
    line(step, text) {
      if (isFull) return;
      isFull = byteCount > DELIVERY_LOG_BYTES_MAX;
      put({ kind: "line", step, text: isFull ? TOO_LONG : cleaned(text) });
    },
    follow(hear) {
      followers.add(hear);
      return () => followers.delete(hear);
    },
    async close() {
      await written;
      await file.close();
    },
  };
}

/** Colours and cursor moves of what scripts print belong to no log, and must not reach a terminal. */
const cleaned = (text: string): string =>
  stripVTControlCharacters(text)
    // oxlint-disable-next-line no-control-regex -- Those are just what is taken out.
    .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "")
    .slice(0, DELIVERY_LINE_LENGTH_MAX);

/** Null for half a line, which a crash left. */
function eventIn(line: string): LogEvent | null {
  if (line === "") return null;
  try {
    return JSON.parse(line) as LogEvent; // Only this file writes them.
  } catch {
    return null;
  }
}

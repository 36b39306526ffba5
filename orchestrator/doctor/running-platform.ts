// Finds the platform that runs, if one does, and asks it how much room it takes; otherwise its home is measured from outside.
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type ApiClient, connectApi } from "../api/client.ts";
import { type DiskReport, measureDisk } from "./disk-use.ts";

export interface FoundPlatform {
  readonly home: string;
  readonly api: ApiClient | null; // Null where none runs on this home, or it cannot be asked.
}

export interface PlatformPlace {
  readonly home: string | null; // Null: that of the one that runs.
  readonly apiPort: number;
  readonly otherwise: string; // Where neither says it.
}

const ANSWER_TIMEOUT_MS = 2_000; // Doctor should be quick about a platform that hangs.

export async function findPlatform({ home, apiPort, otherwise }: PlatformPlace): Promise<FoundPlatform> {
  const api = await withinTime(connectApi({ port: apiPort, home }));
  return { home: api?.home ?? resolve(home ?? otherwise), api };
}

/** Null where there is no home yet. `read` throws where the answer is not what it should be. */
export async function askDisk({ home, api }: FoundPlatform, read: (answer: unknown) => DiskReport): Promise<DiskReport | null> {
  const told = api === null ? null : await withinTime(api.get("/api/disk").then(read));
  if (told !== null && resolve(told.home) === home) return told; // Another one may listen on that port.
  const isThere = await stat(home).catch(() => null);
  return isThere === null ? null : measureDisk({ home, engine: null });
}

/** Null where it fails: then there is nobody to ask, and doctor looks itself. */
async function withinTime<Value>(work: Promise<Value>): Promise<Value | null> {
  const over = new AbortController();
  const late = delay(ANSWER_TIMEOUT_MS, null, { signal: over.signal }).catch(() => null);
  const first = await Promise.race([work.catch(() => null), late]);
  over.abort();
  return first;
}

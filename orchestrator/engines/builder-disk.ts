// Ends scripts that fill the disk: looks at what is free all the time, and measures what a builder holds when that could be too much.
//
// Nothing else works everywhere: Docker's overlay2 takes a size only on XFS with project quotas, and a tmpfs of that size would hold
// every build in memory. The bound is soft by what can be written between two looks; no single file grows beyond it at all, since
// the kernel is told the same number as the limit of a file's size. What hides from measuring (files that were deleted and are still
// open) shows in what is free, and ends the run before the machine's own disk is full.
import { statfs } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import {
  BUILDER_DISK_FREE_BYTES_MIN,
  BUILDER_DISK_FREE_ENTRY_COUNT_MIN,
  BUILDER_DISK_LOOK_INTERVAL_MS,
  BUILDER_DISK_MEASURE_INTERVAL_MS,
} from "../../runtime-image/contract/limits.ts";

export interface BuilderDisk {
  readonly bytesMax: number;
  /** What the builder holds. */
  heldBytes(): Promise<number>;
  /** Null where nobody can tell from here. */
  freeSpace(): Promise<FreeSpace | null>;
}

export interface FreeSpace {
  readonly bytes: number;
  readonly entryCount: number | null; // Files and folders that can still be made; null where the file system counts none.
}

export interface Measured {
  readonly heldBytes: number;
  readonly freeBytes: number | null; // At the same moment.
  readonly atMs: number;
  readonly tookMs: number;
}

/** Measuring takes a moment for many files: at most this part of the time goes by with it. */
const MEASURING_SHARE_MAX = 0.25;
const BLIND_MEASURE_INTERVAL_MS = 1_000; // Where nothing is known of what is free.

export function nextLook(
  last: Measured | null,
  now: { readonly free: FreeSpace | null; readonly atMs: number; readonly bytesMax: number },
): "full" | "measure" | "wait" {
  const { free, atMs, bytesMax } = now;
  if (free !== null && isNearlyFull(free)) return "full";
  if (last === null) return "measure";
  const passedMs = atMs - last.atMs;
  if (passedMs < last.tookMs / MEASURING_SHARE_MAX) return "wait";
  if (free === null || last.freeBytes === null) return passedMs >= BLIND_MEASURE_INTERVAL_MS ? "measure" : "wait";
  const mayHoldBytes = last.heldBytes + (last.freeBytes - free.bytes); // If nobody else wrote or deleted anything.
  return mayHoldBytes > bytesMax || passedMs >= BUILDER_DISK_MEASURE_INTERVAL_MS ? "measure" : "wait";
}

const isNearlyFull = ({ bytes, entryCount }: FreeSpace): boolean =>
  bytes < BUILDER_DISK_FREE_BYTES_MIN || (entryCount !== null && entryCount < BUILDER_DISK_FREE_ENTRY_COUNT_MIN);

/** Until it is full, which it tells once, or the signal aborts. */
export async function watchDisk(disk: BuilderDisk, signal: AbortSignal, onFull: () => void): Promise<void> {
  let last: Measured | null = null;
  while (!signal.aborted) {
    const free = await disk.freeSpace();
    const look = nextLook(last, { free, atMs: performance.now(), bytesMax: disk.bytesMax });
    if (look === "measure") last = (await measure(disk, free)) ?? last;
    if (look === "full" || (last !== null && last.heldBytes > disk.bytesMax)) return onFull();
    await delay(BUILDER_DISK_LOOK_INTERVAL_MS, undefined, { signal }).catch(() => undefined); // Rejects when the signal aborts, which the loop sees.
  }
}

/** Null where it failed for once: a busy engine is asked again. */
async function measure(disk: BuilderDisk, free: FreeSpace | null): Promise<Measured | null> {
  const startMs = performance.now();
  const heldBytes = await disk.heldBytes().catch(() => null);
  const atMs = performance.now();
  return heldBytes === null ? null : { heldBytes, freeBytes: free?.bytes ?? null, atMs, tookMs: atMs - startMs };
}

/** Of the file system that a folder is on; null where there is no such folder from here. */
export async function freeSpaceAt(folder: string): Promise<FreeSpace | null> {
  const facts = await statfs(folder).catch(() => null);
  return facts && { bytes: facts.bavail * facts.bsize, entryCount: facts.files === 0 ? null : facts.ffree };
}

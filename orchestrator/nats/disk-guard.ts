// Watches the broker's disk: before it is full, stores take nothing new, so that what is destroyed meanwhile can still be written down.
import { randomBytes } from "node:crypto";
import { open, rm, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  BROKER_DISK_FREE_BYTES_MIN,
  BROKER_DISK_RESERVE_BYTES,
  BROKER_DISK_WATCH_INTERVAL_MS,
} from "../../runtime-image/contract/limits.ts";

export interface DiskGuardParts {
  readonly reserveFile: string;
  /** Stores take nothing new, or do again. Where it fails it is tried again. */
  readonly hold: (isHeld: boolean) => Promise<void>;
  readonly onChange: (isHeld: boolean) => void;
  readonly onError: (cause: unknown) => void; // Once for each row of failures.
}

export interface DiskGuard {
  close(): Promise<void>;
}

/**
 * The broker acknowledges the removal of a message also where the disk has no room to write it down (2.10.27): killed then, it would
 * come back with what was destroyed. So room for removals is kept, in a file that is given up when there is no other.
 */
export function guardDisk(parts: DiskGuardParts): DiskGuard {
  const over = new AbortController();
  const watching = watch(parts, over.signal);
  return {
    close: async () => {
      over.abort();
      await watching;
    },
  };
}

export interface DiskState {
  readonly isHeld: boolean;
  readonly hasReserve: boolean;
}

export type DiskStep = "hold" | "let go" | "make the reserve" | "nothing";

const ENOUGH_BYTES = BROKER_DISK_RESERVE_BYTES + 2 * BROKER_DISK_FREE_BYTES_MIN; // The reserve made, there is still some way to the end.

export function nextStep({ isHeld, hasReserve }: DiskState, freeBytes: number): DiskStep {
  if (isHeld) return freeBytes >= ENOUGH_BYTES ? "let go" : "nothing";
  if (freeBytes < BROKER_DISK_FREE_BYTES_MIN) return "hold";
  return freeBytes >= ENOUGH_BYTES && !hasReserve ? "make the reserve" : "nothing";
}

async function watch(parts: DiskGuardParts, signal: AbortSignal): Promise<void> {
  let isFailing = false;
  let state: DiskState = { isHeld: false, hasReserve: await isWhole(parts.reserveFile) };
  while (!signal.aborted) {
    try {
      state = await look(parts, state);
      isFailing = false;
    } catch (cause) {
      if (!isFailing) parts.onError(cause);
      isFailing = true;
    }
    await delay(BROKER_DISK_WATCH_INTERVAL_MS, undefined, { signal }).catch(() => undefined); // Cut short, it is over.
  }
}

async function look({ reserveFile, hold, onChange }: DiskGuardParts, state: DiskState): Promise<DiskState> {
  const { bavail, bsize } = await statfs(dirname(reserveFile));
  switch (nextStep(state, bavail * bsize)) {
    case "hold":
      await rm(reserveFile, { force: true }); // First of all: to hold the stores takes some room, too.
      await hold(true);
      onChange(true);
      return { isHeld: true, hasReserve: false };
    case "let go":
      await hold(false);
      onChange(false);
      return { isHeld: false, hasReserve: false };
    case "make the reserve":
      await makeReserve(reserveFile);
      return { isHeld: false, hasReserve: true };
    case "nothing":
      return state;
  }
}

const isWhole = (file: string): Promise<boolean> =>
  stat(file).then(
    ({ size }) => size === BROKER_DISK_RESERVE_BYTES,
    () => false,
  );

const PART_BYTES = 1_000_000;

/** Of bytes that no filesystem can make smaller. */
async function makeReserve(path: string): Promise<void> {
  const file = await open(path, "w", 0o600);
  try {
    for (let written = 0; written < BROKER_DISK_RESERVE_BYTES; written += PART_BYTES) await file.writeFile(randomBytes(PART_BYTES));
    await file.sync();
  } finally {
    await file.close();
  }
}

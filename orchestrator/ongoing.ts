// Work that is on its way: an end lets nothing new begin, and knows when the last of it is over.
import { setTimeout as delay } from "node:timers/promises";
import { PlatformError } from "../runtime-image/contract/errors.ts";

export interface Ongoing {
  /** Does the work, and counts it until it is over. Throws NOT_RUNNING after refuse(). */
  during<Value>(work: () => Promise<Value>): Promise<Value>;
  /** From now on nothing begins. */
  refuse(): void;
  admit(): void;
  isNone(): boolean;
  /** Resolves when everything that is on its way now is over, and after the time at the latest. */
  settled(timeoutMs: number): Promise<void>;
}

/** What is said to who asks for something new in that moment. */
export const beingStopped = (): PlatformError => new PlatformError("NOT_RUNNING", { detail: "The platform is being stopped." });

export function createOngoing(): Ongoing {
  const pieces = new Set<Promise<unknown>>();
  let isRefusing = false;
  return {
    async during(work) {
      if (isRefusing) throw beingStopped();
      const piece = work();
      pieces.add(piece);
      try {
        return await piece;
      } finally {
        pieces.delete(piece);
      }
    },
    refuse: () => void (isRefusing = true),
    admit: () => void (isRefusing = false),
    isNone: () => pieces.size === 0,
    settled: async (timeoutMs) => {
      const over = new AbortController();
      const late = delay(timeoutMs, undefined, { signal: over.signal }).catch(() => undefined); // Nobody waits for it any more.
      await Promise.race([Promise.allSettled(pieces), late]);
      over.abort();
    },
  };
}

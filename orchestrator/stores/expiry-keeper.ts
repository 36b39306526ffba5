// Sees to it that documents whose ttl is over leave the disk: looks again and again into each app and environment where there may be some.
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { dueSlot } from "../../runtime-image/contract/expiry-slots.ts";
import { EXPIRY_FULL_SWEEP_INTERVAL_MS, EXPIRY_SWEEP_INTERVAL_MS } from "../../runtime-image/contract/limits.ts";
import type { Clock } from "../clock.ts";
import { hasAnyEntry, sweepSlots } from "./expiry-sweep.ts";
import type { AppStores } from "./stores.ts";

export interface StorePlace {
  readonly appId: string;
  readonly environment: Environment;
}

export interface ExpiryKeeperParts {
  readonly places: () => readonly StorePlace[];
  readonly stores: (place: StorePlace) => Promise<Pick<AppStores, "store" | "requests">>;
  /** Grows with every document that is written there. Null where it is not known. */
  readonly writtenRevision: (place: StorePlace) => Promise<number | null>;
  readonly clock: Clock;
  readonly report: (text: string) => void; // Once for each time that it begins to fail.
}

export interface ExpiryKeeper {
  /** Everything that is due now. Gives how many documents were taken away. */
  sweep(): Promise<number>;
  /** Does so at an interval until it is closed. */
  start(): void;
  close(): Promise<void>;
}

export interface Progress {
  readonly nextSlot: number; // The first that was not looked into yet.
  readonly fullAtEpochMs: number;
  readonly revision: number | null; // What was written before the look.
  readonly hasEntries: boolean; // Whether documents were left that end some time.
}

export function createExpiryKeeper({ places, stores, writtenRevision, clock, report }: ExpiryKeeperParts): ExpiryKeeper {
  const progressOf = new Map<string, Progress>();
  const failing = new Set<string>();
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let sweeping: Promise<unknown> = Promise.resolve();

  const sweepPlace = async (place: StorePlace, name: string): Promise<number> => {
    const nowEpochMs = clock.nowEpochMs();
    const before = progressOf.get(name);
    const slots = slotsToSweep(before, nowEpochMs);
    if (slots.first > slots.last) return 0;
    const revision = await writtenRevision(place);
    if (hasNothingToEnd(before, revision)) return 0;
    const opened = await stores(place);
    const removedCount = await sweepSlots({ stores: opened, slots, nowEpochMs, signal: abort.signal });
    const hasEntries = await hasAnyEntry(opened);
    progressOf.set(name, { ...progressAfter(before, { slots, nowEpochMs }), revision, hasEntries });
    return removedCount;
  };
  const sweep = async (): Promise<number> => {
    let removedCount = 0;
    for (const place of places()) {
      const name = `${place.environment} ${place.appId}`;
      try {
        removedCount += await sweepPlace(place, name);
        failing.delete(name);
      } catch (cause) {
        if (abort.signal.aborted) break;
        if (!failing.has(name))
          report(
            `documents of ${place.environment} whose ttl is over stay on the disk for now: ${cause instanceof Error ? cause.message : String(cause)}`,
          );
        failing.add(name);
      }
    }
    return removedCount;
  };
  const next = (): void => {
    sweeping = sweep().finally(() => {
      if (!abort.signal.aborted) timer = setTimeout(next, EXPIRY_SWEEP_INTERVAL_MS);
    });
  };
  return {
    sweep,
    start: () => {
      if (!abort.signal.aborted) next();
    },
    close: async () => {
      abort.abort();
      clearTimeout(timer);
      await sweeping;
    },
  };
}

/**
 * Most apps have no documents that end, and hundreds of them must not cost a connection each: nothing was ever written there, or nothing
 * since the last look, which left none.
 */
export function hasNothingToEnd(progress: Progress | undefined, revision: number | null): boolean {
  if (revision === 0) return true;
  return progress !== undefined && !progress.hasEntries && revision !== null && revision === progress.revision;
}

/** Everything that was ever due at first, and now and then; in between what has become due. */
export function slotsToSweep(
  progress: Pick<Progress, "nextSlot" | "fullAtEpochMs"> | undefined,
  nowEpochMs: number,
): { readonly first: number; readonly last: number } {
  const isFull = progress === undefined || nowEpochMs >= progress.fullAtEpochMs;
  return { first: isFull ? 0 : progress.nextSlot, last: dueSlot(nowEpochMs) };
}

function progressAfter(
  before: Progress | undefined,
  { slots, nowEpochMs }: { readonly slots: { readonly first: number; readonly last: number }; readonly nowEpochMs: number },
): Pick<Progress, "nextSlot" | "fullAtEpochMs"> {
  const fullAtEpochMs = slots.first === 0 || before === undefined ? nowEpochMs + EXPIRY_FULL_SWEEP_INTERVAL_MS : before.fullAtEpochMs;
  return { nextSlot: slots.last + 1, fullAtEpochMs };
}

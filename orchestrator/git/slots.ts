// A bounded number at once, a bounded number that waits, and each for a bounded time: for children, and for what happens to one repository.
import { PlatformError } from "../../runtime-image/contract/errors.ts";

export interface Slots {
  /** Resolves with what gives the slot back. Throws GIT_BUSY where none comes free in time, and the signal's reason when it fires. */
  take(options: { readonly signal: AbortSignal; readonly onWait?: () => void }): Promise<() => void>;
}

export interface SlotSettings {
  readonly countAtOnce: number;
  readonly waitingCountMax: number;
  readonly timeoutMs: number;
  readonly what: string; // Of which there are too many, as a subject: "Other pushes".
}

export function createSlots(settings: SlotSettings): Slots {
  const waiting: (() => void)[] = [];
  let takenCount = 0;
  const giveBack = (): void => {
    const next = waiting.shift();
    if (next === undefined) takenCount -= 1;
    else next(); // The slot passes on: nobody who comes now gets before those who wait.
  };
  const slot = (): (() => void) => {
    let isTaken = true;
    return () => {
      if (isTaken) giveBack();
      isTaken = false;
    };
  };
  return {
    async take({ signal, onWait }) {
      signal.throwIfAborted();
      if (takenCount < settings.countAtOnce) {
        takenCount += 1;
        return slot();
      }
      if (waiting.length >= settings.waitingCountMax) throw busy(settings, "and enough wait for them already");
      onWait?.();
      await turnIn(waiting, {
        signal,
        timeoutMs: settings.timeoutMs,
        late: () => busy(settings, `for more than ${settings.timeoutMs / 1_000} s`),
      });
      return slot();
    },
  };
}

interface Wait {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly late: () => PlatformError;
}

async function turnIn(waiting: (() => void)[], { signal, timeoutMs, late }: Wait): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      const index = waiting.indexOf(begin);
      if (index >= 0) waiting.splice(index, 1);
    };
    const begin = (): void => {
      leave();
      resolve();
    };
    const abort = (): void => {
      leave();
      reject(signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason)));
    };
    const timer = setTimeout(() => {
      leave();
      reject(late());
    }, timeoutMs);
    signal.addEventListener("abort", abort, { once: true });
    waiting.push(begin);
  });
}

const busy = ({ what }: SlotSettings, why: string): PlatformError =>
  new PlatformError("GIT_BUSY", { detail: `${what} are on their way, ${why}.`, remedy: "Try again in a moment." });

export interface KeyedSlots {
  take(key: string, options: Parameters<Slots["take"]>[0]): Promise<() => void>;
}

/** Slots of their own for each key; keys that nobody holds cost nothing. */
export function createKeyedSlots(settings: SlotSettings): KeyedSlots {
  const byKey = new Map<string, { readonly slots: Slots; userCount: number }>();
  return {
    async take(key, options) {
      const entry = byKey.get(key) ?? { slots: createSlots(settings), userCount: 0 };
      byKey.set(key, entry);
      entry.userCount += 1;
      const leave = (): void => {
        entry.userCount -= 1;
        if (entry.userCount === 0) byKey.delete(key);
      };
      try {
        const giveBack = await entry.slots.take(options);
        let isHeld = true;
        return () => {
          giveBack();
          if (isHeld) leave();
          isHeld = false;
        };
      } catch (cause) {
        leave();
        throw cause;
      }
    },
  };
}

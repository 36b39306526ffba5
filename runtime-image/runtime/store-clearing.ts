// What is to be deleted later: in a pause of the writers, or beside them when there is much of it.
import {
  STORE_CLEARING_AT_ONCE_COUNT,
  STORE_CLEARING_AT_ONCE_COUNT_MAX,
  STORE_CLEARING_BYTES_MAX,
  STORE_CLEARING_COUNT_MAX,
  STORE_CLEARING_PAUSE_MS,
} from "../contract/limits.ts";

export interface ClearingBacklog<Item> {
  /** Resolves at once, unless a lot is being cleared already: then the writer waits for a part of it. */
  add(item: Item): Promise<void>;
  /** Resolves when nothing waits any more. */
  settle(): Promise<void>;
}

/** A clearing that fails is not tried again: the write itself stands, and whoever next writes the key clears away what is hidden. */
export function createClearingBacklog<Item extends { readonly byteCount: number }>(
  clear: (item: Item) => Promise<void>,
): ClearingBacklog<Item> {
  const waiting: Item[] = [];
  const clearing = new Set<Promise<void>>();
  let waitingBytes = 0;
  let addedCount = 0;
  let timer: NodeJS.Timeout | undefined;

  const clearOne = (): Promise<void> => {
    const item = waiting.shift();
    if (item === undefined) return Promise.resolve();
    waitingBytes -= item.byteCount;
    const done = clear(item)
      .catch(() => undefined)
      .finally(() => clearing.delete(done));
    clearing.add(done);
    return done;
  };
  const clearWhile = async (mayGoOn: () => boolean): Promise<void> => {
    const work = async (): Promise<void> => {
      while (waiting.length > 0 && mayGoOn()) await clearOne();
    };
    await Promise.all(Array.from({ length: STORE_CLEARING_AT_ONCE_COUNT }, work));
  };
  /** Whoever writes meanwhile comes first: then the next pause is waited for. */
  const onPause = (): void => {
    const countBefore = addedCount;
    void clearWhile(() => addedCount === countBefore); // It does not fail.
  };
  return {
    add: async (item) => {
      waiting.push(item);
      waitingBytes += item.byteCount;
      addedCount += 1;
      if (timer === undefined) timer = setTimeout(onPause, STORE_CLEARING_PAUSE_MS).unref();
      else timer.refresh();
      if (waiting.length <= STORE_CLEARING_COUNT_MAX && waitingBytes <= STORE_CLEARING_BYTES_MAX) return;
      const one = clearOne();
      if (clearing.size > STORE_CLEARING_AT_ONCE_COUNT_MAX) await one;
    },
    settle: async () => {
      await clearWhile(() => true);
      await Promise.all(clearing);
    },
  };
}

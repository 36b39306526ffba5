// What is to be deleted later: in a pause of the writers, or beside them when there is much of it.
import {
  STORE_CLEARING_AT_ONCE_COUNT,
  STORE_CLEARING_AT_ONCE_COUNT_MAX,
  STORE_CLEARING_BYTES_MAX,
  STORE_CLEARING_COUNT_MAX,
  STORE_CLEARING_PAUSE_MS,
  STORE_CLEARING_SAME_KEY_COUNT_MAX,
} from "../contract/limits.ts";

export interface ClearingBacklog<Item> {
  /** Resolves at once, unless a lot is being cleared already: then the writer waits for a part of it. */
  add(item: Item): Promise<void>;
  /** Resolves when nothing waits any more. */
  settle(): Promise<void>;
}

export interface ClearingItem {
  readonly subject: string;
  readonly byteCount: number;
}

/** A clearing that fails is not tried again: the write itself stands, and whoever next writes the key clears away what is hidden. */
export function createClearingBacklog<Item extends ClearingItem>(clear: (item: Item) => Promise<void>): ClearingBacklog<Item> {
  const waiting = new Map<string, Item[]>(); // By subject, and those in the order in which they came first.
  const clearing = new Set<Promise<void>>();
  let waitingCount = 0;
  let waitingBytes = 0;
  let addedCount = 0;
  let timer: NodeJS.Timeout | undefined;

  const take = (subject: string | undefined): Item | undefined => {
    const items = subject === undefined ? undefined : waiting.get(subject);
    const item = items?.shift();
    if (item === undefined) return undefined;
    if (items?.length === 0) waiting.delete(item.subject);
    waitingCount -= 1;
    waitingBytes -= item.byteCount;
    return item;
  };
  const clearOne = async (subject: string | undefined): Promise<void> => {
    const item = take(subject);
    if (item === undefined) return;
    const done = clear(item)
      .catch(() => undefined)
      .finally(() => clearing.delete(done));
    clearing.add(done);
    await done;
  };
  const oldest = (): string | undefined => waiting.keys().next().value;
  const clearWhile = async (mayGoOn: () => boolean): Promise<void> => {
    const work = async (): Promise<void> => {
      while (waiting.size > 0 && mayGoOn()) await clearOne(oldest());
    };
    await Promise.all(Array.from({ length: STORE_CLEARING_AT_ONCE_COUNT }, work));
  };
  /** Whoever writes meanwhile comes first: then the next pause is waited for. */
  const onPause = (): void => {
    const countBefore = addedCount;
    void clearWhile(() => addedCount === countBefore); // It does not fail.
  };
  const keep = (item: Item): number => {
    const items = waiting.get(item.subject);
    if (items === undefined) waiting.set(item.subject, [item]);
    else items.push(item);
    waitingCount += 1;
    waitingBytes += item.byteCount;
    return items?.length ?? 1;
  };
  return {
    add: async (item) => {
      const sameCount = keep(item);
      addedCount += 1;
      if (timer === undefined) timer = setTimeout(onPause, STORE_CLEARING_PAUSE_MS).unref();
      else timer.refresh();
      const isTooMuch = waitingCount > STORE_CLEARING_COUNT_MAX || waitingBytes > STORE_CLEARING_BYTES_MAX;
      if (!isTooMuch && sameCount <= STORE_CLEARING_SAME_KEY_COUNT_MAX) return;
      const one = clearOne(isTooMuch ? oldest() : item.subject);
      if (clearing.size > STORE_CLEARING_AT_ONCE_COUNT_MAX) await one;
    },
    settle: async () => {
      await clearWhile(() => true);
      await Promise.all(clearing);
    },
  };
}

// Carries out many writes, a bounded number at once, so that those of one key keep their order.

export interface Turns<Item> {
  readonly countAtOnce: number;
  readonly keyOf: (item: Item) => string;
  readonly bytesAtOnce?: { readonly max: number; readonly of: (item: Item) => number };
}

/** Stops at the first failure, waits for what is on its way, and fails with it. */
export async function carryOutInTurn<Item>(
  items: Iterable<Item> | AsyncIterable<Item>,
  { countAtOnce, keyOf, bytesAtOnce }: Turns<Item>,
  act: (item: Item) => Promise<unknown>,
): Promise<void> {
  const lastOf = new Map<string, Promise<void>>();
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  let runningBytes = 0;
  const isFull = (): boolean => running.size >= countAtOnce || runningBytes >= (bytesAtOnce?.max ?? Infinity);
  const begin = (item: Item): void => {
    const key = keyOf(item);
    const bytes = bytesAtOnce?.of(item) ?? 0;
    runningBytes += bytes;
    const work = async (before: Promise<void> | undefined): Promise<void> => {
      await before;
      if (failures.length > 0) return; // A later value must not stand where an earlier one failed.
      await act(item);
    };
    const done = work(lastOf.get(key))
      .catch((cause: unknown) => void failures.push(cause))
      .finally(() => {
        running.delete(done);
        runningBytes -= bytes;
        if (lastOf.get(key) === done) lastOf.delete(key);
      });
    lastOf.set(key, done);
    running.add(done);
  };
  try {
    for await (const item of items) {
      if (failures.length > 0) break;
      begin(item);
      while (isFull()) await Promise.race(running);
    }
  } finally {
    await Promise.all(running);
  }
  if (failures.length > 0) throw failures[0];
}

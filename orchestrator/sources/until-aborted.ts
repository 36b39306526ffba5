// Waits for others only until a signal says to stop, also where they never answer.

/** Rejects with the signal's reason. Whoever made the promise looks after what it still does. */
export async function orAborted<Value>(promise: Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(asError(signal.reason));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

const asError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));

/** The same items; its end is waited for unless the signal fired, since who hangs would hang there too. */
export async function* untilAborted<Item>(items: AsyncIterable<Item>, signal: AbortSignal): AsyncGenerator<Item, void, undefined> {
  const iterator = items[Symbol.asyncIterator]();
  let isOver = false;
  try {
    for (;;) {
      signal.throwIfAborted();
      const next = await orAborted(iterator.next(), signal).catch((cause: unknown) => {
        isOver = !signal.aborted; // Who threw has ended.
        throw cause;
      });
      isOver = next.done === true;
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    if (!isOver) {
      const ending = Promise.resolve(iterator.return?.());
      if (signal.aborted) ending.catch(() => undefined); // The reason of the signal is what counts.
      else await ending;
    }
  }
}

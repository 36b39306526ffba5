// Promises for handlers that still pass a callback: the originals took both.

type Callback = (thrown: unknown, value?: unknown) => void;

/** With a callback as its last argument the function calls it and returns nothing; without one it returns the promise. */
export function orCallback<Value>(work: (argument: unknown) => Promise<Value>) {
  return (argument?: unknown, callback?: unknown): Promise<Value> | undefined => {
    const promise = work(argument);
    if (typeof callback !== "function") return promise;
    const call = callback as Callback; // User code promises no more than a function.
    promise.then(
      // Out of the promise's reach: what the callback throws is its own error, not ours to reject with.
      (value) => queueMicrotask(() => call(null, value)),
      (thrown: unknown) => queueMicrotask(() => call(thrown)),
    );
    return undefined;
  };
}

// Turns calls back into something to iterate over, for streams of what happens; a reader that is too far behind loses its stream.
import { API_PENDING_COUNT_MAX } from "../../runtime-image/contract/limits.ts";

/** It ends when the signal aborts. Nothing that happens between the call and the first value read is lost. */
export function followed<Value>(
  subscribe: (hear: (value: Value) => void) => () => void,
  options: { readonly first?: Iterable<Value>; readonly signal: AbortSignal },
): AsyncIterable<Value> {
  const { signal } = options;
  const pending: Value[] = [...(options.first ?? [])];
  let wake: () => void = () => undefined;
  const reader = { isBehind: false };
  const stop = subscribe((value) => {
    if (pending.length >= API_PENDING_COUNT_MAX) reader.isBehind = true;
    else pending.push(value);
    wake();
  });
  const end = (): void => {
    stop();
    wake();
  };
  const isGoingOn = (): boolean => !signal.aborted && !reader.isBehind;
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  return (async function* values() {
    try {
      while (isGoingOn()) {
        yield* pending.splice(0);
        if (pending.length === 0 && isGoingOn()) await new Promise<void>((done) => (wake = done));
      }
    } finally {
      signal.removeEventListener("abort", end);
      stop();
    }
    if (reader.isBehind) throw new ReaderBehind("the reader of a stream is too far behind");
  })();
}

/** The connection is broken off, so that the reader does not take what it got for everything. */
export class ReaderBehind extends Error {}

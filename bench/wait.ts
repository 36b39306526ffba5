// Waits for a condition, with a deadline.
import { setTimeout as delay } from "node:timers/promises";
import { BenchError } from "./processes.ts";

const POLL_MS = 10;

/** A condition that throws is not true yet. */
export async function waitFor(
  condition: () => boolean | Promise<boolean>,
  options: { readonly timeoutMs: number; readonly pollMs?: number; readonly what: string; readonly signal: AbortSignal },
): Promise<void> {
  const deadlineMs = performance.now() + options.timeoutMs;
  let reason: unknown = null;
  for (;;) {
    options.signal.throwIfAborted();
    try {
      if (await condition()) return;
    } catch (cause) {
      reason = cause;
    }
    if (performance.now() > deadlineMs) throw new BenchError(`not within ${options.timeoutMs} ms: ${options.what}`, { cause: reason });
    await delay(options.pollMs ?? POLL_MS, undefined, { signal: options.signal });
  }
}

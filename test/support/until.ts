// Waits until something is true, with a deadline: what tests use where a sleep would guess.
import { setTimeout as delay } from "node:timers/promises";

const POLL_MS = 10;

export async function until(
  condition: () => boolean | Promise<boolean>,
  options: { readonly timeoutMs: number; readonly what?: string },
): Promise<void> {
  const deadline = performance.now() + options.timeoutMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not true within ${options.timeoutMs} ms: ${options.what ?? condition.toString()}`);
    await delay(POLL_MS);
  }
}

// Asks the management API how it is, again and again at a fixed pace, whether or not the last answer has come.
import type { ApiClient } from "../orchestrator/api/client.ts";

export interface ApiProbe {
  /** How long each answer took, from the moment at which it should have been asked for. */
  readonly tookMs: readonly number[];
  readonly failures: readonly string[];
  stop(): Promise<void>;
}

const INTERVAL_MS = 20;

export function startApiProbe(api: ApiClient, path: string): ApiProbe {
  const tookMs: number[] = [];
  const failures: string[] = [];
  const open = new Set<Promise<void>>();
  let plannedMs = performance.now();
  const ask = (): void => {
    const dueMs = plannedMs;
    const answered = api
      .get(path)
      .then(
        () => void tookMs.push(performance.now() - dueMs),
        (cause: unknown) => void failures.push(cause instanceof Error ? cause.message : String(cause)),
      )
      .finally(() => open.delete(answered));
    open.add(answered);
  };
  // A timer that comes late asks for what it missed: a pause must not hide behind the next question.
  const askDue = (): void => {
    for (; plannedMs <= performance.now(); plannedMs += INTERVAL_MS) ask();
    timer = setTimeout(askDue, plannedMs - performance.now());
  };
  let timer = setTimeout(askDue);
  return {
    tookMs,
    failures,
    async stop() {
      clearTimeout(timer);
      await Promise.all(open);
    },
  };
}

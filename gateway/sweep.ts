// The gateway's one timer: deadlines, queues and probes are looked through a few times per second instead of by a timer each.
import type { Clock } from "./clock.ts";

export interface SweepTime {
  readonly nowMs: number;
  readonly blockedMs: number; // How much longer than planned this process heard nothing.
}

const SWEEP_INTERVAL_MS = 50;

export function startSweep(clock: Clock, sweep: (time: SweepTime) => void): { stop(): void } {
  let lastMs = clock.nowMs();
  const run = (): void => {
    const nowMs = clock.nowMs();
    const blockedMs = Math.max(0, nowMs - lastMs - SWEEP_INTERVAL_MS);
    lastMs = nowMs;
    sweep({ nowMs, blockedMs });
  };
  // Answers that wait in our own sockets are read first: timers come before them in the event loop, immediates after.
  const timer = setInterval(() => setImmediate(run), SWEEP_INTERVAL_MS);
  return { stop: () => clearInterval(timer) };
}

// Keeps a broker running: starts it again when it dies, and waits longer for one that keeps dying.
import { setTimeout as delay } from "node:timers/promises";
import { BACKOFF_FIRST_MS, BACKOFF_MAX_MS, BROKER_WATCH_INTERVAL_MS } from "../../runtime-image/contract/limits.ts";
import type { Clock } from "../clock.ts";
import { waitForEnd } from "../processes/detached.ts";
import type { Identity } from "../processes/identity.ts";
import { startServer, type Launch, type Running } from "./launch.ts";

export type BrokerEvent =
  | { readonly kind: "died"; readonly pid: number; readonly restartDelayMs: number }
  | { readonly kind: "restarted"; readonly pid: number }
  | { readonly kind: "restart-failed"; readonly error: unknown; readonly restartDelayMs: number };

export interface Supervision extends Launch {
  readonly clock: Clock;
  readonly onEvent: (event: BrokerEvent) => void;
  readonly signal: AbortSignal;
}

/** Starts it again whenever it is gone, on the same port so that clients find it. Resolves with the last one when it is told to end. */
export async function supervise(first: Running, supervision: Supervision): Promise<Running> {
  const { signal, clock, onEvent } = supervision;
  let running = first;
  let restartDelayMs = 0;
  while (await hasEnded(running.identity, signal)) {
    restartDelayMs = nextRestartDelayMs({ ranMs: clock.nowEpochMs() - running.startedEpochMs, previousDelayMs: restartDelayMs });
    onEvent({ kind: "died", pid: running.identity.pid, restartDelayMs });
    for (let isUp = false; !isUp;) {
      if (!(await isWaitOver(restartDelayMs, signal))) return running;
      try {
        running = await startServer(supervision, running.port, signal);
        isUp = true;
        onEvent({ kind: "restarted", pid: running.identity.pid });
      } catch (error) {
        if (signal.aborted) return running; // What was being started has been stopped.
        restartDelayMs = nextRestartDelayMs({ ranMs: 0, previousDelayMs: restartDelayMs });
        onEvent({ kind: "restart-failed", error, restartDelayMs });
      }
    }
  }
  return running;
}

/** One that ran for long is started again at once; one that keeps dying is waited for longer each time. */
export function nextRestartDelayMs(state: { readonly ranMs: number; readonly previousDelayMs: number }): number {
  if (state.ranMs >= BACKOFF_MAX_MS) return 0;
  return Math.min(Math.max(state.previousDelayMs * 2, BACKOFF_FIRST_MS), BACKOFF_MAX_MS);
}

async function hasEnded(identity: Identity, signal: AbortSignal): Promise<boolean> {
  try {
    await waitForEnd(identity, { signal, pollIntervalMs: BROKER_WATCH_INTERVAL_MS });
    return !signal.aborted;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

async function isWaitOver(waitMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    await delay(waitMs, undefined, { signal });
    return true;
  } catch {
    return false; // Told to end.
  }
}

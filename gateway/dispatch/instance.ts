// What a gateway knows of one instance, and which of several should get the next request.
import { PROBE_TIMEOUT_MS, REQUEST_BYTES_IN_FLIGHT_PER_INSTANCE_MAX } from "../../runtime-image/contract/limits.ts";
import { requestSubject } from "../../runtime-image/contract/subjects.ts";

export interface Instance {
  readonly id: string;
  readonly requestSubject: string;
  readonly branch: string; // What the subject of everything that it says begins with.
  requestCount: number; // In flight.
  requestBytes: number; // In flight.
  streamCount: number; // Large answers that wait in it.
  /** "gone": nobody listens on its subject. "silent": it was lost without a word. Both are set aside until they answer a ping. */
  health: "ready" | "gone" | "silent";
  silentSinceMs: number | null; // Since when a ping of ours has no answer.
  lastPingMs: number;
  slowUntilMs: number; // It let a request time out: others go first until then.
}

export const createInstance = (id: string): Instance => ({
  id,
  requestSubject: requestSubject(id),
  branch: `o.${id}.`,
  requestCount: 0,
  requestBytes: 0,
  streamCount: 0,
  health: "ready",
  silentSinceMs: null,
  lastPingMs: Number.NEGATIVE_INFINITY,
  slowUntilMs: 0,
});

export interface Pick {
  readonly concurrency: number;
  readonly bodyBytes: number;
  readonly nowMs: number;
  readonly first: number; // Where to begin, so that equals take turns.
}

const SUSPICIOUS_AFTER_MS = PROBE_TIMEOUT_MS / 3; // A ping is answered within a millisecond or two.

/** The ready instance with the fewest requests in flight that has room; those that may be in trouble come last. */
export function pickInstance(instances: readonly Instance[], pick: Pick): Instance | null {
  let best: Instance | null = null;
  let bestScore = Number.POSITIVE_INFINITY;
  for (let step = 0; step < instances.length; step++) {
    const instance = instances[(pick.first + step) % instances.length];
    if (instance === undefined || !hasRoom(instance, pick)) continue;
    const score = instance.requestCount + (isSuspicious(instance, pick.nowMs) ? pick.concurrency : 0);
    if (score < bestScore) {
      best = instance;
      bestScore = score;
    }
  }
  return best;
}

// A body larger than the whole budget would never fit; alone in its instance it may go.
function hasRoom(instance: Instance, { concurrency, bodyBytes }: Pick): boolean {
  if (instance.health !== "ready" || instance.requestCount >= concurrency) return false;
  return bodyBytes === 0 || instance.requestCount === 0 || instance.requestBytes + bodyBytes <= REQUEST_BYTES_IN_FLIGHT_PER_INSTANCE_MAX;
}

const isSuspicious = (instance: Instance, nowMs: number): boolean =>
  instance.slowUntilMs > nowMs || (instance.silentSinceMs !== null && nowMs - instance.silentSinceMs > SUSPICIOUS_AFTER_MS);

// Decides, from what the watchdog sees now and saw last, whether the process must end. Pure: reads no clock and ends nothing.

export interface WatchdogRules {
  readonly blockedAfterMs: number; // Past the handler's timeout and a grace.
  readonly gapMs: number; // The watchdog itself not running for this long means that the whole process was frozen or starved.
  readonly memoryBytesMax: number | null; // Null where something outside bounds the memory.
}

export interface Observation {
  readonly nowMs: number;
  readonly tickCount: number; // How often the main thread has shown that it is alive.
  readonly residentBytes: number; // 0 where memory is not watched.
}

export interface Watch {
  readonly seenMs: number; // When the watchdog last looked.
  readonly tickCount: number;
  readonly tickMs: number; // Since when this count stands.
}

export type Verdict =
  | { readonly kind: "fine" }
  | { readonly kind: "blocked"; readonly blockedMs: number }
  | { readonly kind: "memory"; readonly residentBytes: number };

export const startWatch = (seen: Observation): Watch => ({ seenMs: seen.nowMs, tickCount: seen.tickCount, tickMs: seen.nowMs });

export function judge(watch: Watch, seen: Observation, rules: WatchdogRules): { readonly watch: Watch; readonly verdict: Verdict } {
  const wasFrozen = seen.nowMs - watch.seenMs > rules.gapMs;
  const isAlive = seen.tickCount !== watch.tickCount;
  // After a freeze the main thread had no chance either: it gets the whole time afresh.
  const next = isAlive || wasFrozen ? startWatch(seen) : { ...watch, seenMs: seen.nowMs };
  const blockedMs = seen.nowMs - next.tickMs;
  if (rules.memoryBytesMax !== null && seen.residentBytes > rules.memoryBytesMax)
    return { watch: next, verdict: { kind: "memory", residentBytes: seen.residentBytes } };
  if (blockedMs >= rules.blockedAfterMs) return { watch: next, verdict: { kind: "blocked", blockedMs } };
  return { watch: next, verdict: { kind: "fine" } };
}

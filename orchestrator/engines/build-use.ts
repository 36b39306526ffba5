// Keeps builds that are being made or started from being removed at the same moment, and remembers when each was last asked for.
import { systemClock } from "../clock.ts";

export interface BuildUse {
  /** Work that needs the build: it waits for a removal that has begun, and none begins before it is done. */
  during<Value>(buildId: string, work: () => Promise<Value>): Promise<Value>;
  /** Leaves a build that is in use. */
  remove(buildId: string, work: () => Promise<void>): Promise<void>;
  /** 0 for one that nobody asked for yet. */
  lastAskedEpochMs(buildId: string): number;
}

export function createBuildUse(nowEpochMs: () => number = systemClock.nowEpochMs): BuildUse {
  const useCounts = new Map<string, number>();
  const removals = new Map<string, Promise<void>>();
  const asked = new Map<string, number>(); // As many as there are builds: each goes with its build.

  return {
    async during(buildId, work) {
      asked.set(buildId, nowEpochMs());
      while (removals.has(buildId)) await removals.get(buildId)?.catch(() => undefined); // Who removes it hears of it.
      useCounts.set(buildId, (useCounts.get(buildId) ?? 0) + 1);
      try {
        return await work();
      } finally {
        const left = (useCounts.get(buildId) ?? 1) - 1;
        if (left === 0) useCounts.delete(buildId);
        else useCounts.set(buildId, left);
      }
    },
    async remove(buildId, work) {
      if (useCounts.has(buildId)) return;
      const removal = removals.get(buildId) ?? work().finally(() => removals.delete(buildId));
      removals.set(buildId, removal);
      asked.delete(buildId);
      await removal;
    },
    lastAskedEpochMs: (buildId) => asked.get(buildId) ?? 0,
  };
}

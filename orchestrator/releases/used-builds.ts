// Which builds deploys use now, and which they have used lately: until a deploy is over, its release may not be recorded yet.
import { BUILD_GRACE_MS } from "../../runtime-image/contract/limits.ts";
import type { Clock } from "../clock.ts";

export interface UsedBuilds {
  /** Work that uses builds, from before it asks for the first one until the release that names them is recorded or given up. */
  during<Value>(work: (use: (buildId: string) => void) => Promise<Value>): Promise<Value>;
  /** Whether some work uses it now, or used it at that moment or later; known for BUILD_GRACE_MS. */
  isUsedSince(buildId: string, epochMs: number): boolean;
}

const COUNT_SWEPT_AT = 10_000; // Then those that are long over are let go of.

export function createUsedBuilds(clock: Clock): UsedBuilds {
  const underway = new Set<ReadonlySet<string>>();
  const lastUsedEpochMs = new Map<string, number>();
  const sweep = (nowEpochMs: number): void => {
    for (const [buildId, epochMs] of lastUsedEpochMs) if (nowEpochMs - epochMs >= BUILD_GRACE_MS) lastUsedEpochMs.delete(buildId);
  };
  return {
    async during(work) {
      const used = new Set<string>();
      underway.add(used);
      try {
        return await work((buildId) => used.add(buildId));
      } finally {
        underway.delete(used);
        const nowEpochMs = clock.nowEpochMs();
        if (lastUsedEpochMs.size >= COUNT_SWEPT_AT) sweep(nowEpochMs);
        for (const buildId of used) lastUsedEpochMs.set(buildId, nowEpochMs);
      }
    },
    isUsedSince: (buildId, epochMs) => [...underway].some((used) => used.has(buildId)) || (lastUsedEpochMs.get(buildId) ?? -1) >= epochMs,
  };
}

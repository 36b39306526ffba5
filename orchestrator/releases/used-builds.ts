// Which builds were asked for lately: a release that names them may not be recorded yet.
import { BUILD_GRACE_MS } from "../../runtime-image/contract/limits.ts";
import type { Clock } from "../clock.ts";

export interface UsedBuilds {
  readonly add: (buildId: string) => void;
  readonly has: (buildId: string) => boolean;
}

const COUNT_SWEPT_AT = 10_000; // Then those that are not lately any more are let go of.

export function createUsedBuilds(clock: Clock): UsedBuilds {
  const usedEpochMs = new Map<string, number>();
  const isLately = (epochMs: number | undefined): boolean => epochMs !== undefined && clock.nowEpochMs() - epochMs < BUILD_GRACE_MS;
  return {
    add(buildId) {
      if (usedEpochMs.size >= COUNT_SWEPT_AT) for (const [known, epochMs] of usedEpochMs) if (!isLately(epochMs)) usedEpochMs.delete(known);
      usedEpochMs.set(buildId, clock.nowEpochMs());
    },
    has: (buildId) => isLately(usedEpochMs.get(buildId)),
  };
}

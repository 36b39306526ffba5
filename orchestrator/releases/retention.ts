// Which releases of an app are forgotten: a policy of count and age. Pure.
import { RELEASE_COUNT_KEPT, RELEASE_COUNT_KEPT_MAX, RELEASE_KEPT_MS, ROLLBACK_COUNT_KEPT } from "../../runtime-image/contract/limits.ts";
import type { KnownRelease, Pointer } from "./release-book.ts";

export interface KeptBy {
  readonly pointers: readonly Pointer[]; // Of every environment.
  readonly nowEpochMs: number;
  readonly keptMs?: number; // How long those that were delivered stay.
}

/**
 * What is live stays, and what can be gone back to at once; of the others the latest, and for a while those that were delivered. Each
 * save of a folder that is watched makes a release, so that of those only the latest stay.
 */
export function releasesToForget(known: readonly KnownRelease[], { pointers, nowEpochMs, keptMs = RELEASE_KEPT_MS }: KeptBy): string[] {
  const needed = new Set(pointers.flatMap(({ releaseId, earlier }) => [releaseId, ...earlier.slice(-ROLLBACK_COUNT_KEPT)]));
  const latestFirst = known.toSorted((a, b) => b.release.createdEpochMs - a.release.createdEpochMs);
  const isKept = ({ release, origin }: KnownRelease, position: number): boolean => {
    if (needed.has(release.releaseId) || position < RELEASE_COUNT_KEPT) return true;
    const isYoung = nowEpochMs - release.createdEpochMs < keptMs;
    return isYoung && origin.deliveryId !== null && position < RELEASE_COUNT_KEPT_MAX;
  };
  return latestFirst.filter((one, position) => !isKept(one, position)).map(({ release }) => release.releaseId);
}

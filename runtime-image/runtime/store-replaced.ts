// Deletes what no longer counts of a key, the oldest first: so that the newest value hides the others until it is itself deleted.
import { PlatformError } from "../contract/errors.ts";
import { STORE_CLEARING_COUNT_MAX } from "../contract/limits.ts";
import type { BucketName } from "../library/bridge.ts";
import type { StoreRequests } from "./store-requests.ts";

interface Place {
  readonly bucket: BucketName;
  readonly subject: string;
  readonly revision: number;
}

export interface ReplacedValues {
  /**
   * After a write: deletes what it replaced, behind the writer's back as long as few do so. An instance that ends in between leaves
   * values that nobody sees; the next write or removal of the key deletes them.
   */
  clearAway(written: Place & { readonly replacedRevision: number | undefined }): Promise<void>;
  /** Deletes the value of this revision, and everything older. */
  removeUpTo(place: Place): Promise<void>;
}

const OLDER_COUNT_MAX = 1_000; // Values of one key that one removal deletes; more than one is rare.

export function createReplacedValues(requests: StoreRequests): ReplacedValues {
  let clearingCount = 0;

  const clear = async ({ bucket, subject, revision, replacedRevision }: Parameters<ReplacedValues["clearAway"]>[0]): Promise<void> => {
    clearingCount += 1;
    try {
      if (replacedRevision === undefined) await removeBelow({ bucket, subject, revision });
      else if (replacedRevision > 0) await requests.erase(bucket, replacedRevision);
    } catch {
      // The write itself stands, and what it replaced is hidden. The next one clears it away.
    } finally {
      clearingCount -= 1;
    }
  };
  const removeBelow = async ({ bucket, subject, revision }: Place): Promise<void> => {
    for (let count = 0; count < OLDER_COUNT_MAX; count += 1) {
      const oldest = await requests.firstOf(bucket, subject);
      if (oldest === null || oldest.revision >= revision) return;
      await requests.erase(bucket, oldest.revision);
    }
  };
  return {
    clearAway: async (written) => {
      const clearing = clear(written);
      if (clearingCount > STORE_CLEARING_COUNT_MAX) await clearing;
    },
    removeUpTo: async (place) => {
      await removeBelow(place);
      const refusal = await requests.erase(place.bucket, place.revision);
      if (refusal === null) return;
      const isThere = (await requests.lastOf(place.bucket, place.subject))?.revision === place.revision;
      if (isThere) throw new PlatformError("STORE_UNAVAILABLE", { detail: `The broker did not remove a value: ${refusal}.` });
    },
  };
}

// Deletes what no longer counts of a key, the oldest first: so that the newest value hides the others until it is itself deleted.
import { PlatformError } from "../contract/errors.ts";
import type { BucketName } from "../library/bridge.ts";
import { createClearingBacklog } from "./clearing.ts";
import { noteIn } from "./expiry.ts";
import type { StoreRequests } from "./requests.ts";

interface Place {
  readonly bucket: BucketName;
  readonly subject: string;
  readonly revision: number;
}

interface Written extends Place {
  readonly byteCount: number;
  readonly replacedRevision: number | undefined; // 0: none.
  readonly entryRevision: number | null; // What says when it ends, where it does.
}

export interface ReplacedValues {
  /**
   * After a write: what it replaced is deleted when the instance next pauses, so that no write waits for the deletion of the one
   * before. An instance that is killed first leaves values that nobody sees; the next write or removal of their keys deletes them.
   */
  clearAway(written: Written): Promise<void>;
  /** Deletes the value of this revision, with what was noted beside it, and everything older. */
  removeUpTo(place: Place & { readonly note: string }): Promise<void>;
  /** Resolves when nothing waits to be deleted any more. */
  settle(): Promise<void>;
}

const OLDER_COUNT_MAX = 10_000; // Hidden values of one key: some for each instance that writes it all the time.

export function createReplacedValues(requests: StoreRequests): ReplacedValues {
  const backlog = createClearingBacklog<Written>(async (written) => {
    const { bucket, replacedRevision, entryRevision } = written;
    if (replacedRevision !== undefined && entryRevision === null) await requests.erase(bucket, replacedRevision);
    else await eraseEntries((await removeBelow(written)).filter((entry) => entry !== entryRevision));
  });
  /** Gives what said when they end. */
  const removeBelow = async ({ bucket, subject, revision }: Place): Promise<number[]> => {
    const entries: number[] = [];
    for (let count = 0; count < OLDER_COUNT_MAX; count += 1) {
      const oldest = await requests.firstOf(bucket, subject);
      if (oldest === null || oldest.revision >= revision) return entries;
      await requests.erase(bucket, oldest.revision);
      entries.push(...entryNotedIn(oldest.note));
    }
    // Without those that hide them they would be seen.
    throw new PlatformError("STORE_UNAVAILABLE", { detail: "A value is written faster than what it replaces can be removed." });
  };
  const eraseEntries = async (entries: readonly number[]): Promise<void> => {
    for (const revision of new Set(entries)) await requests.erase("data", revision);
  };
  return {
    clearAway: async (written) => {
      if (written.replacedRevision !== 0) await backlog.add(written);
    },
    removeUpTo: async ({ note, ...place }) => {
      const entries = [...(await removeBelow(place)), ...entryNotedIn(note)];
      const refusal = await requests.erase(place.bucket, place.revision);
      const mustLook = refusal !== null || entries.length > 0;
      const current = mustLook ? await requests.lastOf(place.bucket, place.subject) : null;
      if (refusal !== null && current?.revision === place.revision)
        throw new PlatformError("STORE_UNAVAILABLE", { detail: `The broker did not remove a value: ${refusal}.` });
      // A counter that came in between goes on with the entry. One that stays costs a look when its time comes.
      if (current === null) await eraseEntries(entries).catch(() => undefined);
    },
    settle: () => backlog.settle(),
  };
}

function entryNotedIn(text: string): number[] {
  const note = noteIn(text);
  return note === null ? [] : [note.entryRevision];
}

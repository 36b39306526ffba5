// Looks into slots of time whose documents are over, and takes away those that are, with what said that they would be.
import { placeIn } from "../../runtime-image/contract/document-names.ts";
import { isExpired } from "../../runtime-image/contract/documents.ts";
import { beginningsOf } from "../../runtime-image/contract/expiry-slots.ts";
import { EXPIRY_LISTED_COUNT, EXPIRY_REMOVALS_IN_FLIGHT_MAX } from "../../runtime-image/contract/limits.ts";
import { EXPIRY_PREFIX } from "../../runtime-image/contract/subjects.ts";
import { entryRanges, entrySubject } from "../../runtime-image/store/expiry.ts";
import { nextKeys, type Walk } from "../../runtime-image/store/walk.ts";
import { documentIn } from "./documents.ts";
import { carryOutInTurn } from "./in-turn.ts";
import type { AppStores } from "./stores.ts";

export interface Sweep {
  readonly stores: Pick<AppStores, "store" | "requests">;
  readonly slots: { readonly first: number; readonly last: number };
  readonly nowEpochMs: number;
  readonly signal: AbortSignal;
}

/** Those of one listing: entries of the same document may be settled at the same time, and it counts once. */
type Removed = Set<string>;

const ROUND_COUNT_MAX = 16; // Of one key that is written while it is taken away; more, and the next full sweep goes on.

/** How many documents it took away. Nothing that is not due is looked at. */
export async function sweepSlots(sweep: Sweep): Promise<number> {
  const walk: Walk = { ranges: entryRanges(sweep.stores.requests), large: new Set() };
  let removedCount = 0;
  for (const beginning of beginningsOf(sweep.slots)) {
    let after: string | null = null;
    do {
      sweep.signal.throwIfAborted();
      const names: string[] = await nextKeys(walk, { beginning, after, limit: EXPIRY_LISTED_COUNT });
      const turns = { countAtOnce: EXPIRY_REMOVALS_IN_FLIGHT_MAX, keyOf: (name: string) => name };
      const removed: Removed = new Set();
      await carryOutInTurn(names, turns, async (name) => {
        sweep.signal.throwIfAborted();
        await settleEntry(sweep, name, removed);
      });
      removedCount += removed.size;
      after = names.length < EXPIRY_LISTED_COUNT ? null : (names.at(-1) ?? null);
    } while (after !== null);
  }
  return removedCount;
}

/** Whether any document is announced to end, now or later. */
export const hasAnyEntry = async ({ requests }: Pick<AppStores, "requests">): Promise<boolean> =>
  (await requests.firstOf("data", `${EXPIRY_PREFIX}>`)) !== null;

/** The oldest one first, should it have been announced twice. The document goes before its entry: who is stopped in between finds the entry again. */
async function settleEntry(sweep: Sweep, name: string, removed: Removed): Promise<void> {
  const { requests } = sweep.stores;
  for (let round = 0; round < ROUND_COUNT_MAX; round += 1) {
    const entry = await requests.firstOf("data", entrySubject(name));
    if (entry === null) return;
    await removeIfOver(sweep, Buffer.from(entry.bytes).toString("utf8"), removed);
    await requests.erase("data", entry.revision);
  }
}

/**
 * Only the very revision that was read as over: what is written meanwhile stays, and announced itself. A counter did not if it kept the
 * end that is over now, so it is looked for once more.
 */
async function removeIfOver({ stores: { store }, nowEpochMs }: Sweep, key: string, removed: Removed): Promise<void> {
  if (!/^(?:[0-9a-f]{2})+\.(?:[0-9a-f]{2})+$/.test(key)) return; // Functions can write entries past the library, too.
  for (let round = 0; round < ROUND_COUNT_MAX; round += 1) {
    const found = await store.get("data", key);
    const document = found === null ? null : documentIn(placeIn(key), found.bytes);
    if (found === null || document === null || !isExpired(document, nowEpochMs)) return;
    await store.remove("data", key, { expectedRevision: found.revision });
    removed.add(key);
  }
}

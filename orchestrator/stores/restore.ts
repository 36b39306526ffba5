// Puts a backup back into the stores of an environment: checked as a whole before anything is written, and begun anew where it broke off.
import { placeIn } from "../../runtime-image/contract/document-names.ts";
import { expiryOf } from "../../runtime-image/contract/documents.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { STORE_WRITES_BYTES_IN_FLIGHT_MAX, STORE_WRITES_IN_FLIGHT_MAX } from "../../runtime-image/contract/limits.ts";
import { STORE_BUCKETS } from "../../runtime-image/contract/subjects.ts";
import { RevisionConflict, type Store } from "../../runtime-image/library/bridge.ts";
import type { BackupCounts, BackupEntry, BackupFacts } from "./backup-file.ts";
import { backupEntries, checkBackup } from "./backup-reader.ts";
import { documentIn } from "./documents.ts";
import { carryOutInTurn } from "./in-turn.ts";
import type { AppStores } from "./stores.ts";

/** Says of one environment that a restore was begun; it goes when the restore is done. */
export interface RestoreMark {
  readonly sha256: string; // Of the backup.
  readonly isReplacing: boolean;
  readonly startedEpochMs: number;
}

export interface MarkKeeper {
  read(): Promise<RestoreMark | null>;
  write(mark: RestoreMark): Promise<void>;
  remove(): Promise<void>;
}

export interface Restoring {
  readonly stores: AppStores;
  readonly marks: MarkKeeper;
  readonly nowEpochMs: number;
  readonly isReplacing: boolean;
  readonly signal: AbortSignal;
  readonly progress: (progress: RestoreProgress) => void;
}

export interface RestoreProgress {
  readonly phase: "checking" | "removing" | "writing";
  readonly doneCount: number;
  readonly totalCount: number | null; // Null: not known yet.
}

export interface RestoreOutcome extends BackupFacts {
  readonly removedCount: number;
  readonly wentOn: boolean; // An earlier restore of this very backup had been broken off.
}

export async function restoreFile(path: string, restoring: Restoring): Promise<RestoreOutcome> {
  const { stores, marks, signal, progress } = restoring;
  progress({ phase: "checking", doneCount: 0, totalCount: null });
  const facts = await checkBackup(path);
  const { sha256, counts } = facts.trailer;
  const mark = await marks.read();
  const wentOn = mark?.sha256 === sha256;
  const valueCount = await countValues(stores.store);
  if (valueCount > 0 && !restoring.isReplacing && !wentOn) throw refusal(valueCount, mark);
  signal.throwIfAborted();
  const isReplacing = restoring.isReplacing || (wentOn && mark.isReplacing);
  await marks.write({ sha256, isReplacing, startedEpochMs: restoring.nowEpochMs });
  const removedCount = isReplacing ? await removeAll(restoring, valueCount) : 0;
  await writeAll(path, restoring, counts);
  await marks.remove();
  return { ...facts, removedCount, wentOn };
}

export async function countValues(store: Store): Promise<number> {
  const counts = await Promise.all(STORE_BUCKETS.map(async (bucket) => store.count(bucket, "")));
  return counts.reduce((sum, count) => sum + count, 0);
}

function refusal(valueCount: number, mark: RestoreMark | null): PlatformError {
  const begun = mark === null ? "" : " A restore of another backup was begun there and broken off.";
  return new PlatformError("RESTORE_REFUSED", {
    detail: `It holds ${valueCount} sessions and documents.${begun}`,
    remedy: "Say --replace to remove everything that is there first.",
  });
}

/** Message by message: emptying a stream at once is not written down in a way that survives every crash. */
async function removeAll({ stores, signal, progress }: Restoring, totalCount: number): Promise<number> {
  let doneCount = 0;
  for (const bucket of STORE_BUCKETS)
    await carryOutInTurn(
      stores.messages(bucket, "all"),
      { countAtOnce: STORE_WRITES_IN_FLIGHT_MAX, keyOf: ({ subject }) => subject },
      async ({ subject, revision }) => {
        signal.throwIfAborted();
        const refused = await stores.requests.erase(bucket, revision);
        if (refused !== null && (await stores.requests.lastOf(bucket, subject))?.revision === revision)
          throw new PlatformError("STORE_UNAVAILABLE", { detail: `The broker did not remove a value: ${refused}.` });
        doneCount += 1;
        progress({ phase: "removing", doneCount, totalCount: Math.max(totalCount, doneCount) });
      },
    );
  return doneCount;
}

async function writeAll(path: string, { stores: { store }, signal, progress }: Restoring, counts: BackupCounts): Promise<void> {
  const totalCount = counts.data + counts.sessions;
  let doneCount = 0;
  progress({ phase: "writing", doneCount, totalCount });
  const turns = {
    countAtOnce: STORE_WRITES_IN_FLIGHT_MAX,
    keyOf: ({ bucket, key }: BackupEntry) => `${bucket} ${key}`,
    bytesAtOnce: { max: STORE_WRITES_BYTES_IN_FLIGHT_MAX, of: ({ bytes }: BackupEntry) => bytes.length },
  };
  await carryOutInTurn(backupEntries(path), turns, async (entry) => {
    signal.throwIfAborted();
    await writeEntry(store, entry);
    doneCount += 1;
    progress({ phase: "writing", doneCount, totalCount });
  });
}

/** Where nothing is there yet, nothing has to be cleared away, which is half of the work. */
async function writeEntry(store: Store, { bucket, key, bytes }: BackupEntry): Promise<void> {
  const document = bucket === "data" ? documentIn(placeIn(key), bytes) : null;
  const expiry = document === null ? {} : expiryOf(document);
  try {
    await store.put(bucket, key, bytes, { expectedRevision: 0, ...expiry });
  } catch (cause) {
    // There is one already; or the connection was lost and nobody knows: then it is written whatever is there.
    const isOpen = cause instanceof PlatformError && cause.code === "STORE_UNAVAILABLE";
    if (!(cause instanceof RevisionConflict) && !isOpen) throw cause;
    await store.put(bucket, key, bytes, expiry);
  }
}

// Puts a backup back into the stores of an environment: checked as a whole before anything is written, and begun anew where it broke off.
import { placeIn } from "../../runtime-image/contract/document-names.ts";
import { expiryOf } from "../../runtime-image/contract/documents.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { STORE_WRITES_BYTES_IN_FLIGHT_MAX, STORE_WRITES_IN_FLIGHT_MAX } from "../../runtime-image/contract/limits.ts";
import { STORE_BUCKETS } from "../../runtime-image/contract/subjects.ts";
import { RevisionConflict, type Store } from "../../runtime-image/library/bridge.ts";
import type { VariableValues } from "../variables/change.ts";
import type { EnvironmentOutcome } from "../variables/variables.ts";
import type { BackupCounts, BackupEntry, BackupFacts, BackupHeader } from "./backup-file.ts";
import { backupEntries, checkBackup } from "./backup-reader.ts";
import { documentIn } from "./documents.ts";
import { carryOutInTurn } from "./in-turn.ts";
import type { BackupOrigin, SealedVariables } from "./sealed-variables.ts";
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

/** The variables of the environment that were set, as a restore needs them. */
export interface RestoringVariables {
  now(): Promise<VariableValues>;
  /** Makes these the ones that are set. Where functions do not start with them it fails, and nothing has changed. */
  replace(values: VariableValues): Promise<EnvironmentOutcome>;
  /** Null where no passphrase was given. Throws PASSPHRASE_WRONG. */
  readonly open: ((sealed: SealedVariables, origin: BackupOrigin) => Promise<VariableValues>) | null;
}

export interface Restoring {
  readonly stores: AppStores;
  readonly variables: RestoringVariables;
  readonly marks: MarkKeeper;
  readonly nowEpochMs: number;
  readonly isReplacing: boolean;
  readonly signal: AbortSignal;
  readonly progress: (progress: RestoreProgress) => void;
}

export interface RestoreProgress {
  readonly phase: "checking" | "variables" | "removing" | "writing";
  readonly doneCount: number;
  readonly totalCount: number | null; // Null: not known yet.
}

export interface RestoreOutcome extends BackupFacts {
  readonly removedCount: number;
  readonly wentOn: boolean; // An earlier restore of this very backup had been broken off.
  readonly variables: RestoredVariables;
}

export type RestoredVariables =
  | { readonly kind: "none" } // The backup says nothing of any.
  | { readonly kind: "left-out"; readonly count: number } // It was made without a passphrase,
  | { readonly kind: "closed"; readonly count: number } // or is restored without one.
  | { readonly kind: "restored"; readonly count: number; readonly failures: EnvironmentOutcome["failures"] };

export async function restoreFile(path: string, restoring: Restoring): Promise<RestoreOutcome> {
  const { stores, marks, signal, progress } = restoring;
  progress({ phase: "checking", doneCount: 0, totalCount: null });
  const facts = await checkBackup(path);
  const { sha256, counts } = facts.trailer;
  const values = await openedValues(facts.header, restoring.variables);
  const mark = await marks.read();
  const wentOn = mark?.sha256 === sha256;
  const valueCount = await countValues(stores.store);
  if (!restoring.isReplacing && !wentOn) assertNothingInTheWay({ valueCount, names: await changedNames(values, restoring), mark });
  signal.throwIfAborted();
  // First, because it may fail, and leaves everything as it was then.
  const variables = await restoreVariables(facts.header, values, restoring);
  const isReplacing = restoring.isReplacing || (wentOn && mark.isReplacing);
  await marks.write({ sha256, isReplacing, startedEpochMs: restoring.nowEpochMs });
  const removedCount = isReplacing ? await removeAll(restoring, valueCount) : 0;
  await writeAll(path, restoring, counts);
  await marks.remove();
  return { ...facts, removedCount, wentOn, variables };
}

/** Null where the backup has none, or where they stay closed. */
async function openedValues(header: BackupHeader, { open }: RestoringVariables): Promise<VariableValues | null> {
  return header.variables?.kind !== "sealed" || open === null ? null : open(header.variables, header);
}

async function restoreVariables(
  { variables }: BackupHeader,
  values: VariableValues | null,
  { variables: kept, progress }: Restoring,
): Promise<RestoredVariables> {
  if (variables === undefined) return { kind: "none" };
  const { count } = variables;
  if (values === null) return { kind: variables.kind === "sealed" ? "closed" : "left-out", count };
  progress({ phase: "variables", doneCount: 0, totalCount: null });
  const { failures } = await kept.replace(values);
  return { kind: "restored", count, failures };
}

/** Those that are set and would have another value afterwards, or none. */
async function changedNames(values: VariableValues | null, { variables }: Restoring): Promise<readonly string[]> {
  if (values === null) return [];
  const isSame = ([name, value]: readonly [string, string]): boolean => values[name] === value;
  return Object.entries(await variables.now())
    .filter((one) => !isSame(one))
    .map(([name]) => name);
}

export async function countValues(store: Store): Promise<number> {
  const counts = await Promise.all(STORE_BUCKETS.map(async (bucket) => store.count(bucket, "")));
  return counts.reduce((sum, count) => sum + count, 0);
}

interface InTheWay {
  readonly valueCount: number;
  readonly names: readonly string[];
  readonly mark: RestoreMark | null;
}

function assertNothingInTheWay({ valueCount, names, mark }: InTheWay): void {
  if (valueCount === 0 && names.length === 0) return;
  const begun = mark === null ? [] : ["A restore of another backup was begun there and broken off."];
  const values = valueCount === 0 ? [] : [`It holds ${valueCount} sessions and documents.`];
  const variables = names.length === 0 ? [] : [`Variables are set there that the backup would change: ${names.join(", ")}.`];
  throw new PlatformError("RESTORE_REFUSED", {
    detail: [...values, ...variables, ...begun].join(" "),
    remedy: "Say --replace to have what is there replaced.",
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

// The few requests of JetStream that the store needs, made by hand: the client's own modules would be loaded by every cold start.
import { PlatformError } from "../contract/errors.ts";
import { STORE_REQUEST_TIMEOUT_MS, STORE_WAIT_TIMEOUT_MS } from "../contract/limits.ts";
import { storePrefix, storeStream } from "../contract/subjects.ts";
import { RevisionConflict, type BucketName, type StoredValue } from "../library/bridge.ts";
import { fillIn, fullBecause } from "./full.ts";
import { BusFailure, type Ask, type BusAnswer, type BusQuestion } from "./questions.ts";

export interface StoreRequests {
  lastOf(bucket: BucketName, subject: string): Promise<FoundValue | null>;
  /** The first one in the order of writing, of all that the filter takes. */
  firstOf(bucket: BucketName, filter: string): Promise<FoundValue | null>;
  write(value: NewValue): Promise<number>;
  /** Deletes what was written as this revision. Null where it is gone; else what the broker says, which it also says of some that are gone. */
  erase(bucket: BucketName, revision: number): Promise<string | null>;
  countOf(bucket: BucketName, filter: string): Promise<number>;
  subjectsOf(bucket: BucketName, filter: string): Promise<string[]>;
}

export interface FoundValue extends StoredValue {
  readonly subject: string;
  readonly note: string; // What its writer noted beside it; "" where nothing.
}

export interface NewValue {
  readonly subject: string;
  readonly bytes: Uint8Array;
  readonly expectedRevision?: number | undefined;
  readonly note?: string | undefined;
}

const RETRY_DELAY_MS = 50;
const NOT_FOUND = 404;
const BEYOND_EVERYTHING = 2 ** 31; // An offset that leaves nothing to list: the answer is the total alone.

// JetStream's codes: https://github.com/nats-io/nats-server/blob/v2.10.27/server/errors.json
const WRONG_LAST_SEQUENCE = 10_071;
const NO_SUCH_MESSAGE = new Set([10_037, 10_043]);
const DELETE_FAILED = 10_057;
const NO_ROOM = new Set([10_002, 10_023, 10_047, 10_077, 10_122]);
const NOT_READY = new Set([10_008, 10_009, 10_039, 10_059, 10_076]); // Restarting, recovering: not refused for good.

/** `isSafeAgain`: doing it twice is as good as once, so that it may be tried again where nobody knows whether it was done. */
interface Operation<Result> {
  readonly what: string;
  readonly question: Omit<BusQuestion, "timeoutMs">;
  readonly isSafeAgain: boolean;
  readonly read: (answer: BusAnswer) => Result;
}

export function createStoreRequests(ask: Ask): StoreRequests {
  const directGet = (bucket: BucketName, query: Readonly<Record<string, unknown>>): Promise<FoundValue | null> =>
    carryOut(ask, {
      what: `reading from the bucket "${bucket}"`,
      question: { subject: `$JS.API.DIRECT.GET.${storeStream(bucket)}`, bytes: jsonBytes(query) },
      isSafeAgain: true,
      read: foundIn,
    });
  const info = (bucket: BucketName, filter: string, offset: number): Promise<StreamInfo> =>
    carryOut(ask, {
      what: `listing the bucket "${bucket}"`,
      question: { subject: `$JS.API.STREAM.INFO.${storeStream(bucket)}`, bytes: jsonBytes({ subjects_filter: filter, offset }) },
      isSafeAgain: true,
      read: (answer) => apiAnswer(answer) as StreamInfo, // The broker's own answer; it was looked through for errors.
    });
  const full = async ({ subject, bytes }: NewValue, { detail }: StoreFull): Promise<PlatformError> => {
    const bucket: BucketName = subject.startsWith(storePrefix("sessions")) ? "sessions" : "data";
    const fill = fillIn(await info(bucket, "none", 0));
    return new PlatformError("STORE_FULL", { detail: fullBecause(bucket, fill, { byteCount: bytes.length, text: detail.detail ?? "" }) });
  };
  return {
    lastOf: (bucket, subject) => directGet(bucket, { last_by_subj: subject }),
    firstOf: (bucket, filter) => directGet(bucket, { seq: 1, next_by_subj: filter }),
    write: (value) =>
      carryOut(ask, {
        what: "writing",
        question: questionOf(value),
        // Where it was done and nobody heard so, its own revision would look like another's.
        isSafeAgain: value.expectedRevision === undefined,
        read: revisionIn,
      }).catch(async (thrown: unknown) => {
        throw thrown instanceof StoreFull ? await full(value, thrown) : thrown;
      }),
    erase: (bucket, revision) =>
      carryOut(ask, {
        what: "removing",
        question: { subject: `$JS.API.STREAM.MSG.DELETE.${storeStream(bucket)}`, bytes: jsonBytes({ seq: revision, no_erase: true }) },
        isSafeAgain: true, // A revision is never given twice.
        read: refusalIn,
      }),
    countOf: async (bucket, filter) => (await info(bucket, filter, BEYOND_EVERYTHING)).total ?? 0,
    subjectsOf: async (bucket, filter) => {
      const subjects: string[] = [];
      for (;;) {
        const { state, total = 0 } = await info(bucket, filter, subjects.length);
        const part = Object.keys(state?.subjects ?? {});
        subjects.push(...part);
        if (part.length === 0 || subjects.length >= total) return subjects.toSorted(); // Of ASCII, so this is the order of bytes.
      }
    },
  };
}

const NOTE = "Orchestrator-Note";

function questionOf({ subject, bytes, expectedRevision, note }: NewValue): Omit<BusQuestion, "timeoutMs"> {
  if (expectedRevision === undefined && note === undefined) return { subject, bytes };
  const headers = {
    ...(expectedRevision === undefined ? {} : { "Nats-Expected-Last-Subject-Sequence": String(expectedRevision) }),
    ...(note === undefined ? {} : { [NOTE]: note }),
  };
  return { subject, bytes, headers };
}

interface StreamInfo {
  readonly total?: number; // How many subjects the filter takes, whatever is listed of them.
  readonly state?: { readonly subjects?: Readonly<Record<string, number>> };
}

async function carryOut<Result>(ask: Ask, operation: Operation<Result>): Promise<Result> {
  const deadlineMs = performance.now() + STORE_WAIT_TIMEOUT_MS;
  for (;;) {
    const leftMs = deadlineMs - performance.now();
    try {
      return operation.read(await ask({ ...operation.question, timeoutMs: Math.min(STORE_REQUEST_TIMEOUT_MS, leftMs) }));
    } catch (cause) {
      if (!(cause instanceof BusFailure)) throw cause;
      const mayAgain = cause.outcome === "unsent" || operation.isSafeAgain;
      if (!mayAgain || performance.now() + RETRY_DELAY_MS >= deadlineMs) throw unavailable(operation, cause);
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY_MS));
  }
}

function unavailable({ what, isSafeAgain }: Operation<unknown>, cause: BusFailure): PlatformError {
  const isOpen = cause.outcome === "unknown" && !isSafeAgain;
  const detail = `It failed while ${what}: ${cause.message}.${isOpen ? " Whether it was done is not known." : ""}`;
  return new PlatformError("STORE_UNAVAILABLE", { detail }, { cause });
}

function foundIn(answer: BusAnswer): FoundValue | null {
  if (answer.status === NOT_FOUND) return null;
  const revision = Number(answer.header("Nats-Sequence"));
  if (answer.status !== 0 || !(revision > 0)) throw new BusFailure("unsent", `the broker answered with status ${answer.status}`);
  return { bytes: answer.bytes, revision, subject: answer.header("Nats-Subject"), note: answer.header(NOTE) };
}

function revisionIn(answer: BusAnswer): number {
  const { seq } = apiAnswer(answer) as { readonly seq?: unknown }; // The broker's own answer; it was looked through for errors.
  if (typeof seq !== "number") throw new BusFailure("unknown", "the broker's answer has no sequence");
  return seq;
}

/** As the broker says it; which limit it means is asked where something was to be written. */
class StoreFull extends PlatformError {}

interface ApiError {
  readonly err_code?: number;
  readonly description?: string;
}

/** The answer of the API as an object, where it tells of no error. */
function apiAnswer(answer: BusAnswer): object {
  const { value, error } = parsed(answer);
  if (error === undefined) return value;
  const code = error.err_code ?? 0;
  if (code === WRONG_LAST_SEQUENCE) throw new RevisionConflict("another write came first");
  if (NO_ROOM.has(code)) throw new StoreFull("STORE_FULL", { detail: error.description ?? `code ${code}` });
  if (NOT_READY.has(code)) throw new BusFailure("unsent", `the broker says: ${error.description ?? code}`);
  throw new PlatformError("INTERNAL", { detail: `The store refused: ${error.description ?? code}.` });
}

function refusalIn(answer: BusAnswer): string | null {
  const { error } = parsed(answer);
  if (error?.err_code === DELETE_FAILED) return error.description ?? "it failed";
  if (error === undefined || !NO_SUCH_MESSAGE.has(error.err_code ?? 0)) apiAnswer(answer);
  return null;
}

function parsed(answer: BusAnswer): { readonly value: object; readonly error: ApiError | undefined } {
  const value: unknown = JSON.parse(Buffer.from(answer.bytes.buffer, answer.bytes.byteOffset, answer.bytes.byteLength).toString("utf8"));
  if (typeof value !== "object" || value === null) throw new BusFailure("unknown", "the broker's answer is no object");
  return { value, error: (value as { readonly error?: ApiError }).error }; // The broker's own answer.
}

const jsonBytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

// Makes the buckets of sessions and documents in the account of one app and environment, and keeps their settings as they should be.
import { setTimeout as delay } from "node:timers/promises";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import {
  BROKER_REQUEST_TIMEOUT_MS,
  BROKER_STORE_ENSURE_TIMEOUT_MS,
  SESSION_IDLE_MS,
  STORE_DATA_BYTES_MAX,
  STORE_DATA_COUNT_MAX,
  STORE_SESSIONS_BYTES_MAX,
  STORE_SESSIONS_COUNT_MAX,
  STORE_VALUE_BYTES_MAX,
} from "../../runtime-image/contract/limits.ts";
import { STORE_BUCKETS, storeStream, storeSubjects, type StoreBucket } from "../../runtime-image/contract/subjects.ts";
import type { BrokerConnection, Received } from "./connection.ts";

const NANOSECONDS_PER_MS = 1_000_000;
const RETRY_DELAY_MS = 50;
const STATE_TIMEOUT_MS = 1_000; // Servers of a cluster all answer, and where none carries the stream nobody says so.
const NOT_FOUND = 10_059; // JetStream's code for a stream that is not there.
const NAME_IN_USE = 10_058; // JetStream's code for a stream that is there with other settings.
const BYTES_MAX: Readonly<Record<StoreBucket, number>> = { data: STORE_DATA_BYTES_MAX, sessions: STORE_SESSIONS_BYTES_MAX };
const COUNT_MAX: Readonly<Record<StoreBucket, number>> = { data: STORE_DATA_COUNT_MAX, sessions: STORE_SESSIONS_COUNT_MAX };
const ACCOUNT_NOT_READY = new Set([
  10_039, // JetStream is not enabled for the account: its claims are still on their way.
  10_008, // JetStream is temporarily unavailable.
]);

export interface StoreState {
  readonly isHeld: boolean; // Whether it takes nothing new, because the disk is nearly full. Reading and destroying go on.
}

export async function ensureStores(connection: BrokerConnection, state: StoreState): Promise<void> {
  for (const bucket of STORE_BUCKETS) await ensureStream(connection, storeConfig(bucket, state));
}

/** Takes the buckets away with everything in them. */
export async function dropStores(connection: BrokerConnection): Promise<void> {
  for (const bucket of STORE_BUCKETS) {
    const name = storeStream(bucket);
    const refusal = await askForStream(connection, "DELETE", { name });
    if (refusal !== null && refusal.code !== NOT_FOUND)
      throw new PlatformError("NATS_FAILED", { detail: `JetStream refused to remove the stream "${name}": ${refusal.text}.` });
  }
}

/** How far the stream of documents has come, asked of the broker itself: no connection into the app's account is needed for that. */
export function writtenRevision(system: BrokerConnection, accountKey: string): Promise<number | null> {
  return system.ask({
    subject: `$SYS.REQ.ACCOUNT.${accountKey}.JSZ`,
    bytes: Buffer.from(JSON.stringify({ streams: true })),
    timeoutMs: STATE_TIMEOUT_MS,
    read: (message) => lastSequenceIn(message, storeStream("data")),
  });
}

/** Null for the answer of a server that does not carry the stream. */
export function lastSequenceIn({ bytes }: Pick<Received, "bytes">, stream: string): number | null {
  const value: unknown = JSON.parse(Buffer.from(bytes).toString("utf8"));
  // The broker's own answer, on an inbox only it was told of.
  const { data } = (value ?? {}) as { data?: { stream_detail?: readonly { name?: unknown; state?: { last_seq?: unknown } }[] } };
  const sequence = data?.stream_detail?.find(({ name }) => name === stream)?.state?.last_seq;
  return typeof sequence === "number" ? sequence : null;
}

/**
 * Creating it again with the same settings changes nothing. Named as a key-value bucket, so that tools for those can read it, but
 * without its limit of one message per key: the broker writes nothing down about messages that this limit removes, so that after
 * SIGKILL an old value of a destroyed key was back (measured with 2.10.27: a third of the keys). Writers delete what they replace,
 * and that is written down. Rollups and purges, which leave the same gap, are off.
 */
export function storeConfig(bucket: StoreBucket, { isHeld }: StoreState = { isHeld: false }): StoreConfig {
  return {
    name: storeStream(bucket),
    subjects: storeSubjects(bucket),
    storage: "file",
    retention: "limits",
    max_msgs_per_subject: -1,
    max_bytes: BYTES_MAX[bucket],
    max_msgs: isHeld ? 1 : COUNT_MAX[bucket], // More than there may be only means that no others are taken.
    // A session that nobody visits any more leaves by itself; each write or renewal starts its time anew, and what an old one says of its end counts.
    ...(bucket === "sessions" ? { max_age: SESSION_IDLE_MS * NANOSECONDS_PER_MS } : {}),
    discard: "new", // Full means that new values are refused, never that old ones go.
    max_msg_size: STORE_VALUE_BYTES_MAX,
    num_replicas: 1,
    allow_direct: true, // The one replica answers itself, so a read sees the write before it.
    allow_rollup_hdrs: false,
    deny_purge: true,
    deny_delete: false, // Destroying deletes messages: it needs no room and leaves nothing behind.
    duplicate_window: 1_000_000_000, // Message ids are not used; one second keeps the table of them empty.
  };
}

type StoreConfig = Readonly<Record<string, unknown>> & { readonly name: string };

async function ensureStream(connection: BrokerConnection, config: StoreConfig): Promise<void> {
  const deadlineMs = performance.now() + BROKER_STORE_ENSURE_TIMEOUT_MS;
  for (;;) {
    const refusal = await askForStream(connection, "CREATE", config);
    if (refusal === null) return;
    const isOutdated = refusal.code === NAME_IN_USE;
    const last = isOutdated ? await askForStream(connection, "UPDATE", config) : refusal;
    if (last === null) return;
    if (!ACCOUNT_NOT_READY.has(last.code) || performance.now() > deadlineMs)
      throw new PlatformError("NATS_FAILED", { detail: `JetStream refused to make the stream "${config.name}": ${last.text}.` });
    await delay(RETRY_DELAY_MS);
  }
}

interface Refusal {
  readonly code: number;
  readonly text: string;
}

async function askForStream(
  connection: BrokerConnection,
  action: "CREATE" | "UPDATE" | "DELETE",
  config: StoreConfig,
): Promise<Refusal | null> {
  const answer = await connection.ask({
    subject: `$JS.API.STREAM.${action}.${config.name}`,
    bytes: action === "DELETE" ? Buffer.alloc(0) : Buffer.from(JSON.stringify(config)), // It takes nothing but the name.
    timeoutMs: BROKER_REQUEST_TIMEOUT_MS,
    read: outcomeIn,
  });
  return answer === null ? { code: 10_008, text: "nothing answers" } : answer.refusal;
}

/** Wrapped, because null would mean that this is no answer. */
function outcomeIn(message: Received): { readonly refusal: Refusal | null } {
  const value: unknown = JSON.parse(Buffer.from(message.bytes).toString("utf8"));
  const { error } = (value ?? {}) as { error?: { err_code?: unknown; description?: unknown } }; // The broker's own answer, on an inbox only it was told of.
  if (error === undefined) return { refusal: null };
  return { refusal: { code: Number(error.err_code), text: String(error.description) } };
}

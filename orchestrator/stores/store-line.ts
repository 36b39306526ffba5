// The control plane's line to the stores of one app and environment; the only file of this room that knows the broker's client.
import { randomBytes } from "node:crypto";
import { connect, createInbox, headers, type NatsConnection } from "nats";
import type { BrokerAccess } from "../../runtime-image/contract/instance-manifest.ts";
import { BROKER_CONNECT_TIMEOUT_MS, STORE_PULL_COUNT_MAX, STORE_REQUEST_TIMEOUT_MS } from "../../runtime-image/contract/limits.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { storePrefix, storeStream, type StoreBucket } from "../../runtime-image/contract/subjects.ts";
import { signNonce } from "../../runtime-image/runtime/nonce-signature.ts";
import { answerIn, BusFailure, createQuestions, type Ask, type Questions } from "../../runtime-image/store/questions.ts";
import { STORE_KEEPER_INBOX_PREFIX } from "../nats/rights.ts";

export interface StoreLine {
  readonly ask: Ask;
  /**
   * The messages of a bucket in the order of writing, a bounded part of them at a time. "last": of each key the newest one, and those
   * that are written meanwhile: whatever is in the bucket when this ends was given as it is then, a key maybe more than once. "all":
   * also those that newer ones hide, without their bytes.
   */
  messages(bucket: StoreBucket, which: "last" | "all"): AsyncGenerator<StoredMessage, void, undefined>;
  close(): Promise<void>;
}

export interface StoredMessage {
  readonly subject: string;
  readonly revision: number;
  readonly bytes: Uint8Array;
}

const RECONNECT_DELAY_MS = 250;
const CONSUMER_IDLE_MS = 30_000; // The broker removes one that nobody asked for so long: its reader was killed.
const NANOSECONDS_PER_MS = 1_000_000;

export async function openStoreLine(access: BrokerAccess, name: string): Promise<StoreLine> {
  const client = await open(access, name);
  const questions = createQuestions();
  const state = { isUp: true };
  void follow(client, questions, state); // The client's iterator ends with the connection and does not throw.
  const answersTo = `${createInbox(STORE_KEEPER_INBOX_PREFIX)}.`;
  client.subscribe(`${answersTo}*`, {
    callback: (error, message) => {
      if (error === null) questions.settle(message.subject.slice(answersTo.length), answerIn(message));
    },
  });
  const ask: Ask = async ({ subject, bytes, timeoutMs, headers: named }) => {
    if (!state.isUp) throw new BusFailure("unsent", "the broker is away"); // The client would send it later, when nobody waits any more.
    const { sequence, answer } = questions.open(timeoutMs);
    const reply = `${answersTo}${sequence}`;
    client.publish(subject, bytes, named === undefined ? { reply } : { reply, headers: headersOf(named) });
    return answer;
  };
  return { ask, messages: (bucket, which) => messagesOf({ client, ask, bucket, which }), close: () => client.close() };
}

async function open(access: BrokerAccess, name: string): Promise<NatsConnection> {
  try {
    return await connect({
      servers: access.url,
      authenticator: (nonce) => ({ jwt: access.jwt, sig: signNonce(access.seed, nonce ?? "") }),
      name,
      inboxPrefix: STORE_KEEPER_INBOX_PREFIX,
      timeout: BROKER_CONNECT_TIMEOUT_MS,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_DELAY_MS,
      ignoreAuthErrorAbort: true, // A broker that is being repaired may refuse for a while.
      resolve: false, // The client's own resolver asks DNS servers and knows no /etc/hosts.
      noAsyncTraces: true,
    });
  } catch (cause) {
    throw new PlatformError("BROKER_UNAVAILABLE", { detail: `${access.url} cannot be connected to.` }, { cause });
  }
}

async function follow(client: NatsConnection, questions: Questions, state: { isUp: boolean }): Promise<void> {
  for await (const { type } of client.status()) {
    if (type === "disconnect") {
      state.isUp = false;
      questions.loseAll();
    }
    if (type === "reconnect") state.isUp = true;
  }
  state.isUp = false;
  questions.loseAll();
}

interface Reading {
  readonly client: NatsConnection;
  readonly ask: Ask;
  readonly bucket: StoreBucket;
  readonly which: "last" | "all";
}

async function* messagesOf(reading: Reading): AsyncGenerator<StoredMessage, void, undefined> {
  const { client, ask, bucket } = reading;
  const consumer = `keeper${randomBytes(8).toString("hex")}`;
  let pendingCount = await createConsumer(reading, consumer);
  let deliveredCount = 0;
  try {
    while (pendingCount > 0) {
      const part = await pull(client, { bucket, consumer });
      for (const message of part.messages) {
        deliveredCount += 1;
        if (message.delivered !== deliveredCount) throw unreadable(bucket, "a message was lost on the way");
        yield message;
      }
      pendingCount = part.pendingCount;
    }
  } finally {
    const subject = `$JS.API.CONSUMER.DELETE.${storeStream(bucket)}.${consumer}`;
    // One that stays is removed by the broker itself a little later.
    await ask({ subject, bytes: new Uint8Array(0), timeoutMs: STORE_REQUEST_TIMEOUT_MS }).catch(() => undefined);
  }
}

/** With how many messages it has to give. */
async function createConsumer({ ask, bucket, which }: Reading, name: string): Promise<number> {
  const [stream, filter] = [storeStream(bucket), `${storePrefix(bucket)}>`];
  const config = {
    name,
    filter_subject: filter,
    deliver_policy: which === "last" ? "last_per_subject" : "all",
    headers_only: which === "all",
    ack_policy: "none",
    inactive_threshold: CONSUMER_IDLE_MS * NANOSECONDS_PER_MS,
  };
  const bytes = Buffer.from(JSON.stringify({ stream_name: stream, config, action: "create" }));
  const answer = await ask({
    subject: `$JS.API.CONSUMER.CREATE.${stream}.${name}.${filter}`,
    bytes,
    timeoutMs: STORE_REQUEST_TIMEOUT_MS,
  }).catch((cause: unknown) => {
    throw unreadable(bucket, cause instanceof Error ? cause.message : String(cause));
  });
  const value: unknown = JSON.parse(Buffer.from(answer.bytes).toString("utf8"));
  const { error, num_pending: count } = value as { error?: { description?: string }; num_pending?: number }; // The broker's own answer.
  if (error !== undefined || count === undefined) throw unreadable(bucket, error?.description ?? "the broker made no consumer");
  return count;
}

interface Pulled {
  readonly messages: readonly (StoredMessage & { readonly delivered: number })[];
  readonly pendingCount: number;
}

/** The next messages, as many as there are at once up to the bounds. The broker ends with a message of its own, or with the last one asked for. */
async function pull(client: NatsConnection, { bucket, consumer }: { bucket: StoreBucket; consumer: string }): Promise<Pulled> {
  const inbox = createInbox(STORE_KEEPER_INBOX_PREFIX);
  const messages: (StoredMessage & { readonly delivered: number })[] = [];
  let pendingCount = 0;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const subscription = client.subscribe(inbox, {
    callback: (error, message) => {
      if (error !== null) return reject(error);
      const code = message.headers?.code ?? 0;
      // Nothing more now. Anything else is no end, and a part must not pass for the whole.
      if (message.data.length === 0 && code >= 400)
        return code === NO_MESSAGES || messages.length > 0
          ? resolve()
          : reject(new Error(`the broker says: ${message.headers?.description}`));
      const [revision = 0, delivered = 0, pending = 0] = placeIn(message.reply ?? "");
      messages.push({ subject: message.subject, bytes: message.data, revision, delivered });
      pendingCount = pending;
      if (messages.length === STORE_PULL_COUNT_MAX) resolve();
    },
  });
  const timer = setTimeout(() => reject(new Error(`no answer within ${STORE_REQUEST_TIMEOUT_MS} ms`)), STORE_REQUEST_TIMEOUT_MS);
  // Not a bound on bytes: the broker drops the message that goes beyond it where nothing is acknowledged (2.10.27).
  const question = { batch: STORE_PULL_COUNT_MAX, no_wait: true };
  try {
    const subject = `$JS.API.CONSUMER.MSG.NEXT.${storeStream(bucket)}.${consumer}`;
    client.publish(subject, Buffer.from(JSON.stringify(question)), { reply: inbox });
    await promise;
  } catch (cause) {
    throw unreadable(bucket, cause instanceof Error ? cause.message : String(cause));
  } finally {
    clearTimeout(timer);
    subscription.unsubscribe();
  }
  return { messages, pendingCount };
}

const NO_MESSAGES = 404;

/** "$JS.ACK.<stream>.<consumer>.<tries>.<revision>.<delivered>.<time>.<pending>": what the broker says of a message it hands out. */
function placeIn(reply: string): readonly [revision?: number, delivered?: number, pending?: number] {
  const [revision, delivered, , pending] = reply.split(".").slice(-4).map(Number);
  return revision === undefined || delivered === undefined || pending === undefined ? [] : [revision, delivered, pending];
}

const unreadable = (bucket: StoreBucket, reason: string): PlatformError =>
  new PlatformError("STORE_UNAVAILABLE", {
    detail: `The bucket "${bucket}" could not be read to its end: ${reason}.`,
    remedy: "Try again.",
  });

function headersOf(named: Readonly<Record<string, string>>): ReturnType<typeof headers> {
  const made = headers();
  for (const [name, value] of Object.entries(named)) made.set(name, value);
  return made;
}

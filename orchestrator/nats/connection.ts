// One connection of the orchestrator to the broker: the only file here that knows the broker's client. It reconnects for ever.
import { connect, createInbox, NatsError, StorageType } from "nats";
import type { KV, KvEntry, Msg, NatsConnection } from "nats";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { BrokerAccess } from "../../runtime-image/contract/instance-manifest.ts";
import { BROKER_CONNECT_TIMEOUT_MS, BROKER_REQUEST_TIMEOUT_MS } from "../../runtime-image/contract/limits.ts";
import { signNonce } from "../../runtime-image/runtime/nonce-signature.ts";
import { createConnectionState, type ConnectionState } from "./connection-state.ts";
import { ORCHESTRATOR_INBOX_PREFIX } from "./rights.ts";

export interface BrokerConnection {
  readonly server: ServerFacts;
  /** Hands every message without headers to the callback; in effect at the broker when this resolves. The result ends it. */
  subscribe(subject: string, onMessage: (message: Received) => void): Promise<() => void>;
  /** Asks, and takes the first answer that `read` accepts. Null where nobody listens or nobody answers in time. */
  ask<Answer>(question: Question<Answer>): Promise<Answer | null>;
  /** A bucket with a history of one, on disk, read from its leader; made when it is missing. */
  bucket(name: string): Promise<Bucket>;
  /** Throws where JetStream does not answer this account. */
  checkJetStream(): Promise<void>;
  close(): Promise<void>;
}

export interface ServerFacts {
  readonly version: string;
  readonly payloadBytesMax: number;
}

export interface Received {
  readonly subject: string;
  readonly bytes: Uint8Array;
}

export interface Question<Answer> {
  readonly subject: string;
  readonly bytes?: Uint8Array;
  readonly answerOn?: string; // An inbox of its own where the one who answers may use any.
  readonly timeoutMs: number;
  readonly read: (message: Received) => Answer | null; // Null for an answer to go on waiting after.
}

export interface Bucket {
  /** Null where the key never was; a removed one still has a revision. */
  get(key: string): Promise<Entry | null>;
  /** The new revision; null where the key is not at the expected one (0: it must not be there). */
  put(key: string, bytes: Uint8Array, options?: { readonly expectedRevision?: number }): Promise<number | null>;
  remove(key: string): Promise<void>;
  /** Every key below a prefix, "" for all. */
  list(prefix: string): Promise<readonly (Entry & { readonly key: string; readonly bytes: Uint8Array })[]>;
}

export interface Entry {
  readonly bytes: Uint8Array | null; // Null: removed.
  readonly revision: number;
}

const RECONNECT_DELAY_MS = 250; // A broker that comes back is found at once by a person's measure.
const PING_INTERVAL_MS = 10_000; // A broker that hangs is noticed after two of these.
const WRONG_LAST_SEQUENCE = 10_071; // JetStream's code for a key that is not at the expected revision.
const NO_RESPONDERS = 503;
const LIST_ATTEMPT_COUNT_MAX = 5;

export interface ConnectionOptions {
  readonly name: string;
  readonly onError: (cause: unknown) => void; // What a callback of a subscription threw.
}

export async function openConnection(access: BrokerAccess, options: ConnectionOptions): Promise<BrokerConnection> {
  const client = await open(access, options.name);
  const state = followState(client, access.url);
  const buckets = new Map<string, Promise<KV>>();
  const { info } = client;
  if (info === undefined) throw new PlatformError("NATS_FAILED", { detail: `${access.url} said nothing of itself.` });

  return {
    server: { version: info.version, payloadBytesMax: info.max_payload },
    subscribe: (subject, onMessage) =>
      translated(`subscribing to ${subject}`, () => subscribe(client, subject, guarded(onMessage, options.onError))),
    ask: (question) => ask(client, state, question),
    bucket: (name) => keyValueBucket(state, { name, open: () => openBucket(client, buckets, name), forget: () => buckets.delete(name) }),
    checkJetStream: () => translated("asking JetStream", () => checkJetStream(client)),
    close: () => client.close(),
  };
}

async function open(access: BrokerAccess, name: string): Promise<NatsConnection> {
  try {
    return await connect({
      servers: access.url,
      authenticator: (nonce) => ({ jwt: access.jwt, sig: signNonce(access.seed, nonce ?? "") }),
      name,
      inboxPrefix: ORCHESTRATOR_INBOX_PREFIX,
      timeout: BROKER_CONNECT_TIMEOUT_MS,
      pingInterval: PING_INTERVAL_MS,
      maxPingOut: 2,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_DELAY_MS,
      reconnectJitter: RECONNECT_DELAY_MS,
      ignoreAuthErrorAbort: true, // A broker that is being repaired may refuse for a while.
      resolve: false, // The client's own resolver asks DNS servers and knows no /etc/hosts.
      noAsyncTraces: true,
    });
  } catch (cause) {
    if (cause instanceof NatsError && cause.isAuthError())
      throw new PlatformError(
        "NATS_REFUSED",
        {
          detail: `${access.url} refused the credentials of "${name}".`,
          remedy: 'Include what "orchestrator nats config" prints in its configuration.',
        },
        { cause },
      );
    throw new PlatformError("BROKER_UNAVAILABLE", { detail: `${access.url} cannot be connected to.` }, { cause });
  }
}

function followState(client: NatsConnection, url: string): ConnectionState {
  const state = createConnectionState(url);
  const follow = async (): Promise<void> => {
    for await (const { type } of client.status()) {
      if (type === "disconnect") state.markLost();
      if (type === "reconnect") state.markUp();
    }
    state.markLost(); // Closed: nothing can be asked any more.
  };
  void follow(); // The client's iterator ends with the connection and does not throw.
  return state;
}

/** An error that left a callback would end the client's read loop without a word. */
function guarded(onMessage: (message: Received) => void, onError: (cause: unknown) => void): (message: Received) => void {
  return (message) => {
    try {
      onMessage(message);
    } catch (cause) {
      onError(cause);
    }
  };
}

async function subscribe(client: NatsConnection, subject: string, onMessage: (message: Received) => void): Promise<() => void> {
  const subscription = client.subscribe(subject, {
    callback: (error, message) => {
      // Nothing of ours carries headers. What the broker reads out of a bucket does, and it would send that anywhere.
      if (error === null && message.headers === undefined) onMessage({ subject: message.subject, bytes: message.data });
    },
  });
  await withDeadline(client.flush(), BROKER_REQUEST_TIMEOUT_MS);
  return () => subscription.unsubscribe();
}

/** "Nobody answered" is never said of a time in which the connection was down: someone may believe it and act. */
async function ask<Answer>(client: NatsConnection, state: ConnectionState, question: Question<Answer>): Promise<Answer | null> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer | null>();
  const reply = question.answerOn ?? createInbox(ORCHESTRATOR_INBOX_PREFIX);
  const onAnswer = (error: Error | null, message: Msg): void => {
    if (error !== null) return reject(error);
    if (message.data.length === 0 && message.headers?.code === NO_RESPONDERS) return resolve(null);
    guarded((received) => {
      const answer = question.read(received);
      if (answer !== null) resolve(answer);
    }, reject)({ subject: message.subject, bytes: message.data });
  };
  await state.untilUp(question.timeoutMs);
  return translated(`asking ${question.subject}`, async () => {
    const subscription = client.subscribe(reply, { callback: onAnswer });
    const timer = setTimeout(() => resolve(null), question.timeoutMs);
    try {
      client.publish(question.subject, question.bytes ?? new Uint8Array(0), { reply });
      return await state.unlessLost(() => promise);
    } finally {
      clearTimeout(timer);
      subscription.unsubscribe();
    }
  });
}

function openBucket(client: NatsConnection, buckets: Map<string, Promise<KV>>, name: string): Promise<KV> {
  const known = buckets.get(name);
  if (known !== undefined) return known;
  const opening = client
    .jetstream({ timeout: BROKER_REQUEST_TIMEOUT_MS })
    // allow_direct would let replicas answer, and a read might not see the write before it.
    .views.kv(name, { history: 1, storage: StorageType.File, allow_direct: false, timeout: BROKER_REQUEST_TIMEOUT_MS });
  buckets.set(name, opening);
  return opening;
}

async function checkJetStream(client: NatsConnection): Promise<void> {
  try {
    const manager = await client.jetstreamManager({ timeout: BROKER_REQUEST_TIMEOUT_MS });
    await manager.getAccountInfo();
  } catch (cause) {
    if (!(cause instanceof NatsError) || cause.code !== String(NO_RESPONDERS)) throw cause;
    throw new PlatformError("NATS_FAILED", { detail: "Nothing answers for JetStream." }, { cause });
  }
}

interface BucketAccess {
  readonly name: string;
  readonly open: () => Promise<KV>;
  readonly forget: () => void;
}

async function keyValueBucket(state: ConnectionState, { name, open, forget }: BucketAccess): Promise<Bucket> {
  const use = async <Result>(what: string, action: (store: KV) => Promise<Result>): Promise<Result> => {
    await state.untilUp(BROKER_REQUEST_TIMEOUT_MS);
    try {
      return await translated(`${what} in ${name}`, () => state.unlessLost(async () => action(await open())));
    } catch (error) {
      forget(); // The next use looks for the bucket again: a broker may have come back without it.
      throw error;
    }
  };
  /** What only reads may be done again when the connection was lost in the middle of it. */
  const read = async <Result>(what: string, action: (store: KV) => Promise<Result>): Promise<Result> => {
    try {
      return await use(what, action);
    } catch (error) {
      if (!(error instanceof PlatformError) || error.code !== "BROKER_UNAVAILABLE") throw error;
      return use(what, action);
    }
  };
  await use("opening the bucket", async () => {});
  return {
    get: (key) => read(`reading ${key}`, async (store) => entryOf(await store.get(key))),
    put: (key, bytes, options = {}) => use(`writing ${key}`, (store) => putAt(store, key, bytes, options.expectedRevision)),
    remove: (key) => use(`removing ${key}`, (store) => store.delete(key)),
    list: (prefix) => read(`listing ${prefix}`, (store) => withDeadline(listEntries(store, prefix), BROKER_REQUEST_TIMEOUT_MS)),
  };
}

async function putAt(store: KV, key: string, bytes: Uint8Array, expectedRevision: number | undefined): Promise<number | null> {
  try {
    return await store.put(key, bytes, expectedRevision === undefined ? {} : { previousSeq: expectedRevision });
  } catch (error) {
    if (error instanceof NatsError && error.api_error?.err_code === WRONG_LAST_SEQUENCE) return null;
    throw error;
  }
}

type ListedEntry = Entry & { readonly key: string; readonly bytes: Uint8Array };

/**
 * What is written while a listing goes on is counted by the server's library in place of what it replaces, so that a key may be left out:
 * then it is listed again. Where that happens each time, what one listing left out another one had.
 */
async function listEntries(store: KV, prefix: string): Promise<ListedEntry[]> {
  const found = new Map<string, ListedEntry>();
  for (let attempt = 1; attempt <= LIST_ATTEMPT_COUNT_MAX; attempt += 1) {
    const { last_seq: lastRevision } = (await store.status()).streamInfo.state;
    const entries = await historyOf(store, prefix);
    for (const { key, revision, operation, value } of entries)
      if (operation !== "PUT") found.delete(key);
      else if (revision > (found.get(key)?.revision ?? 0)) found.set(key, { key, revision, bytes: value });
    if (entries.every(({ revision }) => revision <= lastRevision)) break;
  }
  return [...found.values()];
}

async function historyOf(store: KV, prefix: string): Promise<KvEntry[]> {
  const entries: KvEntry[] = [];
  // The library (2.29) gives undefined as well, for what is written after it has seen enough.
  const history = (await store.history({ key: prefix === "" ? ">" : `${prefix}.>` })) as AsyncIterable<KvEntry | undefined>;
  for await (const entry of history) if (entry !== undefined) entries.push(entry);
  return entries;
}

const entryOf = (entry: KvEntry | null): Entry | null =>
  entry === null ? null : { bytes: entry.operation === "PUT" ? entry.value : null, revision: entry.revision };

async function translated<Result>(what: string, action: () => Promise<Result>): Promise<Result> {
  try {
    return await action();
  } catch (cause) {
    if (!(cause instanceof NatsError)) throw cause; // Ours already, or a mistake of a caller, like a key outside the alphabet.
    if (cause.api_error !== undefined)
      throw new PlatformError("NATS_FAILED", { detail: `JetStream refused ${what}: ${cause.api_error.description}.` }, { cause });
    throw new PlatformError("BROKER_UNAVAILABLE", { detail: `It failed while ${what}.` }, { cause });
  }
}

async function withDeadline<Result>(promise: Promise<Result>, timeoutMs: number): Promise<Result> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new PlatformError("BROKER_UNAVAILABLE", { detail: `No answer within ${timeoutMs} ms.` })),
    timeoutMs,
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

// The broker, as the gateway sees it: links that come back by themselves, and the bucket of snapshots. Nothing else here knows its client.
import { connect, type ConnectionOptions, type Msg, type NatsConnection } from "nats";
import type { BrokerAccess } from "../../runtime-image/contract/instance-manifest.ts";
import { BROKER_PAYLOAD_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { signNonce } from "../../runtime-image/runtime/nonce-signature.ts";

export interface Delivery {
  readonly subject: string;
  readonly bytes: Uint8Array;
  readonly isUndelivered: boolean; // The broker found nobody on the subject that this reply belongs to.
  respond(bytes: Uint8Array): void;
}

export interface BrokerLink {
  readonly isUp: boolean;
  /** Only while the link is up. What is published in one turn of the event loop leaves in one write. */
  publish(message: { readonly subject: string; readonly replyTo: string; readonly bytes: Uint8Array }): void;
  /** Sends what was published before, for a moment at most. Never fails. */
  close(): Promise<void>;
}

export interface LinkOptions {
  readonly access: BrokerAccess;
  readonly name: string;
  readonly subscriptions: Readonly<Record<string, (delivery: Delivery) => void>>;
  readonly onUp?: () => void;
  readonly onDown?: () => void;
  readonly onError: (message: string, cause: unknown) => void;
}

export interface SnapshotWatch {
  readonly bucket: string;
  readonly onValue: (key: string, text: string | null) => void; // Null where it was removed.
  readonly onReady: () => void; // Every value that was there has been told.
}

const RECONNECT_FIRST_MS = 100;
const RECONNECT_MAX_MS = 1_000;
const CONNECT_TIMEOUT_MS = 2_000;
const PING_INTERVAL_MS = 5_000; // Two of them unanswered: the broker is gone, although its socket is open.
const REWATCH_DELAY_MS = 250;
const CLOSE_FLUSH_TIMEOUT_MS = 500; // Instances are told to let go of answers that nobody reads; a broker that is away is not waited for.

interface LinkState {
  connection: NatsConnection | null;
  isUp: boolean;
  attemptCount: number;
  isFailureTold: boolean; // Once per outage is enough.
  epoch: AbortController; // Ends when the link goes down.
  readonly closing: AbortController;
}

/** Comes up some time after this returns, and again whenever it went down, until it is closed. */
export function openLink(options: LinkOptions, watch?: SnapshotWatch): BrokerLink {
  const state: LinkState = {
    connection: null,
    isUp: false,
    attemptCount: 0,
    isFailureTold: false,
    epoch: new AbortController(),
    closing: new AbortController(),
  };
  void keepConnected(options, state, watch); // Whatever fails in there is told through onError.
  return {
    get isUp() {
      return state.isUp;
    },
    publish({ subject, replyTo, bytes }) {
      state.connection?.publish(subject, bytes, { reply: replyTo });
    },
    async close() {
      const flushed = state.isUp ? state.connection?.flush() : undefined;
      state.isUp = false;
      state.closing.abort();
      state.epoch.abort();
      try {
        await Promise.race([flushed, delay(CLOSE_FLUSH_TIMEOUT_MS, new AbortController().signal)]);
        await state.connection?.close();
      } catch (cause) {
        options.onError("closing a broker link failed", cause);
      }
    },
  };
}

async function keepConnected(options: LinkOptions, state: LinkState, watch: SnapshotWatch | undefined): Promise<void> {
  const { signal } = state.closing;
  while (!signal.aborted) {
    try {
      const connection = await connect(connectionOptions(options, state));
      if (signal.aborted) {
        await connection.close();
        return;
      }
      state.connection = connection;
      subscribeAll(connection, options);
      await followStatus(connection, state, { options, watch }); // Ends where the client gave up for good; then the loop begins anew.
    } catch (cause) {
      if (!state.isFailureTold) options.onError("the broker cannot be reached", cause);
      state.isFailureTold = true;
    }
    await delay(reconnectDelayMs(state), signal);
  }
}

function connectionOptions(options: LinkOptions, state: LinkState): ConnectionOptions {
  const { access, name } = options;
  // "pendingLimit" is not in the client's types. Below it, everything that one turn publishes becomes one write.
  const tuned: ConnectionOptions & { pendingLimit: number } = {
    servers: access.url,
    name,
    ...(access.jwt === "" ? {} : { authenticator: (nonce?: string) => ({ jwt: access.jwt, sig: signNonce(access.seed, nonce ?? "") }) }),
    reconnect: true,
    maxReconnectAttempts: -1,
    reconnectDelayHandler: () => reconnectDelayMs(state),
    ignoreAuthErrorAbort: true, // An account may be pushed to the broker a moment later.
    timeout: CONNECT_TIMEOUT_MS,
    pingInterval: PING_INTERVAL_MS,
    noEcho: true,
    resolve: false, // The client's own resolver asks DNS servers and knows no /etc/hosts.
    noAsyncTraces: true,
    pendingLimit: BROKER_PAYLOAD_BYTES_MAX,
  };
  return tuned;
}

function reconnectDelayMs(state: LinkState): number {
  const delayMs = Math.min(RECONNECT_FIRST_MS * 2 ** state.attemptCount, RECONNECT_MAX_MS);
  state.attemptCount = Math.min(state.attemptCount + 1, 10);
  return delayMs;
}

// An error that left a callback would end the client's read loop without a word.
function subscribeAll(connection: NatsConnection, options: LinkOptions): void {
  for (const [subject, onDelivery] of Object.entries(options.subscriptions))
    connection.subscribe(subject, {
      callback: (error, message) => {
        try {
          if (error !== null) throw error;
          // Nothing of ours has headers and bytes. What the broker reads out of a bucket has, and instances could have it sent here.
          if (message.headers === undefined || message.data.length === 0) onDelivery(deliveryOf(message));
        } catch (cause) {
          options.onError("a message from the broker could not be handled", cause);
        }
      },
    });
}

function deliveryOf(message: Msg): Delivery {
  const bytes = message.data;
  return {
    subject: message.subject,
    bytes,
    // Every envelope has bytes, so that the headers of a status message are looked at only where there are none.
    isUndelivered: bytes.length === 0 && message.headers?.code === 503,
    respond: (answer) => void message.respond(answer),
  };
}

interface Following {
  readonly options: LinkOptions;
  readonly watch: SnapshotWatch | undefined;
}

async function followStatus(connection: NatsConnection, state: LinkState, following: Following): Promise<void> {
  const states = connection.status();
  goUp(connection, state, following);
  for await (const { type } of states) {
    if (state.closing.signal.aborted) return;
    if (type === "disconnect") goDown(state, following.options);
    if (type === "reconnect") goUp(connection, state, following);
  }
  goDown(state, following.options);
}

function goUp(connection: NatsConnection, state: LinkState, { options, watch }: Following): void {
  state.isUp = true;
  state.attemptCount = 0;
  state.isFailureTold = false;
  state.epoch = new AbortController();
  if (watch !== undefined) void watchAgainAndAgain(connection, watch, { options, signal: state.epoch.signal }); // Tells its failures itself.
  options.onUp?.();
}

function goDown(state: LinkState, options: LinkOptions): void {
  if (!state.isUp) return; // Being closed, or the second word about the same loss.
  state.isUp = false;
  state.epoch.abort();
  options.onDown?.();
}

// A watch ends when the bucket is not there yet. One that lost its broker is replaced at once when the link is up again:
// the client's own watch would notice a lost consumer only after ten seconds.
async function watchAgainAndAgain(
  connection: NatsConnection,
  watch: SnapshotWatch,
  { options, signal }: { options: LinkOptions; signal: AbortSignal },
): Promise<void> {
  let lastFailure = "";
  while (!signal.aborted) {
    try {
      await watchOnce(connection, watch, signal);
      lastFailure = "";
    } catch (cause) {
      const failure = cause instanceof Error ? cause.message : String(cause);
      if (failure !== lastFailure && !signal.aborted) options.onError("the snapshots cannot be watched", cause);
      lastFailure = failure;
    }
    await delay(REWATCH_DELAY_MS, signal);
  }
}

async function watchOnce(connection: NatsConnection, watch: SnapshotWatch, signal: AbortSignal): Promise<void> {
  const bucket = await connection.jetstream({ timeout: CONNECT_TIMEOUT_MS }).views.kv(watch.bucket, { bindOnly: true });
  const entries = await bucket.watch({ initializedFn: watch.onReady });
  const stop = (): void => entries.stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (signal.aborted) stop();
    for await (const entry of entries) watch.onValue(entry.key, entry.operation === "PUT" ? entry.string() : null);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

async function delay(delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, delayMs);
    signal.addEventListener("abort", done, { once: true });
  });
}

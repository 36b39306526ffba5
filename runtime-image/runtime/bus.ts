// The only file that knows the broker's client: connects, subscribes, and sends the messages of one event-loop turn in one write.
import { connect, type NatsConnection } from "nats";
import type { BrokerAccess } from "../contract/instance-manifest.ts";
import { signNonce } from "./nonce-signature.ts";

const RECONNECT_DELAY_MS = 100; // A broker that restarts is back within a second; instances should not be what takes longer.
const RECONNECT_JITTER_MS = 50;
const DIAL_TIMEOUT_MS = 5_000;
const PING_INTERVAL_MS = 20_000; // A connection that died without a word is noticed after two of these.
const HELD_BACK_COUNT_MAX = 1_024; // Messages kept while the broker is away; beyond these the oldest are of no use to anyone.

export interface Bus {
  /** The callback must not throw. */
  subscribe(subject: string, onMessage: (bytes: Uint8Array, replyTo: string) => void): BusSubscription;
  /** Leaves with everything else of this event-loop turn. While the broker is away it waits for it. */
  publish(subject: string, bytes: Uint8Array): void;
  /** Resolves when the broker has everything that was published before. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

export interface BusSubscription {
  /** Takes no more messages; resolves when those on their way were handed over. */
  drain(): Promise<void>;
}

/** Tries until it is connected or the time is over. From then on it reconnects for ever. */
export async function connectBus(access: BrokerAccess, options: { name: string; timeoutMs: number }): Promise<Bus> {
  const deadlineMs = performance.now() + options.timeoutMs;
  for (;;) {
    try {
      return createBus(await dial(access, options.name));
    } catch (cause) {
      if (performance.now() + RECONNECT_DELAY_MS > deadlineMs)
        throw new Error(`the broker at ${access.url} could not be reached`, { cause });
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_DELAY_MS));
    }
  }
}

function dial(access: BrokerAccess, name: string): Promise<NatsConnection> {
  return connect({
    servers: access.url,
    name,
    authenticator: (nonce) => ({ jwt: access.jwt, sig: signNonce(access.seed, nonce ?? "") }),
    timeout: DIAL_TIMEOUT_MS,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_DELAY_MS,
    reconnectJitter: RECONNECT_JITTER_MS,
    ignoreAuthErrorAbort: true, // A broker that just started may not know this account for a moment.
    ignoreClusterUpdates: true,
    pingInterval: PING_INTERVAL_MS,
    resolve: false, // The client's own resolver asks DNS servers and knows no /etc/hosts.
    noAsyncTraces: true,
  });
}

function createBus(connection: NatsConnection): Bus {
  let outgoing: { readonly subject: string; readonly bytes: Uint8Array }[] = [];
  let isScheduled = false;
  let isConnected = true;

  const sendAll = () => {
    isScheduled = false;
    if (!isConnected || connection.isClosed()) return trim();
    const sent = outgoing;
    outgoing = [];
    for (const { subject, bytes } of sent) connection.publish(subject, bytes);
  };
  const trim = () => {
    if (outgoing.length > HELD_BACK_COUNT_MAX) outgoing.splice(0, outgoing.length - HELD_BACK_COUNT_MAX);
  };
  const follow = async () => {
    for await (const status of connection.status()) {
      if (status.type === "disconnect") isConnected = false;
      if (status.type === "reconnect") {
        isConnected = true;
        sendAll();
      }
    }
  };
  void follow().catch(() => undefined); // Ends with the connection; there is nothing to fail at.

  return {
    subscribe(subject, onMessage) {
      const subscription = connection.subscribe(subject, {
        callback: (error, message) => {
          if (error === null) onMessage(message.data, message.reply ?? "");
        },
      });
      return { drain: () => subscription.drain().catch(() => undefined) }; // It only fails on a connection that is closed: nothing will come.
    },
    publish(subject, bytes) {
      outgoing.push({ subject, bytes });
      if (isScheduled) return;
      isScheduled = true;
      setImmediate(sendAll);
    },
    flush() {
      sendAll();
      return connection.flush();
    },
    close: () => connection.close(),
  };
}

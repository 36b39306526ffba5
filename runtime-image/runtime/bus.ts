// The only file that knows the broker's client: connects, subscribes, and sends the messages of one event-loop turn in one write.
import { connect, headers, type NatsConnection, type PublishOptions } from "nats";
import type { BrokerAccess } from "../contract/instance-manifest.ts";
import { answerIn, BusFailure, createQuestions, type Ask, type Questions } from "../store/questions.ts";
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
  /**
   * Asks the broker's own services: answers arrive below the prefix, which is this instance's alone. While the broker is away it waits
   * for it, no longer than the question's timeout, and asks nothing in the end.
   */
  asker(answersTo: string): Ask;
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

interface Outgoing {
  readonly subject: string;
  readonly bytes: Uint8Array;
  readonly options: PublishOptions | undefined; // Of a question. Undefined for what waits for the broker while it is away.
}

function createBus(connection: NatsConnection): Bus {
  let outgoing: Outgoing[] = [];
  let isScheduled = false;
  let isConnected = true;
  let untilConnected = Promise.withResolvers<void>();
  const questions = createQuestions();

  const sendAll = () => {
    isScheduled = false;
    if (!isConnected || connection.isClosed()) return trim();
    const sent = outgoing;
    outgoing = [];
    for (const { subject, bytes, options } of sent) connection.publish(subject, bytes, options);
  };
  const send = (message: Outgoing) => {
    outgoing.push(message);
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(sendAll);
  };
  const trim = () => {
    if (outgoing.length > HELD_BACK_COUNT_MAX) outgoing.splice(0, outgoing.length - HELD_BACK_COUNT_MAX);
  };
  const lose = () => {
    isConnected = false;
    untilConnected = Promise.withResolvers();
    outgoing = outgoing.filter(({ options }) => options === undefined); // Whoever asked is told now; it must not be carried out later.
    questions.loseAll();
  };
  const waitForBroker = async (timeoutMs: number) => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, timeoutMs)));
    await Promise.race([untilConnected.promise, late]);
    clearTimeout(timer);
    if (!isConnected) throw new BusFailure("unsent", "the broker is away");
  };
  const follow = async () => {
    for await (const status of connection.status()) {
      if (status.type === "disconnect") lose();
      if (status.type === "reconnect") {
        isConnected = true;
        untilConnected.resolve();
        sendAll();
      }
    }
  };
  void follow().catch(() => undefined); // Ends with the connection; there is nothing to fail at.

  return {
    subscribe(subject, onMessage) {
      const subscription = connection.subscribe(subject, {
        callback: (error, message) => {
          if (error === null) onMessage(message.data, message.reply ?? ""); // What the broker itself sends has no reply subject.
        },
      });
      return { drain: () => subscription.drain().catch(() => undefined) }; // It only fails on a connection that is closed: nothing will come.
    },
    publish(subject, bytes) {
      send({ subject, bytes, options: undefined });
    },
    asker(answersTo) {
      let isListening = false;
      return async ({ subject, bytes, timeoutMs, headers: named }) => {
        if (!isConnected) await waitForBroker(timeoutMs);
        if (!isListening) listenForAnswers(connection, answersTo, questions);
        isListening = true;
        const { sequence, answer } = questions.open(timeoutMs);
        const reply = `${answersTo}${sequence}`;
        send({ subject, bytes, options: named === undefined ? { reply } : { reply, headers: headersOf(named) } });
        return answer;
      };
    },
    flush() {
      sendAll();
      return connection.flush();
    },
    close: () => connection.close(),
  };
}

/** One subscription for all questions; the last token says which one is answered. */
function listenForAnswers(connection: NatsConnection, answersTo: string, questions: Questions): void {
  connection.subscribe(`${answersTo}*`, {
    callback: (error, message) => {
      if (error === null) questions.settle(message.subject.slice(answersTo.length), answerIn(message));
    },
  });
}

function headersOf(named: Readonly<Record<string, string>>): ReturnType<typeof headers> {
  const made = headers();
  for (const [name, value] of Object.entries(named)) made.set(name, value);
  return made;
}

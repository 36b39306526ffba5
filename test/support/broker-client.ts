// A bare client with someone's credentials, that shows what the broker lets it do. Attack tests speak through it.
import { connect, jwtAuthenticator, type Msg, type NatsConnection } from "nats";
import type { Credentials } from "../../orchestrator/nats/accounts.ts";

export interface BareClient {
  readonly nats: NatsConnection;
  readonly errors: readonly string[]; // What the broker complained about.
  /** Everything that arrives on a subject, as "subject text". In effect when this resolves. */
  hear(subject: string): Promise<string[]>;
  /** Whether the broker refused. */
  isSubscribeRefused(subject: string): Promise<boolean>;
  isPublishRefused(subject: string, options?: { readonly reply?: string; readonly body?: string | Uint8Array }): Promise<boolean>;
  /** Publishes, and returns when the broker has it. */
  send(subject: string, body: string | Uint8Array, reply?: string): Promise<void>;
  close(): Promise<void>;
}

export async function connectBare(url: string, credentials: Credentials): Promise<BareClient> {
  const nats = await connect({
    servers: url,
    authenticator: jwtAuthenticator(credentials.jwt, new TextEncoder().encode(credentials.seed)),
    reconnect: false,
    timeout: 5_000,
    noAsyncTraces: true,
  });
  const refusedSubjects: string[] = [];
  const errors: string[] = [];
  void (async () => {
    for await (const { type, data, permissionContext } of nats.status()) {
      if (permissionContext !== undefined) refusedSubjects.push(permissionContext.subject);
      if (type === "error") errors.push(JSON.stringify(data));
    }
  })();
  const send = async (subject: string, body: string | Uint8Array, reply?: string): Promise<void> => {
    nats.publish(subject, body, reply === undefined ? {} : { reply });
    await nats.flush();
  };
  return {
    nats,
    errors,
    send,
    hear: async (subject) => {
      const heard: string[] = [];
      nats.subscribe(subject, {
        callback: (error, message: Msg) => void (error === null && heard.push(`${message.subject} ${message.string()}`)),
      });
      await nats.flush();
      return heard;
    },
    isSubscribeRefused: async (subject) => {
      let isRefused = false;
      const subscription = nats.subscribe(subject, { callback: (error) => void (isRefused ||= error !== null) });
      await nats.flush(); // The refusal comes before the answer to the ping that this sends.
      await nats.flush();
      subscription.unsubscribe();
      return isRefused;
    },
    isPublishRefused: async (subject, { reply, body = "attack" } = {}) => {
      const before = refusedSubjects.length;
      await send(subject, body, reply);
      await nats.flush();
      return refusedSubjects.slice(before).includes(subject);
    },
    close: () => nats.close(),
  };
}

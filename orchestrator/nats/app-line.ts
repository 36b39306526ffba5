// The control plane's line into the account of one app and environment: makes and removes its buckets, hears of instances' lives, asks how they are.
import { randomBytes } from "node:crypto";
import type { InstanceEvent, Pong } from "../../runtime-image/contract/instance-events.ts";
import { answerSubject, EVERY_EVENT, pingSubject, senderOf } from "../../runtime-image/contract/subjects.ts";
import type { BrokerConnection, Received } from "./connection.ts";
import { dropStores, ensureStores, type StoreState } from "./stores.ts";

export interface AppLine {
  /** Makes the buckets of sessions and documents, or brings old ones up to date. */
  ensureStores(state: StoreState): Promise<void>;
  /** Removes them, with everything in them. */
  dropStores(): Promise<void>;
  onInstanceEvent(onEvent: (event: InstanceEvent) => void): Promise<() => void>;
  ping(instanceId: string, options: { readonly timeoutMs: number }): Promise<Pong | null>;
  close(): Promise<void>;
}

export function createAppLine(connection: BrokerConnection): AppLine {
  const receiverId = `control${randomBytes(6).toString("hex")}`;
  let pingCount = 0;
  return {
    ensureStores: (state) => ensureStores(connection, state),
    dropStores: () => dropStores(connection),
    onInstanceEvent: (onEvent) =>
      connection.subscribe(EVERY_EVENT, (message) => {
        const event = instanceEventIn(message);
        if (event !== null) onEvent(event);
      }),
    ping: (instanceId, { timeoutMs }) =>
      connection.ask({
        subject: pingSubject(instanceId),
        answerOn: answerSubject({ instanceId, receiverId, sequence: String((pingCount += 1)) }),
        timeoutMs,
        read: pongIn,
      }),
    close: () => connection.close(),
  };
}

/** The broker vouches for the subject; what the message says of itself has to agree. Null for anything else. */
export function instanceEventIn(message: Received): InstanceEvent | null {
  const event = recordIn(message);
  if (event === null || event["instanceId"] !== senderOf(message.subject)) return null;
  const instanceId = event["instanceId"];
  const { kind, loadMs, code, message: text, stack, reason } = event;
  if (kind === "ready" && typeof loadMs === "number") return { kind, instanceId, loadMs };
  if (kind === "retiring" && typeof reason === "string") return { kind, instanceId, reason };
  const isKnownCode = code === "HANDLER_MISSING" || code === "HANDLER_LOAD_FAILED";
  if (kind === "failed" && isKnownCode && typeof text === "string" && typeof stack === "string")
    return { kind, instanceId, code, message: text, stack };
  return null;
}

export function pongIn(message: Received): Pong | null {
  const pong = recordIn(message);
  if (pong === null || pong["instanceId"] !== senderOf(message.subject)) return null;
  const { state, requestCount } = pong;
  const isKnownState = state === "starting" || state === "ready" || state === "retiring";
  return isKnownState && typeof requestCount === "number" ? { instanceId: pong["instanceId"], state, requestCount } : null;
}

/** Instances run foreign code, so nothing about their messages is taken for granted. */
function recordIn(message: Received): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(message.bytes).toString("utf8"));
    return typeof value === "object" && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}

// Reads and writes sessions: one JSON object per visitor in the environment's store, named by a signed cookie.
import { SESSION_BYTES_MAX, SESSION_IDLE_MS, SESSION_RENEW_INTERVAL_MS } from "../contract/limits.ts";
import { bridge, RevisionConflict, type StoredValue } from "./bridge.ts";
import { cookiesOf } from "./event.ts";
import { describe, isFields, type Fields } from "./fields.ts";
import { ensureSessionId, renewSessionId, requestState } from "./request-state.ts";
import { sessionCookieOf, sessionIdIn, storeKeyOf } from "./session-id.ts";

interface Stored {
  readonly v: 1;
  readonly expiresEpochMs: number;
  readonly session: Fields;
}

/** {} for a visitor without a session: no cookie, a forged one, or one whose session has expired. Those never reach the store. */
export async function readSession(event: unknown): Promise<Fields> {
  const id = isFields(event) ? sessionIdIn(cookiesOf(event)) : null;
  if (id === null) return {};
  const key = storeKeyOf(id);
  const value = await bridge().store.get("sessions", key);
  const stored = value === null ? null : decode(value.bytes);
  const nowMs = Date.now();
  if (value === null || stored === null || stored.expiresEpochMs <= nowMs) return {};
  if (stored.expiresEpochMs - nowMs < SESSION_IDLE_MS - SESSION_RENEW_INTERVAL_MS) await renew(key, value, stored.session);
  return stored.session;
}

/** Replaces the visitor's session, and resolves with the value of the Set-Cookie header that names it. An empty one clears it. */
export async function writeSession(session: unknown): Promise<string> {
  if (!isFields(session)) throw new TypeError(`session should be an object, got ${describe(session)}`);
  const state = requestState();
  const bytes = encode(session);
  if (isEmpty(session)) {
    if (state.sessionId !== null) await bridge().store.remove("sessions", storeKeyOf(state.sessionId));
    return sessionCookieOf(renewSessionId(state)); // What was bound to the old id, csrf tokens for instance, ends with it.
  }
  const id = ensureSessionId(state);
  await bridge().store.put("sessions", storeKeyOf(id), bytes);
  return sessionCookieOf(id);
}

const isEmpty = (session: Fields): boolean => Object.values(session).every((value) => value === undefined);

/**
 * At most once a day, so that reading stays reading. A write that comes first has renewed it as well. Where the store is full the session
 * lasts as long as it does: the next visit may find room.
 */
async function renew(key: string, value: StoredValue, session: Fields): Promise<void> {
  try {
    await bridge().store.put("sessions", key, encode(session), { expectedRevision: value.revision });
  } catch (thrown) {
    const isFull = thrown instanceof Error && "code" in thrown && thrown.code === "STORE_FULL";
    if (!isFull && !(thrown instanceof RevisionConflict)) throw thrown;
  }
}

function encode(session: Fields): Uint8Array {
  const json = JSON.stringify(session);
  const sessionBytes = Buffer.byteLength(json);
  if (sessionBytes > SESSION_BYTES_MAX)
    throw new RangeError(`session is larger than ${SESSION_BYTES_MAX / 1000} KB: it has ${sessionBytes} bytes as JSON`);
  return Buffer.from(`{"v":1,"expiresEpochMs":${Date.now() + SESSION_IDLE_MS},"session":${json}}`);
}

function decode(bytes: Uint8Array): Stored | null {
  const value: unknown = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
  if (!isFields(value) || typeof value["expiresEpochMs"] !== "number" || !isFields(value["session"])) return null;
  return { v: 1, expiresEpochMs: value["expiresEpochMs"], session: value["session"] };
}

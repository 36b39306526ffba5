// Tokens against forged forms: <data>.<expiry>.<signature>, where the signature covers both and the visitor's session.
import { randomBytes } from "node:crypto";
import { CSRF_LIFETIME_MS } from "../contract/limits.ts";
import { ensureSessionId, requestState } from "./request-state.ts";
import { isSame, sign } from "./session-id.ts";

// A handler without wrapper cannot be given a cookie to send: tokens of visitors without a session are bound to having none.
const NO_SESSION = "-";

/** The second argument, epoch milliseconds, is when it expires. */
export function createCsrfToken(data?: unknown, expiresEpochMs?: unknown): string {
  const state = requestState();
  const sessionId = state.canSendCookie ? ensureSessionId(state) : state.sessionId;
  return tokenOf({ data, expiresEpochMs, sessionId });
}

export function tokenOf(parts: { data?: unknown; expiresEpochMs?: unknown; sessionId: string | null }): string {
  const data = parts.data === undefined || parts.data === null ? randomBytes(16).toString("hex") : textOf(parts.data);
  const given = Number(parts.expiresEpochMs ?? Number.NaN);
  const expiresEpochMs = Number.isFinite(given) ? Math.floor(given) : Date.now() + CSRF_LIFETIME_MS;
  return `${data}.${expiresEpochMs}.${signatureOf({ data, expiresEpochMs, sessionId: parts.sessionId }).toString("hex")}`;
}

const textOf = (data: unknown): string =>
  typeof data === "string" ? data : Buffer.isBuffer(data) ? data.toString("hex") : JSON.stringify(data);

/** False for anything that this environment did not sign for this visitor's session, or whose time is over. Never throws. */
export const verifyCsrfToken = (token: unknown): boolean => isTokenOf(requestState().sessionId, token);

export function isTokenOf(sessionId: string | null, token: unknown): boolean {
  if (typeof token !== "string") return false;
  const [, data, expiry, signature] = /^(.*)\.(\d{1,16})\.([0-9a-f]{64})$/s.exec(token) ?? [];
  if (data === undefined || expiry === undefined || signature === undefined) return false;
  const expiresEpochMs = Number(expiry);
  if (Date.now() >= expiresEpochMs) return false;
  return isSame(signatureOf({ data, expiresEpochMs, sessionId }), Buffer.from(signature, "hex"));
}

function signatureOf(parts: { data: string; expiresEpochMs: number; sessionId: string | null }): Buffer {
  return sign("csrf token", `${parts.sessionId ?? NO_SESSION}\n${parts.expiresEpochMs}\n${parts.data}`);
}

// Session ids and what is derived from them: the signed cookie, the place in the store, the secret. Nothing here is stored.
import { createHash, createHmac, createSecretKey, randomBytes, timingSafeEqual, type KeyObject } from "node:crypto";
import { bridge } from "./bridge.ts";

const ID_BYTES = 18; // 144 bits, which base64url writes without padding.
const SIGNED = /^([\w-]{24})\.([\w-]{43})$/;
// Browsers keep no cookie longer than 400 days (RFC 6265bis 5.5); when a session ends, the store decides.
const COOKIE_MAX_AGE_S = 34_560_000;

export const newSessionId = (): string => randomBytes(ID_BYTES).toString("base64url");

/** A key derived from the secret of this app and environment signs each purpose apart from all others. */
export const sign = (purpose: string, text: string): Buffer => createHmac("sha256", keyFor(purpose)).update(text).digest();

const keys = new Map<string, { readonly secret: string; readonly key: KeyObject }>(); // By purpose. Making one takes ten times as long as signing with it.

function keyFor(purpose: string): KeyObject {
  const { secret } = bridge();
  const known = keys.get(purpose);
  if (known?.secret === secret) return known.key;
  const key = createSecretKey(createHmac("sha256", Buffer.from(secret, "hex")).update(purpose).digest());
  keys.set(purpose, { secret, key });
  return key;
}

export function isSame(expected: Uint8Array, given: Uint8Array): boolean {
  return expected.length === given.length && timingSafeEqual(expected, given);
}

export const cookieValueOf = (id: string): string => `${id}.${sign("session cookie", id).toString("base64url")}`;

/** The id that a cookie header carries; null where it has none, or one that this environment did not sign. The last "_idx" counts. */
export function sessionIdIn(cookieHeader: string): string | null {
  const start = Math.max(cookieHeader.lastIndexOf(";_idx="), cookieHeader.lastIndexOf(" _idx="));
  const valueStart = start >= 0 ? start + 6 : cookieHeader.startsWith("_idx=") ? 5 : -1;
  if (valueStart < 0) return null;
  const value = cookieHeader.slice(valueStart).split(";", 1)[0]?.trim() ?? "";
  const [, id, signature] = SIGNED.exec(value) ?? [];
  if (id === undefined || signature === undefined) return null;
  return isSame(sign("session cookie", id), Buffer.from(signature, "base64url")) ? id : null;
}

/** The whole Set-Cookie value. */
export function sessionCookieOf(id: string): string {
  const isSecure = bridge().currentRequest()?.scheme === "https";
  return `_idx=${cookieValueOf(id)}; Max-Age=${COOKIE_MAX_AGE_S}; Path=/; HttpOnly; SameSite=Lax${isSecure ? "; Secure" : ""}`;
}

/** What "_secret" in the requests of JSON and HTML routes holds. */
export const secretOf = (id: string): string => sign("session secret", id).toString("base64url");

/** Whoever can read the store learns no id from its keys. */
export const storeKeyOf = (id: string): string => createHash("sha256").update(id).digest("hex");

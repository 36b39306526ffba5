// Encrypts the value of one environment variable, bound to its name, app and environment: moved elsewhere it is worth nothing.
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";

export interface SealedValue {
  readonly nonce: string; // Base64.
  readonly sealed: string; // Base64: what it is encrypted to, and the tag behind it.
}

/** What a value belongs to; it is not part of what is kept, and must be the same when the value is opened. */
export interface ValuePlace {
  readonly appId: string;
  readonly environment: Environment;
  readonly name: string;
}

const ALGORITHM = "aes-256-gcm";
const NONCE_BYTES = 12; // NIST SP 800-38D 8.2.2: random ones of this size are safe for 2^32 values under one key.
const TAG_BYTES = 16;

export function sealValue(value: string, key: Uint8Array, place: ValuePlace): SealedValue {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(bytesOf(place));
  const sealed = Buffer.concat([cipher.update(value, "utf8"), cipher.final(), cipher.getAuthTag()]);
  return { nonce: nonce.toString("base64"), sealed: sealed.toString("base64") };
}

/** Null where it was sealed with another key or for another place, or was altered. */
export function openValue({ nonce, sealed }: SealedValue, key: Uint8Array, place: ValuePlace): string | null {
  const nonceBytes = Buffer.from(nonce, "base64");
  const bytes = Buffer.from(sealed, "base64");
  if (nonceBytes.length !== NONCE_BYTES || bytes.length < TAG_BYTES) return null;
  const decipher = createDecipheriv(ALGORITHM, key, nonceBytes, { authTagLength: TAG_BYTES }).setAAD(bytesOf(place));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()]).toString("utf8");
  } catch {
    return null; // The tag does not fit: nothing more is known, and nothing more should be said.
  }
}

const bytesOf = ({ appId, environment, name }: ValuePlace): Buffer =>
  Buffer.from(JSON.stringify(["orchestrator variable v1", appId, environment, name]));

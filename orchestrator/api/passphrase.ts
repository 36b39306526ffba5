// How a passphrase travels to the management API: in a header of its own, which no log, no URL and no audit entry keeps.
import type { IncomingHttpHeaders } from "node:http";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { PASSPHRASE_BYTES_MAX, PASSPHRASE_LENGTH_MIN } from "../../runtime-image/contract/limits.ts";

export const PASSPHRASE_HEADER = "x-orchestrator-passphrase";

/** Base64 of UTF-8: a header holds no other text. */
export const passphraseHeaders = (passphrase: string): Readonly<Record<string, string>> => ({
  [PASSPHRASE_HEADER]: Buffer.from(passphrase, "utf8").toString("base64"),
});

/** Null where there is none. What is wrong with it is told without saying it. */
export function passphraseIn(headers: IncomingHttpHeaders): string | null {
  const value = headers[PASSPHRASE_HEADER];
  if (value === undefined) return null;
  const passphrase = decoded(value);
  const problem = passphrase === null ? "should be base64 of UTF-8 text" : passphraseProblem(passphrase);
  if (problem !== null) throw new PlatformError("API_INPUT_INVALID", { problems: [`${PASSPHRASE_HEADER}: ${problem}`] });
  return passphrase;
}

/** As the end of a sentence; null where it is fine. */
export function passphraseProblem(passphrase: string): string | null {
  if (Buffer.byteLength(passphrase) > PASSPHRASE_BYTES_MAX) return `should have at most ${PASSPHRASE_BYTES_MAX} bytes`;
  if (passphrase.length < PASSPHRASE_LENGTH_MIN) return `should have at least ${PASSPHRASE_LENGTH_MIN} characters`;
  return /[\r\n\0]/.test(passphrase) ? "should be one line" : null;
}

function decoded(value: string | string[]): string | null {
  if (typeof value !== "string" || !/^[A-Za-z0-9+/]+={0,2}$/.test(value)) return null;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(value, "base64"));
  } catch {
    return null;
  }
}

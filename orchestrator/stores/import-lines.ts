// Reads lines of newline-delimited JSON as documents, and says of each bad one what is wrong with it. Pure.
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import type { EncodedDocument } from "../../runtime-image/contract/documents.ts";
import { IMPORT_LINE_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { encodedAt, placeOf } from "./documents.ts";
import type { Line } from "./lines.ts";

export type ReadLine =
  | { readonly kind: "document"; readonly encoded: EncodedDocument }
  | { readonly kind: "empty" } // Nothing but spaces: passed over.
  | { readonly kind: "bad"; readonly problem: string };

const MARK = "\uFEFF"; // Some editors begin a file with it.
const DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function readLine({ number, bytes, isTooLong }: Line): ReadLine {
  if (isTooLong) return bad(`is longer than ${IMPORT_LINE_BYTES_MAX} bytes`);
  let text: string;
  try {
    text = DECODER.decode(bytes);
  } catch {
    return bad("is no UTF-8");
  }
  if (number === 1 && text.startsWith(MARK)) text = text.slice(MARK.length);
  if (text.trim() === "") return { kind: "empty" };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    return bad(`is no JSON: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return bad("is no JSON object");
  const attributes: Readonly<Record<string, unknown>> = { ...value };
  try {
    return { kind: "document", encoded: encodedAt(placeOf(attributes["table"], attributes["key"]), attributes) };
  } catch (cause) {
    if (!(cause instanceof PlatformError)) throw cause;
    return bad(cause.detail.detail ?? cause.message);
  }
}

const bad = (problem: string): ReadLine => ({ kind: "bad", problem });

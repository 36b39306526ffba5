// Where a key of the store lies: its subject, and the filters that find everything below a prefix.
import type { BucketName } from "../library/bridge.ts";
import { storePrefix } from "../contract/subjects.ts";

/**
 * A document's key is "<table>.<key>", both hex. The digits of the key become tokens of their own, closed by END: so the broker can
 * count and list any range of keys with a common beginning, without looking at the rest of a table.
 */
const END = "-";
const DOCUMENT_KEY = /^[0-9a-f]+\.[0-9a-f]+$/;
const PLAIN_KEY = /^[\w-]+(?:\.[\w-]+)*$/;

export function subjectOf(bucket: BucketName, key: string): string {
  if (bucket === "sessions") {
    if (!PLAIN_KEY.test(key)) throw new Error(`a key of the bucket "sessions" has tokens of letters and digits, got "${key}"`);
    return storePrefix(bucket) + key;
  }
  if (!DOCUMENT_KEY.test(key)) throw new Error(`a key of the bucket "data" has two tokens of hex digits, got "${key}"`);
  const [table = "", digits = ""] = key.split(".");
  return `${storePrefix(bucket)}${table}.${spread(digits)}.${END}`;
}

export function keyOf(bucket: BucketName, subject: string): string {
  const place = subject.slice(storePrefix(bucket).length);
  if (bucket === "sessions") return place;
  const tableEnd = place.indexOf(".");
  return `${place.slice(0, tableEnd)}.${place.slice(tableEnd + 1, -END.length).replaceAll(".", "")}`;
}

/** Everything below whole tokens: "", or tokens with a dot after each. */
export function filterBelow(bucket: BucketName, prefix: string): string {
  if (prefix !== "" && (!prefix.endsWith(".") || !PLAIN_KEY.test(prefix.slice(0, -1))))
    throw new Error(`a prefix is made of whole tokens, got "${prefix}"`);
  return `${storePrefix(bucket)}${prefix}>`;
}

/** The table that a prefix names, as hex; null where it names none, and only a listing of everything helps. */
export const tableOf = (bucket: BucketName, prefix: string): string | null =>
  bucket === "data" && /^[0-9a-f]+\.$/.test(prefix) ? prefix.slice(0, -1) : null;

/** Every document of a table whose key begins with these digits. */
export const filterBeginning = (table: string, digits: string): string =>
  `${storePrefix("data")}${table}.${digits === "" ? "" : `${spread(digits)}.`}>`;

export const spread = (digits: string): string => digits.split("").join(".");

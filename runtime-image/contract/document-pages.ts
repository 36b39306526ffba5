// Where a page of a table begins and ends: limits, beginnings of keys, and cursors that say where to go on.
import { hexOf, isMissing, nameOf, tablePrefix } from "./document-names.ts";
import { DOCUMENT_PAGE_COUNT, DOCUMENT_PAGE_COUNT_MAX } from "./limits.ts";

export interface PageRange {
  readonly prefix: string; // Of every key of the table in the store,
  readonly beginning: string; // and of those that the page is made of.
  readonly after: string | null; // The text to start after: the cursor's key, or what comes just before the first that begins as it should.
}

export function rangeOfPage({
  table,
  begin,
  cursor,
}: {
  readonly table: string;
  readonly begin: unknown;
  readonly cursor: unknown;
}): PageRange {
  const prefix = tablePrefix(table);
  const beginning = prefix + hexOf(beginOf(begin));
  const first = beginning === prefix ? null : justBefore(beginning);
  if (isMissing(cursor)) return { prefix, beginning, after: first };
  const after = prefix + hexOf(keyInCursor(cursor, table));
  return { prefix, beginning, after: first === null || after > first ? after : first };
}

export function limitOf(value: unknown): number {
  if (isMissing(value)) return DOCUMENT_PAGE_COUNT;
  const limit = Number(value);
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new Error(`Invalid limit; expected a whole number from 1, received ${String(value)}`);
  return Math.min(limit, DOCUMENT_PAGE_COUNT_MAX);
}

export const cursorAfter = (table: string, keyHex: string): string =>
  Buffer.from(JSON.stringify({ table, key: nameOf(keyHex) })).toString("base64");

function beginOf(value: unknown): string {
  if (isMissing(value)) return "";
  if (typeof value === "number") return String(value);
  if (typeof value !== "string" || !value.isWellFormed()) throw new Error("Invalid begin; expected the beginning of a key");
  return value;
}

/** Hex digits and the characters before "0" and "a" sort below everything that begins with the digit they stand for. */
const justBefore = (text: string): string => `${text.slice(0, -1)}${String.fromCharCode(text.charCodeAt(text.length - 1) - 1)}~`;

function keyInCursor(cursor: unknown, table: string): string {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(String(cursor), "base64").toString("utf8"));
  } catch {
    value = null;
  }
  const { table: cursorTable, key } = (value ?? {}) as { table?: unknown; key?: unknown }; // Checked on the next line.
  if (cursorTable !== table || typeof key !== "string") throw new Error(`Invalid cursor; expected one that came with a page of ${table}`);
  return key;
}

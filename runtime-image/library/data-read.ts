// Reads documents: one, some, or a page of a table in the order of keys.
import {
  DOCUMENT_PAGE_BYTES_MAX,
  DOCUMENT_PAGE_COUNT,
  DOCUMENT_PAGE_COUNT_MAX,
  DOCUMENT_READ_BATCH_COUNT_MAX,
  DOCUMENT_READS_IN_FLIGHT_MAX,
} from "../contract/limits.ts";
import { bridge } from "./bridge.ts";
import { decodeDocument, isExpired, type Document } from "./data-document.ts";
import { checkTable, hexOf, isMissing, nameOf, placeToRead, storeKeyOf, tablePrefix, type DocumentPlace } from "./data-names.ts";

const LISTED_COUNT_MAX = 1_000; // Keys that are listed before their documents are read.

/** Documents of one table. With a cursor where there are more. */
export type Page = Document[] & { cursor?: string };

export interface PageParams {
  readonly table?: unknown;
  readonly limit?: unknown;
  readonly cursor?: unknown;
  readonly begin?: unknown;
}

export const readOne = async (place: DocumentPlace): Promise<Document | null> => (await readStored(storeKeyOf(place)))?.document ?? null;

/** In the order that was asked for, without those that are not there. */
export async function readSome(items: readonly unknown[]): Promise<Document[]> {
  const isWhole = (item: unknown): item is { table: unknown; key: unknown } =>
    typeof item === "object" && item !== null && "table" in item && "key" in item && !isMissing(item.table) && !isMissing(item.key);
  if (!items.every(isWhole)) throw new Error("Invalid params: all items must have table and key");
  if (items.length > DOCUMENT_READ_BATCH_COUNT_MAX)
    throw new Error(`Batch too large; max ${DOCUMENT_READ_BATCH_COUNT_MAX}, received ${items.length}`);
  return readPlaces(items.map(placeToRead));
}

export async function readPage(params: PageParams): Promise<Page> {
  const table = checkTable(params.table);
  const limit = limitOf(params.limit);
  const prefix = tablePrefix(table);
  const beginning = prefix + hexOf(beginOf(params.begin));
  const page: Page = [];
  let after = startOf({ table, prefix, beginning, cursor: params.cursor });
  let bytesLeft = DOCUMENT_PAGE_BYTES_MAX;
  for (;;) {
    const asked = Math.min(limit - page.length, LISTED_COUNT_MAX);
    const listed = await bridge().store.list("data", { prefix, after, limit: asked + 1 });
    const keys = listed.filter((key) => key.startsWith(beginning));
    const taken = keys.slice(0, asked);
    let readCount = 0;
    while (readCount < taken.length && bytesLeft > 0) {
      const part = taken.slice(readCount, readCount + DOCUMENT_READS_IN_FLIGHT_MAX);
      const found = await Promise.all(part.map((key) => readStored(key)));
      for (const stored of found.filter((one) => one !== null)) {
        page.push(stored.document);
        bytesLeft -= stored.bytesCount;
      }
      readCount += part.length;
    }
    if (readCount === keys.length) return page;
    after = taken[readCount - 1] ?? after;
    if (page.length >= limit || bytesLeft <= 0) return Object.assign(page, { cursor: cursorOf(table, after?.slice(prefix.length) ?? "") });
  }
}

async function readPlaces(places: readonly (DocumentPlace | null)[]): Promise<Document[]> {
  const found: (Document | null)[] = [];
  for (let start = 0; start < places.length; start += DOCUMENT_READS_IN_FLIGHT_MAX) {
    const part = places.slice(start, start + DOCUMENT_READS_IN_FLIGHT_MAX);
    found.push(...(await Promise.all(part.map((place) => (place === null ? null : readOne(place))))));
  }
  return found.filter((document) => document !== null);
}

async function readStored(key: string): Promise<{ readonly document: Document; readonly bytesCount: number } | null> {
  const found = await bridge().store.get("data", key);
  if (found === null) return null;
  const document = decodeDocument(found);
  if (!isExpired(document)) return { document, bytesCount: found.bytes.length };
  await removeExpired(key, found.revision);
  return null;
}

/** Whoever meets an expired document clears it away; what took its place meanwhile stays. Reading does not fail where that fails. */
const removeExpired = (key: string, revision: number): Promise<void> =>
  bridge()
    .store.remove("data", key, { expectedRevision: revision })
    .catch(() => undefined);

function limitOf(value: unknown): number {
  if (isMissing(value)) return DOCUMENT_PAGE_COUNT;
  const limit = Number(value);
  if (!Number.isSafeInteger(limit) || limit < 1)
    throw new Error(`Invalid limit; expected a whole number from 1, received ${String(value)}`);
  return Math.min(limit, DOCUMENT_PAGE_COUNT_MAX);
}

function beginOf(value: unknown): string {
  if (isMissing(value)) return "";
  if (typeof value === "number") return String(value);
  if (typeof value !== "string" || !value.isWellFormed()) throw new Error("Invalid begin; expected the beginning of a key");
  return value;
}

interface Start {
  readonly table: string;
  readonly prefix: string;
  readonly beginning: string;
  readonly cursor: unknown;
}

/** The key to start after: the cursor's, or the text just before the first that begins as it should. */
function startOf({ table, prefix, beginning, cursor }: Start): string | null {
  const first = beginning === prefix ? null : justBefore(beginning);
  if (isMissing(cursor)) return first;
  const after = prefix + hexOf(keyInCursor(cursor, table));
  return first === null || after > first ? after : first;
}

/** Hex digits and the characters before "0" and "a" sort below everything that begins with the digit they stand for. */
const justBefore = (text: string): string => `${text.slice(0, -1)}${String.fromCharCode(text.charCodeAt(text.length - 1) - 1)}~`;

const cursorOf = (table: string, keyHex: string): string => Buffer.from(JSON.stringify({ table, key: nameOf(keyHex) })).toString("base64");

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

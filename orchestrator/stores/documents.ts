// Reads and writes single documents and pages of them, for their owner, by the rules that functions are held to.
import { checkKey, checkTable, storeKeyOf, tablePrefix, nameOf, type DocumentPlace } from "../../runtime-image/contract/document-names.ts";
import { cursorAfter, limitOf, rangeOfPage } from "../../runtime-image/contract/document-pages.ts";
import { encodeAt, expiryOf, isExpired, type Document, type EncodedDocument } from "../../runtime-image/contract/documents.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { DOCUMENT_PAGE_BYTES_MAX, DOCUMENT_READS_IN_FLIGHT_MAX } from "../../runtime-image/contract/limits.ts";
import { RevisionConflict, type Store } from "../../runtime-image/library/bridge.ts";

const LISTED_COUNT = 1_000; // Keys that are listed at once.

export interface FoundDocument {
  readonly document: Document;
  readonly revision: number;
}

/** Functions can reach the bucket past the library, so what lies there may be anything: null for what is no document. */
export function documentIn(place: DocumentPlace, bytes: Uint8Array): Document | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value, ...place } : null;
  } catch {
    return null;
  }
}

/** What a caller names, checked; the messages are those that functions get. */
export const placeOf = (table: unknown, key: unknown): DocumentPlace => checked(() => ({ table: checkTable(table), key: checkKey(key) }));
export const tableOf = (table: unknown): string => checked(() => checkTable(table));
export const encodedAt = (place: DocumentPlace, attributes: Readonly<Record<string, unknown>>): EncodedDocument =>
  checked(() => encodeAt(place, attributes));

export async function readDocument(store: Store, place: DocumentPlace): Promise<FoundDocument | null> {
  const found = await store.get("data", storeKeyOf(place));
  if (found === null) return null;
  const document = documentIn(place, found.bytes);
  if (document === null)
    throw new PlatformError("DOCUMENT_INVALID", { detail: "What lies there was not written by the library and is no JSON object." });
  return isExpired(document) ? null : { document, revision: found.revision };
}

/** The new revision. `expectedRevision` 0: only where there is none. */
export async function writeDocument(store: Store, { place, bytes, document }: EncodedDocument, expectedRevision?: number): Promise<number> {
  const expected = expectedRevision === undefined ? {} : { expectedRevision };
  try {
    return await store.put("data", storeKeyOf(place), bytes, { ...expected, ...expiryOf(document) });
  } catch (cause) {
    if (!(cause instanceof RevisionConflict)) throw cause;
    throw new PlatformError("DOCUMENT_CHANGED", { detail: `It is not at revision ${expectedRevision} (0: not there).` }, { cause });
  }
}

/** Which of them were there. */
export async function removeDocuments(store: Store, places: readonly DocumentPlace[]): Promise<DocumentPlace[]> {
  const removed: DocumentPlace[] = [];
  for (const place of places) {
    const found = await store.get("data", storeKeyOf(place));
    if (found === null) continue;
    await store.remove("data", storeKeyOf(place));
    removed.push(place);
  }
  return removed;
}

export interface DocumentPage {
  readonly documents: readonly Document[];
  readonly cursor?: string; // Where there may be more.
}

export interface PageQuestion {
  readonly table: string;
  readonly begin?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export async function readPage(store: Store, { table, begin, limit, cursor }: PageQuestion): Promise<DocumentPage> {
  const range = checked(() => rangeOfPage({ table: checkTable(table), begin, cursor }));
  const countMax = checked(() => limitOf(limit));
  const documents: Document[] = [];
  let bytesLeft = DOCUMENT_PAGE_BYTES_MAX;
  for await (const { storeKey, document, byteCount } of eachIn(store, table, range)) {
    if (document === null || isExpired(document)) continue;
    documents.push(document);
    bytesLeft -= byteCount;
    if (documents.length >= countMax || bytesLeft <= 0)
      return { documents, cursor: cursorAfter(table, storeKey.slice(range.prefix.length)) };
  }
  return { documents };
}

export interface ReadDocument {
  readonly place: DocumentPlace;
  readonly document: Document | null; // Null for what is no document.
}

/** Every document of a table in the order of keys, a bounded part of them in memory. One that is there all the time is given once. */
export async function* eachDocument(store: Store, table: string): AsyncGenerator<ReadDocument, void, undefined> {
  const prefix = tablePrefix(table);
  for await (const { place, document } of eachIn(store, table, { prefix, beginning: prefix, after: null }))
    if (document === null || !isExpired(document)) yield { place, document };
}

interface ReadValue extends ReadDocument {
  readonly storeKey: string;
  readonly byteCount: number;
}

async function* eachIn(
  store: Store,
  table: string,
  { prefix, beginning, after: start }: { readonly prefix: string; readonly beginning: string; readonly after: string | null },
): AsyncGenerator<ReadValue, void, undefined> {
  const read = async (storeKey: string): Promise<ReadValue | null> => {
    const found = await store.get("data", storeKey);
    const place = { table, key: nameOf(storeKey.slice(prefix.length)) };
    return found === null ? null : { storeKey, place, document: documentIn(place, found.bytes), byteCount: found.bytes.length };
  };
  let after = start;
  for (;;) {
    const listed = await store.list("data", { prefix, after, limit: LISTED_COUNT });
    const keys = listed.filter((key) => key.startsWith(beginning));
    for (let first = 0; first < keys.length; first += DOCUMENT_READS_IN_FLIGHT_MAX) {
      const part = await Promise.all(keys.slice(first, first + DOCUMENT_READS_IN_FLIGHT_MAX).map(read));
      yield* part.filter((value) => value !== null);
    }
    if (keys.length < LISTED_COUNT) return;
    after = keys.at(-1) ?? after;
  }
}

/** What the names, sizes and cursors of a caller have wrong is the caller's to hear. */
function checked<Value>(check: () => Value): Value {
  try {
    return check();
  } catch (cause) {
    throw new PlatformError("DOCUMENT_INVALID", { detail: `${cause instanceof Error ? cause.message : String(cause)}.` }, { cause });
  }
}

// Reads documents: one, some, or a page of a table in the order of keys.
import { checkTable, isMissing, placeToRead, storeKeyOf, type DocumentPlace } from "../contract/document-names.ts";
import { cursorAfter, limitOf, rangeOfPage } from "../contract/document-pages.ts";
import { decodeDocument, isExpired, type Document } from "../contract/documents.ts";
import { DOCUMENT_PAGE_BYTES_MAX, DOCUMENT_READ_BATCH_COUNT_MAX, DOCUMENT_READS_IN_FLIGHT_MAX } from "../contract/limits.ts";
import { bridge } from "./bridge.ts";

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
  const range = rangeOfPage({ table, begin: params.begin, cursor: params.cursor });
  const { prefix, beginning } = range;
  const page: Page = [];
  let after = range.after;
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
    if (page.length >= limit || bytesLeft <= 0)
      return Object.assign(page, { cursor: cursorAfter(table, after?.slice(prefix.length) ?? "") });
  }
}

async function readPlaces(places: readonly (DocumentPlace | null)[]): Promise<Document[]> {
  const found: (Document | null)[] = [];
  for (let start = 0; start < places.length; start += DOCUMENT_READS_IN_FLIGHT_MAX) {
    const part = places.slice(start, start + DOCUMENT_READS_IN_FLIGHT_MAX);
    found.push(...(await Promise.all(part.map(async (place) => (place === null ? null : readOne(place))))));
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

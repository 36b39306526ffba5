// Documents in tables: get, set, destroy, count, incr, decr and page, as @begin/data has them.
import { checkTable, isMissing, placeToRead, tablePrefix } from "../contract/document-names.ts";
import { bridge } from "./bridge.ts";
import { orCallback } from "./callback.ts";
import { addTo, type CounterParams } from "./data-counter.ts";
import { readOne, readPage, readSome, type Page, type PageParams } from "./data-read.ts";
import { destroyOne, destroySome, writeOne, writeSome } from "./data-write.ts";

type Params = Readonly<Record<string, unknown>>;

export const get = orCallback(async (params) => {
  if (Array.isArray(params)) return readSome(params);
  if (!isObject(params) || !("table" in params)) throw new ReferenceError("Invalid args; expected [{table, key}], {table, key} or {table}");
  if (!("key" in params)) return readPage(params);
  const place = placeToRead(params);
  return place === null ? null : readOne(place);
});

export const set = orCallback(async (params) => {
  if (!isObject(params)) throw new ReferenceError("Missing params");
  return Array.isArray(params) ? writeSome(params) : writeOne(params);
});

export const destroy = orCallback(async (params) => {
  if (!isObject(params)) throw new ReferenceError("Missing params in arguments");
  return Array.isArray(params) ? destroySome(params) : destroyOne(params);
});

/** Of the documents that are kept. One whose ttl is over is among them until someone meets it. */
export const count = orCallback(async (params) => {
  if (!isObject(params) || isMissing(params["table"])) throw new ReferenceError("Missing params.table");
  return bridge().store.count("data", tablePrefix(checkTable(params["table"])));
});

export const incr = orCallback(async (params) => addTo(counterParams(params), 1));
export const decr = orCallback(async (params) => addTo(counterParams(params), -1));

/** Page after page, until there is none. At least one, which may be empty. */
export function page(params: PageParams): AsyncIterable<Page> {
  if (!isObject(params) || isMissing(params.table)) throw new ReferenceError("Missing params.table");
  return pagesOf({ ...params });
}

async function* pagesOf(params: PageParams): AsyncGenerator<Page, void, undefined> {
  let cursor = params.cursor;
  do {
    const next = await readPage({ ...params, cursor });
    yield next;
    cursor = next.cursor;
  } while (cursor !== undefined);
}

const isObject = (value: unknown): value is Params => typeof value === "object" && value !== null;
const counterParams = (params: unknown): CounterParams => (isObject(params) ? params : {});

export const data = { get, set, destroy, count, incr, decr, page };

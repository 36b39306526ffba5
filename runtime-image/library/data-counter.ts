// Counts up and down in a property of a document, so that no count is lost however many do it at once.
import { setTimeout as delay } from "node:timers/promises";
import { checkKey, checkTable, isMissing, storeKeyOf, type DocumentPlace } from "../contract/document-names.ts";
import { decodeDocument, expiryOf, isExpired, type Document } from "../contract/documents.ts";
import { COUNTER_TRY_COUNT_MAX } from "../contract/limits.ts";
import { bridge, RevisionConflict } from "./bridge.ts";
import { encodeDocument } from "./data-document.ts";

const CONFLICT_DELAY_MS_MAX = 32;

export interface CounterParams {
  readonly table?: unknown;
  readonly key?: unknown;
  readonly prop?: unknown;
}

export async function addTo(params: CounterParams, step: 1 | -1): Promise<Document> {
  for (const name of ["table", "key", "prop"] as const) if (isMissing(params[name])) throw new ReferenceError(`Missing param: ${name}`);
  const place = { table: checkTable(params.table), key: checkKey(params.key) };
  return inTurn(storeKeyOf(place), () => addOnce(place, { prop: String(params.prop), step }));
}

/** Each time another write came first, the document is read again. Waiting a little apart lets somebody through. */
async function addOnce(place: DocumentPlace, change: { readonly prop: string; readonly step: number }): Promise<Document> {
  const { store } = bridge();
  for (let tryCount = 1; ; tryCount += 1) {
    const found = await store.get("data", storeKeyOf(place));
    const before = found === null ? null : decodeDocument(found);
    const current = before === null || isExpired(before) ? place : before;
    const { bytes, document } = encodeDocument({ ...current, [change.prop]: numberIn(current, change.prop) + change.step });
    try {
      await store.put("data", storeKeyOf(place), bytes, { expectedRevision: found?.revision ?? 0, ...expiryOf(document) });
      return document;
    } catch (error) {
      if (!(error instanceof RevisionConflict) || tryCount >= COUNTER_TRY_COUNT_MAX) throw error;
    }
    await delay(Math.random() * Math.min(2 ** tryCount, CONFLICT_DELAY_MS_MAX));
  }
}

function numberIn(document: Readonly<Record<string, unknown>> | DocumentPlace, prop: string): number {
  const value: unknown = Object.hasOwn(document, prop) ? Reflect.get(document, prop) : 0;
  if (typeof value !== "number") throw new TypeError(`Invalid property ${prop}: expected a number, found ${typeof value}`);
  return value;
}

const turns = new Map<string, Promise<unknown>>();

/** Those of one instance do not compete with each other. */
async function inTurn<Result>(name: string, act: () => Promise<Result>): Promise<Result> {
  const before = turns.get(name) ?? Promise.resolve();
  const mine = before.then(act, act);
  turns.set(name, mine);
  try {
    return await mine;
  } finally {
    if (turns.get(name) === mine) turns.delete(name);
  }
}

// Writes and destroys documents, one or a batch: a batch is checked whole, then carried out document by document.
import { checkKey, checkTable, isMissing, storeKeyOf, type DocumentPlace } from "../contract/document-names.ts";
import { expiryOf, type Document, type EncodedDocument } from "../contract/documents.ts";
import { DOCUMENT_BATCH_COUNT_MAX } from "../contract/limits.ts";
import { bridge } from "./bridge.ts";
import { encodeDocument } from "./data-document.ts";

/** Some of a batch could not be carried out. What was, stays. */
export class BatchError extends Error {
  readonly applied: readonly DocumentPlace[];
  readonly failed: readonly DocumentPlace[];
  readonly code: unknown; // Of the first failure: STORE_FULL, for one.

  constructor(outcome: { readonly applied: readonly DocumentPlace[]; readonly failed: readonly DocumentPlace[] }, cause: unknown) {
    const list = (places: readonly DocumentPlace[]): string => places.map(({ table, key }) => `${table}/${key}`).join(", ");
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(
      `${outcome.applied.length} of ${outcome.applied.length + outcome.failed.length} items were applied` +
        `${outcome.applied.length > 0 ? ` (${list(outcome.applied)})` : ""}, not ${list(outcome.failed)}: ${reason}`,
      { cause },
    );
    this.name = "BatchError";
    this.applied = outcome.applied;
    this.failed = outcome.failed;
    this.code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  }
}

type Params = Readonly<Record<string, unknown>>;

export async function writeOne(params: Params): Promise<Document> {
  const encoded = encodeDocument(params);
  await write(encoded);
  return encoded.document;
}

export async function writeSome(items: readonly Params[]): Promise<Document[]> {
  checkBatchCount(items);
  const encoded = items.map((item) => encodeDocument(Object(item) as Params)); // Of what is no object, no property is there.
  await carryOut(encoded, ({ place }) => place, write);
  return encoded.map(({ document }) => document);
}

export async function destroyOne(params: Params): Promise<void> {
  await remove({ table: checkTable(params["table"]), key: checkKey(params["key"]) });
}

export async function destroySome(items: readonly unknown[]): Promise<void> {
  checkBatchCount(items);
  const isWhole = (item: unknown): item is { table: unknown; key: unknown } =>
    typeof item === "object" && item !== null && "table" in item && "key" in item && !isMissing(item.table) && !isMissing(item.key);
  if (!items.every(isWhole)) throw new ReferenceError("Missing table in params");
  const places = items.map(({ table, key }) => ({ table: checkTable(table), key: checkKey(key) }));
  await carryOut(places, (place) => place, remove);
}

const write = ({ place, bytes, document }: EncodedDocument): Promise<number> =>
  bridge().store.put("data", storeKeyOf(place), bytes, expiryOf(document));
const remove = (place: DocumentPlace): Promise<void> => bridge().store.remove("data", storeKeyOf(place));

function checkBatchCount(items: readonly unknown[]): void {
  if (items.length > DOCUMENT_BATCH_COUNT_MAX)
    throw new Error(`Batch too large; max ${DOCUMENT_BATCH_COUNT_MAX}, received ${items.length}`);
}

/** All at once, but for those of the same place: of these each waits for the one before, so that the last one stays. */
async function carryOut<Item>(items: readonly Item[], placeOf: (item: Item) => DocumentPlace, act: (item: Item) => Promise<unknown>) {
  const lastOf = new Map<string, Promise<unknown>>();
  const work = items.map((item) => {
    const name = storeKeyOf(placeOf(item));
    const before = lastOf.get(name);
    const done = before === undefined ? act(item) : before.then(() => act(item));
    lastOf.set(name, done);
    return done;
  });
  const outcomes = await Promise.allSettled(work);
  const places = items.map(placeOf);
  const failure = outcomes.find((outcome) => outcome.status === "rejected");
  if (failure === undefined) return;
  const having = (status: "fulfilled" | "rejected") => places.filter((_, index) => outcomes[index]?.status === status);
  throw new BatchError({ applied: having("fulfilled"), failed: having("rejected") }, failure.reason);
}

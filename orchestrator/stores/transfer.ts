// Documents out of an environment and into it, as lines: in order, as fast as they are read or written, a bounded part in memory.
import { storeKeyOf, type DocumentPlace } from "../../runtime-image/contract/document-names.ts";
import { expiryOf, type Document, type EncodedDocument } from "../../runtime-image/contract/documents.ts";
import {
  IMPORT_LINE_BYTES_MAX,
  IMPORT_PROBLEM_COUNT_MAX,
  STORE_WRITES_BYTES_IN_FLIGHT_MAX,
  STORE_WRITES_IN_FLIGHT_MAX,
} from "../../runtime-image/contract/limits.ts";
import type { Store } from "../../runtime-image/library/bridge.ts";
import { eachDocument } from "./documents.ts";
import { readLine } from "./import-lines.ts";
import { carryOutInTurn } from "./in-turn.ts";
import { linesOf } from "./lines.ts";
import type { AppStores } from "./stores.ts";
import { countTable, listTables, type TableCount } from "./tables.ts";

export type ExportLine =
  | { readonly kind: "begin"; readonly count: number } // How many there are about; they come and go meanwhile.
  | { readonly kind: "document"; readonly document: Document }
  | { readonly kind: "unreadable"; readonly place: DocumentPlace } // A function wrote past the library what is no document.
  | { readonly kind: "end"; readonly count: number }; // Without it, something is missing.

/** By table and key. Of one table where it is named. */
export async function exportDocuments({ store, requests }: AppStores, table: string | null): Promise<AsyncIterable<ExportLine>> {
  const tables = table === null ? await listTables(requests) : [{ table, count: await countTable(requests, table) }];
  return exportTables(store, tables);
}

async function* exportTables(store: Store, tables: readonly TableCount[]): AsyncGenerator<ExportLine, void, undefined> {
  yield { kind: "begin", count: tables.reduce((sum, one) => sum + one.count, 0) };
  let count = 0;
  for (const { table } of tables)
    for await (const { place, document } of eachDocument(store, table)) {
      if (document === null) yield { kind: "unreadable", place };
      else {
        count += 1;
        yield { kind: "document", document };
      }
    }
  yield { kind: "end", count };
}

export interface ImportOutcome {
  readonly writtenCount: number;
  readonly badCount: number;
  readonly problems: readonly LineProblem[]; // The first ones.
}

export interface LineProblem {
  readonly line: number; // From 1.
  readonly problem: string;
}

/** Writes every good line, in order where several name the same document, and nothing of a bad one. Doing it again changes nothing. */
export async function importDocuments(store: Store, body: AsyncIterable<unknown>): Promise<ImportOutcome> {
  const problems: LineProblem[] = [];
  let badCount = 0;
  let writtenCount = 0;
  const documents = async function* (): AsyncGenerator<EncodedDocument, void, undefined> {
    for await (const line of linesOf(body, IMPORT_LINE_BYTES_MAX)) {
      const read = readLine(line);
      if (read.kind === "document") yield read.encoded;
      if (read.kind !== "bad") continue;
      badCount += 1;
      if (problems.length < IMPORT_PROBLEM_COUNT_MAX) problems.push({ line: line.number, problem: read.problem });
    }
  };
  const turns = {
    countAtOnce: STORE_WRITES_IN_FLIGHT_MAX,
    keyOf: ({ place }: EncodedDocument) => storeKeyOf(place),
    bytesAtOnce: { max: STORE_WRITES_BYTES_IN_FLIGHT_MAX, of: ({ bytes }: EncodedDocument) => bytes.length },
  };
  await carryOutInTurn(documents(), turns, async ({ place, bytes, document }) => {
    await store.put("data", storeKeyOf(place), bytes, expiryOf(document));
    writtenCount += 1;
  });
  return { writtenCount, badCount, problems };
}

// Finds the tables of a bucket of documents and counts them, in bounded questions, however many documents there are.
import { nameOf, tablePrefix } from "../../runtime-image/contract/document-names.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { DOCUMENT_READS_IN_FLIGHT_MAX, STORE_LIST_LEAF_COUNT_MAX, STORE_TABLE_COUNT_MAX } from "../../runtime-image/contract/limits.ts";
import { storePrefix } from "../../runtime-image/contract/subjects.ts";
import type { StoreRequests } from "../../runtime-image/store/requests.ts";
import { carryOutInTurn } from "./in-turn.ts";

export interface TableCount {
  readonly table: string;
  readonly count: number;
}

type Requests = Pick<StoreRequests, "countOf" | "subjectsOf" | "firstOf" | "lastOf">;

const PREFIX = storePrefix("data");
const DIGITS = "0123456789abcdef".split("");
const END = "-"; // What closes the digits of a key in a subject.

/**
 * In the order of their names. The broker lists subjects, not tables: so the counts of those that are known are summed up, and only as
 * long as documents are missing in the sum are subjects listed, by the beginnings of their keys.
 */
export async function listTables(requests: Requests): Promise<TableCount[]> {
  const counts = new Map<string, number>(); // By the hex of the name.
  const total = await requests.countOf("data", `${PREFIX}>`);
  let countedSum = 0;
  const isComplete = (): boolean => countedSum >= total;
  const learn = async (subjects: readonly string[]): Promise<void> => {
    const unknown = [...new Set(subjects.map(tableIn))].filter((table) => !counts.has(table));
    if (counts.size + unknown.length > STORE_TABLE_COUNT_MAX)
      throw new PlatformError("STORE_TOO_LARGE", { detail: `There are more than ${STORE_TABLE_COUNT_MAX} tables.` });
    const count = async (table: string): Promise<void> => {
      const found = await requests.countOf("data", `${PREFIX}${table}.>`);
      counts.set(table, found);
      countedSum += found;
    };
    await carryOutInTurn(unknown, { countAtOnce: DOCUMENT_READS_IN_FLIGHT_MAX, keyOf: (table) => table }, count);
  };
  const ends = await Promise.all([requests.firstOf("data", `${PREFIX}>`), requests.lastOf("data", `${PREFIX}>`)]);
  await learn(ends.flatMap((found) => (found === null ? [] : [found.subject])));
  if (!isComplete()) await searchBelow({ requests, learn, isComplete }, "");
  return [...counts]
    .filter(([, count]) => count > 0)
    .toSorted(([first], [second]) => (first < second ? -1 : 1))
    .map(([hex, count]) => ({ table: nameOf(hex), count }));
}

export const countTable = (requests: Pick<StoreRequests, "countOf">, table: string): Promise<number> =>
  requests.countOf("data", `${PREFIX}${tablePrefix(table)}>`);

interface Search {
  readonly requests: Requests;
  readonly learn: (subjects: readonly string[]) => Promise<void>;
  readonly isComplete: () => boolean;
}

/** Every document whose key begins with these digits, of whichever table; divided until a part is small enough to be listed. */
async function searchBelow(search: Search, beginning: string): Promise<void> {
  const { requests, learn, isComplete } = search;
  const below = `${PREFIX}*.${beginning.replaceAll(/./g, "$&.")}`;
  const count = await requests.countOf("data", `${below}>`);
  if (count === 0 || isComplete()) return;
  if (count <= STORE_LIST_LEAF_COUNT_MAX) return learn(await requests.subjectsOf("data", `${below}>`));
  if (beginning !== "" && beginning.length % 2 === 0) await learn(await requests.subjectsOf("data", `${below}${END}`));
  for (const digit of DIGITS) if (!isComplete()) await searchBelow(search, beginning + digit);
}

const tableIn = (subject: string): string => subject.slice(PREFIX.length, subject.indexOf(".", PREFIX.length));

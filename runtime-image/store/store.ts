// The buckets of sessions and documents, as instances and their keeper reach them. What is acknowledged is on the broker's disk.
import type { KeyRange, Store } from "../library/bridge.ts";
import { announce } from "./expiry.ts";
import { createReplacedValues } from "./replaced.ts";
import type { StoreRequests } from "./requests.ts";
import { filterBeginning, filterBelow, keyOf, subjectOf, tableOf } from "./subjects.ts";
import { nextKeys, type KeyRanges, type LargeRanges } from "./walk.ts";

export interface InstanceStore extends Store {
  /** Does what was put off. An instance that ends without it leaves values that nobody sees. */
  settle(): Promise<void>;
}

export function createStore(requests: StoreRequests): InstanceStore {
  const replaced = createReplacedValues(requests);
  const largeRanges = new Map<string, LargeRanges>();
  return {
    get: async (bucket, key) => {
      const found = await requests.lastOf(bucket, subjectOf(bucket, key));
      return found === null ? null : { bytes: found.bytes, revision: found.revision };
    },
    put: async (bucket, key, bytes, { expectedRevision, expiresEpochMs } = {}) => {
      const subject = subjectOf(bucket, key);
      const isEnding = bucket === "data" && expiresEpochMs !== undefined;
      const expiry = isEnding ? await announce(requests, { key, expiresEpochMs, expectedRevision }) : null;
      const writing = requests.write({ subject, bytes, expectedRevision, note: expiry?.note });
      const revision = await (expiry === null ? writing : expiry.unlessRefused(writing));
      await replaced.clearAway({
        bucket,
        subject,
        revision,
        byteCount: bytes.length,
        replacedRevision: expectedRevision,
        entryRevision: expiry?.entryRevision ?? null,
      });
      return revision;
    },
    remove: async (bucket, key, { expectedRevision } = {}) => {
      const subject = subjectOf(bucket, key);
      const found = expectedRevision === undefined ? await requests.lastOf(bucket, subject) : { revision: expectedRevision, note: "" };
      // Another write in between is one that came after: it stays.
      if (found !== null) await replaced.removeUpTo({ bucket, subject, revision: found.revision, note: found.note });
    },
    list: async (bucket, range) => {
      const table = tableOf(bucket, range.prefix);
      if (table !== null) return listTable(requests, { table, ...range }, largeRangesOf(largeRanges, table));
      const keys = (await requests.subjectsOf(bucket, filterBelow(bucket, range.prefix))).map((subject) => keyOf(bucket, subject));
      const { after, limit } = range;
      return keys
        .toSorted()
        .filter((key) => after === null || key > after)
        .slice(0, limit);
    },
    count: async (bucket, prefix) => requests.countOf(bucket, filterBelow(bucket, prefix)),
    settle: () => replaced.settle(),
  };
}

const TABLE_COUNT_MAX = 1_000; // Tables whose large ranges one instance remembers.

function largeRangesOf(byTable: Map<string, LargeRanges>, table: string): LargeRanges {
  const known = byTable.get(table);
  if (known !== undefined) return known;
  if (byTable.size >= TABLE_COUNT_MAX) byTable.clear();
  const made: LargeRanges = new Set();
  byTable.set(table, made);
  return made;
}

interface TableRange extends KeyRange {
  readonly table: string;
}

async function listTable(requests: StoreRequests, { table, prefix, after, limit }: TableRange, large: LargeRanges): Promise<string[]> {
  const digits = digitsAfter(prefix, after);
  if (digits === "past") return [];
  const found = await nextKeys({ ranges: rangesOf(requests, table), large }, { after: digits, limit });
  return found.map((name) => prefix + name);
}

/** A key to start after may lie outside of the prefix; then it is all of it or nothing. */
function digitsAfter(prefix: string, after: string | null): string | null {
  if (after === null) return null;
  if (after.startsWith(prefix)) return after.slice(prefix.length);
  return after < prefix ? null : "past";
}

function rangesOf(requests: StoreRequests, table: string): KeyRanges {
  const digitsIn = (subject: string): string => keyOf("data", subject).slice(table.length + 1);
  return {
    count: (beginning) => requests.countOf("data", filterBeginning(table, beginning)),
    names: async (beginning) => (await requests.subjectsOf("data", filterBeginning(table, beginning))).map(digitsIn).toSorted(),
    samples: async (beginning) => {
      const filter = filterBeginning(table, beginning);
      const [first, last] = await Promise.all([requests.firstOf("data", filter), requests.lastOf("data", filter)]);
      return first === null || last === null ? null : [digitsIn(first.subject), digitsIn(last.subject)];
    },
    exists: async (key) => (await requests.lastOf("data", subjectOf("data", `${table}.${key}`))) !== null,
  };
}

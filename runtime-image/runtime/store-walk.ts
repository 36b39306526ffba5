// Finds the next keys of a table in order, by dividing it at common beginnings until what is left is small enough to be listed.
import { STORE_LIST_LEAF_COUNT_MAX } from "../contract/limits.ts";

/** Keys are hex digits. Each call is one question to the broker; it costs as much as there are keys with that beginning. */
export interface KeyRanges {
  count(beginning: string): Promise<number>;
  /** In order. */
  names(beginning: string): Promise<readonly string[]>;
  /** Two keys with that beginning, the further apart the better; null where there are none any more. */
  samples(beginning: string): Promise<readonly [string, string] | null>;
  exists(key: string): Promise<boolean>;
}

/**
 * Beginnings that had too many keys to list when they were last counted. They save counting, and never decide what is found: a wrong
 * one costs some questions.
 */
export type LargeRanges = Set<string>;

const LARGE_RANGE_COUNT_MAX = 10_000; // Remembered by one instance; some 50 bytes each.
const DIGITS = [..."0123456789abcdef"];

export interface Walk {
  readonly ranges: KeyRanges;
  readonly large: LargeRanges;
}

/** The first keys after one, or of all. A key that is there all the time is found once; nothing is found twice. */
export const nextKeys = (walk: Walk, range: { readonly after: string | null; readonly limit: number }): Promise<string[]> =>
  collect(walk, { beginning: "", after: range.after, limit: range.limit });

interface Part {
  readonly beginning: string;
  readonly after: string | null; // Null, or a key with the same beginning.
  readonly limit: number;
  readonly count?: number; // Where it is known.
}

async function collect(walk: Walk, part: Part): Promise<string[]> {
  const { ranges, large } = walk;
  const { beginning, after, limit } = part;
  if (limit <= 0) return [];
  if (!large.has(beginning)) {
    const count = part.count ?? (await ranges.count(beginning));
    if (count === 0) return [];
    if (count <= STORE_LIST_LEAF_COUNT_MAX) {
      const names = await ranges.names(beginning);
      return names.filter((name) => after === null || name > after).slice(0, limit);
    }
    await rememberLarge(walk, beginning);
  }
  const found: string[] = [];
  if (after === null) {
    const isWhole = beginning.length % 2 === 0; // A byte has two digits; no key ends in the middle of one.
    if (isWhole && beginning !== "" && (await ranges.exists(beginning))) found.push(beginning);
  } else if (after.length > beginning.length) {
    found.push(...(await collect(walk, { beginning: after.slice(0, beginning.length + 1), after, limit })));
  }
  if (found.length < limit) found.push(...(await collectBeside(walk, { ...part, limit: limit - found.length })));
  return found;
}

/** The parts beyond the one that the key to start after lies in. */
async function collectBeside(walk: Walk, { beginning, after, limit }: Part): Promise<string[]> {
  const passed = after?.[beginning.length] ?? "";
  const parts = DIGITS.filter((digit) => digit > passed).map((digit) => beginning + digit);
  const counts = await Promise.all(parts.map((part) => (walk.large.has(part) ? Infinity : walk.ranges.count(part))));
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (after === null && total <= STORE_LIST_LEAF_COUNT_MAX) walk.large.delete(beginning); // It shrank.
  const found: string[] = [];
  for (const [index, part] of parts.entries()) {
    const count = counts[index] ?? 0;
    if (count === 0 || found.length >= limit) continue;
    const known = Number.isFinite(count) ? { count } : {};
    found.push(...(await collect(walk, { beginning: part, after: null, limit: limit - found.length, ...known })));
  }
  return found;
}

/** Keys like "user-1", "user-2" have a long common beginning: two of them say how long it is, and no range on that way needs counting. */
async function rememberLarge({ ranges, large }: Walk, beginning: string): Promise<void> {
  if (large.size >= LARGE_RANGE_COUNT_MAX) large.clear();
  large.add(beginning);
  const [first, second] = (await ranges.samples(beginning)) ?? ["", ""];
  for (let length = beginning.length + 1; length <= first.length && first[length - 1] === second[length - 1]; length += 1)
    large.add(first.slice(0, length));
}

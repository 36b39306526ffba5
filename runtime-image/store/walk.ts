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
const DIGITS = Array.from("0123456789abcdef");

export interface Walk {
  readonly ranges: KeyRanges;
  readonly large: LargeRanges;
}

export interface NextKeys {
  readonly beginning?: string; // Of each of them; none where it is left out.
  readonly after: string | null; // A key with that beginning.
  readonly limit: number;
}

/** The first keys after one, or of all. A key that is there all the time is found once; nothing is found twice. */
export const nextKeys = (walk: Walk, { beginning = "", after, limit }: NextKeys): Promise<string[]> =>
  limit > 0 ? collect(walk, { beginning, after, limit }) : Promise.resolve([]);

interface Part {
  readonly beginning: string;
  readonly after: string | null; // Null, or a key with the same beginning.
  readonly limit: number;
  readonly count?: number; // Where it is known.
}

async function collect(walk: Walk, part: Part): Promise<string[]> {
  const { ranges, large } = walk;
  const { beginning, after, limit } = part;
  if (part.count !== undefined || !large.has(beginning)) {
    const count = part.count ?? (await ranges.count(beginning));
    if (count === 0) return [];
    if (count <= STORE_LIST_LEAF_COUNT_MAX) {
      const names = await ranges.names(beginning);
      return names.filter((name) => after === null || name > after).slice(0, limit);
    }
    await rememberLarge(walk, beginning);
  }
  const found: string[] = [];
  if (after !== null && after.length > beginning.length)
    found.push(...(await collect(walk, { beginning: after.slice(0, beginning.length + 1), after, limit })));
  if (found.length < limit) found.push(...(await collectBeside(walk, { beginning, after, limit: limit - found.length })));
  return found;
}

/** The key that is this beginning and no more, then the parts beyond the one that the key to start after lies in. */
async function collectBeside(walk: Walk, { beginning, after, limit }: Part): Promise<string[]> {
  const { ranges, large } = walk;
  const passed = after?.[beginning.length] ?? "";
  const parts = DIGITS.filter((digit) => digit > passed).map((digit) => beginning + digit);
  const mayBeKey = after === null && beginning !== "" && beginning.length % 2 === 0; // A byte has two digits.
  const found: string[] = [];
  let countedCount = 0;
  let done = 0;
  while (done < parts.length && found.length < limit) {
    const together = parts.slice(done, nextLarge(parts, done, large) + 1); // Small ones at once, up to one that fills a page by itself.
    const [isKey, ...counts] = await Promise.all([
      mayBeKey && done === 0 && ranges.exists(beginning),
      ...together.map((part) => (large.has(part) ? undefined : ranges.count(part))),
    ]);
    if (isKey) found.push(beginning);
    for (const [index, part] of together.entries()) {
      const count = counts[index];
      countedCount += count ?? 0;
      if (count !== undefined && count > STORE_LIST_LEAF_COUNT_MAX) large.add(part);
      if (count === 0 || found.length >= limit) continue;
      const known = count === undefined ? {} : { count };
      found.push(...(await collect(walk, { beginning: part, after: null, limit: limit - found.length, ...known })));
    }
    done += together.length;
  }
  const hasShrunk = after === null && done === parts.length && countedCount <= STORE_LIST_LEAF_COUNT_MAX;
  if (hasShrunk && !parts.some((part) => large.has(part))) large.delete(beginning);
  return found;
}

function nextLarge(parts: readonly string[], start: number, large: LargeRanges): number {
  const index = parts.findIndex((part, at) => at >= start && large.has(part));
  return index === -1 ? parts.length : index;
}

/** Keys like "user-1", "user-2" have a long common beginning: two of them say how long it is, and no range on that way needs counting. */
async function rememberLarge({ ranges, large }: Walk, beginning: string): Promise<void> {
  if (large.size >= LARGE_RANGE_COUNT_MAX) large.clear();
  large.add(beginning);
  const [first, second] = (await ranges.samples(beginning)) ?? ["", ""];
  for (let length = beginning.length + 1; length <= first.length && first[length - 1] === second[length - 1]; length += 1)
    large.add(first.slice(0, length));
}

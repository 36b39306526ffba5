// Requests that wait for an instance: first in, first out, bounded by its user.

/** A list whose both ends are cheap, however long it is. */
export interface Queue<Item> {
  readonly length: number;
  peek(): Item | undefined;
  push(item: Item): void;
  shift(): Item | undefined;
  /** Back to the front: for what was taken and could not be delivered. */
  unshift(item: Item): void;
  /** Takes out what the test says, in order. */
  removeWhere(test: (item: Item) => boolean): Item[];
}

const COMPACT_AT = 256;

export function createQueue<Item>(): Queue<Item> {
  let items: Item[] = [];
  let start = 0;
  return {
    get length() {
      return items.length - start;
    },
    peek: () => items[start],
    push: (item) => void items.push(item),
    shift() {
      if (start >= items.length) return undefined;
      const item = items[start];
      start++;
      if (start >= COMPACT_AT || start === items.length) {
        items = items.slice(start);
        start = 0;
      }
      return item;
    },
    unshift(item) {
      items = [item, ...items.slice(start)];
      start = 0;
    },
    removeWhere(test) {
      const waiting = items.slice(start);
      const removed = waiting.filter(test);
      if (removed.length === 0) return removed;
      const gone = new Set(removed);
      items = waiting.filter((item) => !gone.has(item));
      start = 0;
      return removed;
    },
  };
}

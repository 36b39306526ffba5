// What a store must still hold, from what its clients were told: decided here, whatever was killed in between. Pure.

/**
 * A place holds a text or nothing. One client writes there, one write at a time; after a write of which nobody knows whether it
 * was carried out the place is left alone, because that write may still come.
 */
interface Place {
  sure: string | null; // Acknowledged, or read; null: nothing is there.
  open: { readonly value: string | null } | null; // Sent, and not acknowledged so far.
}

interface Counter {
  sureCount: number;
  openCount: number;
  readonly results: Set<number>; // What increments were told: no two may be told the same.
  floor: number; // The highest value that anyone has seen.
}

export interface Change {
  readonly place: string;
  readonly value: string | null; // Null: destroyed.
}

export interface Loss {
  readonly kind: "lost" | "returned" | "unknown" | "count";
  readonly place: string;
  readonly text: string;
}

export class CrashModel {
  readonly #places = new Map<string, Place>();
  readonly #counters = new Map<string, Counter>();
  readonly #toldTwice: Loss[] = [];

  /** Before it is sent. All of a batch count as one, though each may be carried out alone. */
  begin(changes: readonly Change[]): void {
    for (const { place, value } of changes) {
      const known = this.#places.get(place) ?? { sure: null, open: null };
      if (known.open !== null) throw new Error(`a write to ${place} is still open`);
      this.#places.set(place, { ...known, open: { value } });
    }
  }

  acknowledged(changes: readonly Change[]): void {
    for (const { place, value } of changes) this.#places.set(place, { sure: value, open: null });
  }

  /** It never left its client. */
  unsent(changes: readonly Change[]): void {
    for (const { place } of changes) {
      const known = this.#places.get(place);
      if (known !== undefined) known.open = null;
    }
  }

  beginIncrement(counter: string): void {
    this.#counterOf(counter).openCount += 1;
  }

  acknowledgedIncrement(name: string, result: number): void {
    const counter = this.#counterOf(name);
    counter.openCount -= 1;
    counter.sureCount += 1;
    if (counter.results.has(result))
      this.#toldTwice.push({ kind: "count", place: name, text: `two increments were told that it is now ${result}` });
    counter.results.add(result);
    counter.floor = Math.max(counter.floor, result);
  }

  unsentIncrement(name: string): void {
    this.#counterOf(name).openCount -= 1;
  }

  /** Whether a write is on its way, or may still come. */
  isOpen(place: string): boolean {
    return (this.#places.get(place)?.open ?? null) !== null;
  }

  counts(): { readonly open: number; readonly places: number } {
    const openPlaceCount = [...this.#places.values()].filter((place) => place.open !== null).length;
    const openIncrementCount = [...this.#counters.values()].reduce((sum, counter) => sum + counter.openCount, 0);
    return { open: openPlaceCount + openIncrementCount, places: this.#places.size };
  }

  /** Compares with everything that was found; what was read is from now on as sure as what was acknowledged. */
  check(found: { readonly values: ReadonlyMap<string, string>; readonly counters: ReadonlyMap<string, number> }): Loss[] {
    const strangers = [...found.values.keys()]
      .filter((place) => !this.#places.has(place))
      .map((place): Loss => ({ kind: "unknown", place, text: `holds ${show(found.values.get(place) ?? null)}, which nobody wrote` }));
    const losses = [...this.#places].flatMap(([name, place]) => checkPlace(name, place, found.values.get(name) ?? null));
    const miscounts = [...this.#counters].flatMap(([name, counter]) => checkCounter(name, counter, found.counters.get(name) ?? 0));
    return [...strangers, ...losses, ...miscounts, ...this.#toldTwice];
  }

  #counterOf(name: string): Counter {
    const counter = this.#counters.get(name) ?? { sureCount: 0, openCount: 0, results: new Set(), floor: 0 };
    this.#counters.set(name, counter);
    return counter;
  }
}

function checkPlace(name: string, place: Place, value: string | null): Loss[] {
  if (value === place.sure) return [];
  if (place.open !== null && value === place.open.value) {
    place.sure = value; // It was carried out, and may not be undone. The place stays open: a second try of the same write may come.
    return [];
  }
  const open = place.open === null ? "" : ` or ${show(place.open.value)}`;
  return [
    {
      kind: place.sure === null ? "returned" : "lost",
      place: name,
      text: `should hold ${show(place.sure)}${open}, holds ${show(value)}`,
    },
  ];
}

function checkCounter(name: string, counter: Counter, value: number): Loss[] {
  const least = Math.max(counter.sureCount, counter.floor);
  const most = counter.sureCount + counter.openCount;
  if (value >= least && value <= most) {
    counter.floor = value;
    return [];
  }
  return [{ kind: "count", place: name, text: `should be from ${least} to ${most}, is ${value}` }];
}

const show = (value: string | null): string => (value === null ? "nothing" : `"${value}"`);

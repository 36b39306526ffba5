// Chance that can be had again: the same seed gives the same choices.

export interface Chance {
  /** A whole number from 0 on, below this. */
  below(count: number): number;
  pick<Item>(items: readonly Item[]): Item;
  shuffled<Item>(items: readonly Item[]): Item[];
}

// A linear congruential generator with the constants of Numerical Recipes; its upper bits are good enough to spread kills.
const MULTIPLIER = 1_664_525;
const INCREMENT = 1_013_904_223;

export function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  const below = (count: number): number => {
    state = (Math.imul(state, MULTIPLIER) + INCREMENT) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
  return {
    below,
    pick: (items) => {
      const item = items[below(items.length)];
      if (item === undefined) throw new Error("there is nothing to pick from");
      return item;
    },
    shuffled: (items) => {
      const rest = items.slice();
      return items.flatMap(() => rest.splice(below(rest.length), 1));
    },
  };
}

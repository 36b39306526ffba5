// Lets so many pieces of work run at a time, each with the number of its place, in the order in which they came.

export type Places = <Value>(work: (place: number) => Promise<Value>) => Promise<Value>;

export function createPlaces(countMax: number): Places {
  const free = Array.from({ length: countMax }, (_, index) => index + 1);
  const waiting: ((place: number) => void)[] = [];
  return async (work) => {
    const place = free.shift() ?? (await new Promise<number>((resolve) => waiting.push(resolve)));
    try {
      return await work(place);
    } finally {
      const next = waiting.shift();
      if (next === undefined) free.push(place);
      else next(place);
    }
  };
}

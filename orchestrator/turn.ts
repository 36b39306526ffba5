// Work that must not overlap: each piece begins when the one before it has ended, however that ended.

export type Turn = <Value>(work: () => Promise<Value>) => Promise<Value>;

export function createTurn(): Turn {
  let last: Promise<unknown> = Promise.resolve();
  return async (work) => {
    const turn = last.then(work);
    last = turn.catch(() => undefined); // Its caller hears of it; the next in line need not.
    return turn;
  };
}

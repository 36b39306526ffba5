// Does several things at once, so many and no more, for someone who brings them one by one.

export interface Lanes {
  /** Resolves as soon as there is room for the next one. Rejects with what an earlier one failed with. */
  start(act: () => Promise<void>): Promise<void>;
  /** Resolves when nothing runs any more; rejects with the first failure. */
  done(): Promise<void>;
}

export function createLanes(countAtOnce: number): Lanes {
  const running = new Set<Promise<void>>(); // None of them rejects.
  const failures: Error[] = [];
  const throwFailure = (): void => {
    if (failures[0] !== undefined) throw failures[0];
  };
  return {
    async start(act) {
      const run: Promise<void> = act()
        .catch((cause: unknown) => void failures.push(cause instanceof Error ? cause : new Error(String(cause))))
        .finally(() => running.delete(run));
      running.add(run);
      if (running.size >= countAtOnce) await Promise.race(running);
      throwFailure();
    },
    async done() {
      await Promise.all(running);
      throwFailure();
    },
  };
}

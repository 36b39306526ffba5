// Reads a folder again when something in it was saved, and hands on what it read, unless more was saved meanwhile: then it may be half of it.
import { setImmediate as turn } from "node:timers/promises";

export interface ReloadingParts<Read> {
  readonly read: () => Promise<Read>;
  readonly use: (read: Read) => Promise<void>;
  /** Whether nothing was saved a moment ago. Where something was, a change is told of soon. */
  readonly isQuiet: () => boolean;
  readonly onError: (error: unknown) => void;
}

const OVERTAKEN_COUNT_MAX = 5; // In a row. What is saved all the time is used as it is in the end.

/** To be called with every change. One at a time is read and used. */
export function createReloading<Read>({ read, use, isQuiet, onError }: ReloadingParts<Read>): () => void {
  let isBusy = false;
  let isDirty = false;
  let overtakenCount = 0;
  const isOvertaken = async (): Promise<boolean> => {
    await turn(); // What was saved while it was read has been told of by then.
    if ((!isDirty && isQuiet()) || overtakenCount === OVERTAKEN_COUNT_MAX) {
      overtakenCount = 0;
      return false;
    }
    overtakenCount += 1;
    return true;
  };
  const reload = async (): Promise<void> => {
    let found: Read;
    try {
      found = await read();
    } catch (error) {
      if (await isOvertaken()) return; // What is wrong may be that it was half saved.
      throw error;
    }
    if (!(await isOvertaken())) await use(found);
  };
  const turns = async (): Promise<void> => {
    while (isDirty) {
      isDirty = false;
      await reload().catch(onError);
    }
    isBusy = false;
  };
  return () => {
    isDirty = true;
    if (isBusy) return;
    isBusy = true;
    void turns(); // It catches every error itself.
  };
}

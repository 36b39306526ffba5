// Ctrl-C and SIGTERM while a command waits for something: the first asks for a good end, the third leaves at once.

export interface Interrupts {
  close(): void;
}

/** Hears of the first with `isLast` false. A shell and npm may both pass on one Ctrl-C, so two are one. */
export function onInterrupts(onInterrupt: (isLast: boolean) => void): Interrupts {
  let count = 0;
  const hear = (): void => {
    count += 1;
    if (count !== 2) onInterrupt(count > 2);
  };
  process.on("SIGINT", hear).on("SIGTERM", hear);
  return { close: () => void process.off("SIGINT", hear).off("SIGTERM", hear) };
}

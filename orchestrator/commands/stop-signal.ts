// Hears that a platform is asked to stop.

export interface StopSignal {
  readonly asked: Promise<void>;
  isAsked(): boolean;
}

/** The first Ctrl-C or SIGTERM asks. A third one ends the process at once; what it leaves is cleaned up at the next start. */
export function stopSignal(onAsked: () => void): StopSignal {
  let count = 0;
  const asked = new Promise<void>((done) => {
    const onSignal = (): void => {
      count += 1;
      if (count > 2) process.exit(130); // A shell and npm may both pass on one Ctrl-C, so two are one.
      if (count > 1) return;
      onAsked();
      done();
    };
    process.on("SIGINT", onSignal).on("SIGTERM", onSignal).on("SIGHUP", onSignal);
  });
  return { asked, isAsked: () => count > 0 };
}

// The only file of the gateway that asks for the time.

export interface Clock {
  /** Milliseconds since some moment; never goes back. */
  nowMs(): number;
  epochMs(): number;
}

export const systemClock: Clock = {
  nowMs: () => performance.now(),
  epochMs: () => Date.now(),
};

// The only place that asks for the time, so that whatever decides by it can be tested with a clock of its own.

export interface Clock {
  nowEpochMs(): number;
}

export const systemClock: Clock = { nowEpochMs: () => Date.now() };

// The few numbers and bytes that the main thread and its watchdog share, so that neither has to ask the other.
import type { Pong } from "../contract/instance-events.ts";

const STATES = ["starting", "ready", "retiring"] as const satisfies readonly Pong["state"][];
const TICK = 0;
const STATE = 1;
const REQUEST_COUNT = 2;
const LOG_LENGTH = 3;
const NUMBER_COUNT = 4;
const LOG_BYTES_MAX = 131_072; // Twice the longest line, so that any line fits once what was there is written.

export interface SharedState {
  readonly memory: SharedArrayBuffer;
  tick(): void;
  tickCount(): number;
  setState(state: Pong["state"]): void;
  state(): Pong["state"];
  setRequestCount(count: number): void;
  requestCount(): number;
  /** What was printed and not written yet: the watchdog writes it when it ends a process whose main thread no longer can. */
  readonly logBytes: Buffer;
  setLogLength(length: number): void;
  logLength(): number;
}

export function createSharedState(memory = new SharedArrayBuffer(NUMBER_COUNT * 4 + LOG_BYTES_MAX)): SharedState {
  const numbers = new Int32Array(memory, 0, NUMBER_COUNT);
  return {
    memory,
    tick: () => void Atomics.add(numbers, TICK, 1),
    tickCount: () => Atomics.load(numbers, TICK),
    setState: (state) => void Atomics.store(numbers, STATE, STATES.indexOf(state)),
    state: () => STATES[Atomics.load(numbers, STATE)] ?? "starting",
    setRequestCount: (count) => void Atomics.store(numbers, REQUEST_COUNT, count),
    requestCount: () => Atomics.load(numbers, REQUEST_COUNT),
    logBytes: Buffer.from(memory, NUMBER_COUNT * 4),
    setLogLength: (length) => void Atomics.store(numbers, LOG_LENGTH, length),
    logLength: () => Atomics.load(numbers, LOG_LENGTH),
  };
}

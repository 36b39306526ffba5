// Keeps the questions of one connection that wait for their answer: each with a number, a deadline and a way to fail.
import { STORE_REQUEST_COUNT_MAX } from "../contract/limits.ts";

export interface BusQuestion {
  readonly subject: string;
  readonly bytes: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

export interface BusAnswer {
  readonly status: number; // What the broker says of itself, as 404 for a message that is not there; 0 where it says nothing.
  readonly bytes: Uint8Array;
  header(name: string): string; // "" where there is none.
}

/** Fails with a BusFailure. */
export type Ask = (question: BusQuestion) => Promise<BusAnswer>;

/** What a message of the broker's client says as an answer. */
export const answerIn = (message: {
  readonly data: Uint8Array;
  readonly headers?: { readonly code: number; get(name: string): string };
}): BusAnswer => ({
  status: message.headers?.code ?? 0,
  bytes: message.data,
  header: (name) => message.headers?.get(name) ?? "",
});

/** "unsent": it surely reached nobody. "unknown": it may have been carried out. */
export class BusFailure extends Error {
  readonly outcome: "unsent" | "unknown";

  constructor(outcome: BusFailure["outcome"], message: string) {
    super(message);
    this.outcome = outcome;
  }
}

export interface Questions {
  /** The number goes with the question, and comes back with its answer. */
  open(timeoutMs: number): { readonly sequence: string; readonly answer: Promise<BusAnswer> };
  settle(sequence: string, answer: BusAnswer): void;
  /** The connection went away: no answer will come. */
  loseAll(): void;
}

interface Waiting {
  readonly resolve: (answer: BusAnswer) => void;
  readonly reject: (failure: BusFailure) => void;
  readonly timer: NodeJS.Timeout;
}

const NO_RESPONDERS = 503;

export function createQuestions(): Questions {
  const waiting = new Map<string, Waiting>();
  let openedCount = 0;
  const take = (sequence: string): Waiting | undefined => {
    const found = waiting.get(sequence);
    waiting.delete(sequence);
    clearTimeout(found?.timer);
    return found;
  };
  return {
    open: (timeoutMs) => {
      if (waiting.size >= STORE_REQUEST_COUNT_MAX)
        throw new BusFailure("unsent", `${waiting.size} questions wait for their answer already`);
      openedCount += 1;
      const sequence = openedCount.toString(36);
      const { promise, resolve, reject } = Promise.withResolvers<BusAnswer>();
      const late = () => take(sequence)?.reject(new BusFailure("unknown", `no answer within ${Math.round(timeoutMs)} ms`));
      waiting.set(sequence, { resolve, reject, timer: setTimeout(late, timeoutMs) });
      return { sequence, answer: promise };
    },
    settle: (sequence, answer) => {
      const asked = take(sequence);
      if (answer.status === NO_RESPONDERS && answer.bytes.length === 0) asked?.reject(new BusFailure("unsent", "nobody answers"));
      else asked?.resolve(answer);
    },
    loseAll: () => {
      for (const sequence of waiting.keys()) take(sequence)?.reject(new BusFailure("unknown", "the connection went away"));
    },
  };
}

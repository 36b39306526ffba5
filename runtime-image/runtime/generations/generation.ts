// What a handler generation is to the runtime: how a request becomes the handler's event, and how its value becomes an answer.
import type { FlatHeaders, RequestHeader } from "../../contract/envelope.ts";

export interface PayloadAdapter {
  /** The first argument of the handler. Throws a fault of the caller's where the body cannot be what it says it is. */
  toEvent(header: RequestHeader, body: Uint8Array): unknown;
  /** What the handler's value means. Throws HANDLER_ANSWER_INVALID or ANSWER_TOO_LARGE, saying what is wrong with it. */
  toAnswer(value: unknown, header: RequestHeader): Answer;
}

export interface Answer {
  readonly status: number;
  readonly headers: FlatHeaders;
  readonly body: Uint8Array;
}

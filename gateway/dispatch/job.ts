// What the front hands to a dispatcher, and how the dispatcher answers: neither knows the other's library.
import type { AnswerHeader, RequestHeader } from "../../runtime-image/contract/envelope.ts";
import type { ErrorCode } from "../../runtime-image/contract/errors.ts";

export type WholeAnswer = Extract<AnswerHeader, { kind: "whole" }>;
export type SiteAnswer = Extract<AnswerHeader, { kind: "site" }>;
export type HeldAnswer = Extract<AnswerHeader, { kind: "held" }>;

/** Everything of the envelope that does not depend on when it is sent. */
export type RequestParts = Omit<RequestHeader, "timeoutMs">;

/** One request of a client. Exactly one of answer(), stream(), answerFromSite() and fail() is called, once. */
export interface Job {
  readonly request: RequestParts;
  readonly body: Uint8Array;
  /** Nobody waits for the answer any more. */
  isAbandoned(): boolean;
  answer(header: WholeAnswer, body: Uint8Array): void;
  answerFromSite(header: SiteAnswer): void;
  /** Null where the answer cannot be sent; it has been failed then. */
  stream(header: HeldAnswer): BodySink | null;
  fail(code: ErrorCode, detail?: string): void;
}

/** A client that reads a large answer at its own pace. Nothing is sent before the first bytes are written. */
export interface BodySink {
  /** False where the client has to read first; onDrain tells when it did. */
  write(bytes: Uint8Array): boolean;
  end(): void;
  /** An error where nothing was sent yet; otherwise the connection is cut, so that no short body looks complete. */
  abort(code: ErrorCode): void;
  onDrain(callback: () => void): void;
  onGone(callback: () => void): void;
}

/** Safe to deliver twice (RFC 9110 9.2.2). */
export const isIdempotent = (method: string): boolean => method !== "POST" && method !== "PATCH";

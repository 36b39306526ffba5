// One request on its way to an upstream, and the answer on its way to the client, at the client's pace.
import type { ClientRequest, IncomingMessage } from "node:http";
import type { ErrorCode } from "../../runtime-image/contract/errors.ts";
import { giveBack } from "../body.ts";
import { isIdempotent } from "../dispatch/job.ts";
import type { HttpExchange } from "../http-job.ts";
import { answerHeaders } from "./proxy-head.ts";

export interface ProxyTimes {
  readonly answerTimeoutMs: number;
  readonly stallTimeoutMs: number;
}

export interface ExchangeParts {
  readonly exchange: HttpExchange;
  readonly origin: string; // Of the upstream, for explanations.
  readonly path: string;
  readonly body: Uint8Array;
  readonly times: ProxyTimes;
  /** Makes the request to the upstream and hands it to take(), before a byte of it was sent. */
  readonly send: (proxied: ProxyExchange) => void;
  readonly tell: (code: ErrorCode, detail: string) => void; // Hears of what the upstream did wrong.
  readonly onOver: (proxied: ProxyExchange) => void;
}

/** A class, because it is a state that several events move: exactly one of answer, error and departure ends it. */
export class ProxyExchange {
  readonly #parts: ExchangeParts;
  #outgoing: ClientRequest | null = null;
  #state: "asking" | "answering" | "over" = "asking";
  #attemptCount = 0;
  #movedMs: number; // When something last happened,
  #movedBytes = 0; // and how far the client's connection was then.

  constructor(parts: ExchangeParts) {
    this.#parts = parts;
    const { response, nowMs } = parts.exchange.parts;
    this.#movedMs = nowMs();
    // The client is gone, or has everything: `aborted` on its request would not tell (it is complete long before).
    response.once("close", () => this.#end());
  }

  start(): void {
    this.#attemptCount++;
    try {
      this.#parts.send(this);
    } catch (cause) {
      this.#fail("PROXY_FAILED", describe(cause));
    }
  }

  take(outgoing: ClientRequest): void {
    const { path, body } = this.#parts;
    this.#outgoing = outgoing;
    outgoing.path = path; // http-proxy's own joining would fold slashes.
    outgoing.once("response", (incoming) => this.#answer(incoming));
    outgoing.on("error", (cause) => this.#onError(outgoing, cause));
    outgoing.once("close", () => this.#onError(outgoing, new Error("it closed the connection without an answer"))); // Not every such end is an error.
    if (body.length > 0) outgoing.end(body);
    else outgoing.end();
  }

  /** Ends what takes too long. */
  sweep(nowMs: number): void {
    const { answerTimeoutMs, stallTimeoutMs } = this.#parts.times;
    if (this.#state === "asking" && nowMs - this.#movedMs >= answerTimeoutMs)
      return this.#fail("PROXY_TIMED_OUT", `it sent no status within ${answerTimeoutMs} ms`);
    if (this.#state !== "answering") return;
    const bytes = this.#parts.exchange.parts.response.socket?.bytesWritten ?? 0;
    if (bytes !== this.#movedBytes) {
      this.#movedBytes = bytes;
      this.#movedMs = nowMs;
    } else if (nowMs - this.#movedMs >= stallTimeoutMs) this.#cut();
  }

  #answer(incoming: IncomingMessage): void {
    incoming.on("error", () => undefined); // "close" follows, and tells whether it was complete.
    const { exchange } = this.#parts;
    if (this.#state !== "asking" || !exchange.begin()) return this.#end();
    const { response, id, nowMs, serving } = exchange.parts;
    const status = incoming.statusCode ?? 0;
    try {
      response.writeHead(status, answerHeaders(incoming.rawHeaders, { requestId: id, status }));
    } catch (cause) {
      return this.#fail("PROXY_FAILED", `its status or headers cannot be sent on: ${describe(cause)}`);
    }
    this.#state = "answering";
    this.#movedMs = nowMs();
    giveBack(serving.heldBodies, exchange.bodyBytes); // Nothing will send it again.
    exchange.bodyBytes = 0;
    incoming.once("close", () => {
      if (!incoming.complete) this.#cut();
    });
    incoming.pipe(response);
  }

  // An answer that began has heard of it as "close" of the incoming message.
  #onError(outgoing: ClientRequest, cause: NodeJS.ErrnoException): void {
    if (this.#state !== "asking" || outgoing !== this.#outgoing) return;
    // An upstream may close a connection while we write into it; safe requests go out again, on another one.
    const isStale = outgoing.reusedSocket && (cause.code === "ECONNRESET" || cause.code === "EPIPE");
    const { method } = this.#parts.exchange.parts.response.req;
    if (isStale && this.#attemptCount === 1 && isIdempotent(method ?? "")) return this.start();
    this.#fail("PROXY_FAILED", describe(cause));
  }

  #fail(code: ErrorCode, what: string): void {
    if (this.#state !== "asking") return;
    const detail = `${this.#parts.origin}: ${what}`;
    this.#state = "over";
    if (!this.#parts.exchange.isAbandoned()) this.#parts.tell(code, detail);
    this.#parts.exchange.fail(code, detail);
    this.#leave();
  }

  /** So that no short answer looks complete. */
  #cut(): void {
    if (this.#state !== "answering") return;
    this.#parts.tell("PROXY_FAILED", `${this.#parts.origin}: it broke off, or stood still, in the middle of its answer`);
    this.#parts.exchange.parts.response.destroy();
    this.#end();
  }

  #end(): void {
    if (this.#state === "over") return;
    this.#state = "over";
    this.#parts.exchange.finish();
    this.#leave();
  }

  #leave(): void {
    this.#outgoing?.destroy();
    this.#parts.onOver(this);
  }
}

/** What a visitor outside production may read of a failure: its code where it has one. */
export function describe(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const text = cause.message === "" ? cause.name : cause.message; // Several addresses that all refuse: an error without a message.
  return "code" in cause && typeof cause.code === "string" ? `${text} (${cause.code})` : text;
}

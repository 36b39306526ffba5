// One request after the other: builds the event, calls the handler, and turns its first outcome into the one answer.
import { AsyncLocalStorage } from "node:async_hooks";
import { decodeEnvelope, encodeEnvelope, ENVELOPE_VERSION, type AnswerHeader, type RequestHeader } from "../contract/envelope.ts";
import { PlatformError, type ErrorCode } from "../contract/errors.ts";
import { ANSWER_INLINE_BYTES_MAX } from "../contract/limits.ts";
import type { BridgeRequest } from "../library/bridge.ts";
import { isCallerFault } from "../library/caller-fault.ts";
import { siteFileAsked, type SiteFileAsked } from "../library/site-file.ts";
import { InvocationContext, type FunctionFacts } from "./context.ts";
import { describeError } from "./describe-error.ts";
import type { Answer, PayloadAdapter } from "./generations/generation.ts";
import type { HeldAnswers } from "./held-answers.ts";
import type { Handler } from "./load-handler.ts";
import type { Log } from "./log.ts";
import type { SharedState } from "./shared-state.ts";

export interface Invoker {
  /** Takes one request envelope. Never throws. */
  receive(bytes: Uint8Array, replyTo: string): void;
  /** An error that no handler caught: true when it belonged to a request, which failed with it. */
  failCurrent(thrown: unknown): boolean;
  /** Forgets requests whose deadline passed: their gateway has answered. */
  sweep(): void;
  inFlightCount(): number;
}

interface Options {
  readonly handler: Handler;
  readonly adapter: PayloadAdapter;
  readonly facts: FunctionFacts;
  readonly concurrency: number; // Requests at once. Gateways keep to it, each for itself: while one takes over from another, there are two.
  readonly folder: string;
  readonly log: Log;
  readonly held: HeldAnswers;
  readonly shared: SharedState;
  readonly publish: (subject: string, bytes: Uint8Array) => void;
}

interface Invocation {
  readonly header: RequestHeader;
  readonly replyTo: string;
  readonly deadlineMs: number;
  readonly context: InvocationContext;
  state: "waiting" | "open" | "answered" | "expired";
  isLateNoted: boolean;
}

const invocations = new AsyncLocalStorage<Invocation>();

/** The request that the running code belongs to. */
export const currentRequest = (): BridgeRequest | null => invocations.getStore()?.header ?? null;
export const currentRequestId = (): string | null => invocations.getStore()?.header.id ?? null;

const STORE_CODES: readonly ErrorCode[] = ["STORE_UNAVAILABLE", "STORE_FULL"];

/** What the store could not do, and the handler did not catch, keeps its own code; a batch of the library names that of its first failure. */
function codeOf(thrown: unknown): ErrorCode {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  return STORE_CODES.find((known) => known === code) ?? "HANDLER_THREW";
}

export function createInvoker(options: Options): Invoker {
  const { adapter, handler, log, publish } = options;
  const inFlight = new Set<Invocation>();
  const waiting: { readonly invocation: Invocation; readonly body: Uint8Array }[] = [];
  let openCount = 0;

  const answer = (replyTo: string, header: AnswerHeader, body?: Uint8Array) => publish(replyTo, encodeEnvelope(header, body));

  const close = (invocation: Invocation, state: "answered" | "expired") => {
    if (invocation.state === "open") openCount -= 1;
    invocation.state = state;
    inFlight.delete(invocation);
    if (waiting.length > 0) queueMicrotask(beginNext); // When the answer of this one is on its way.
    options.shared.setRequestCount(inFlight.size);
    InvocationContext.release(invocation.context);
  };

  /** The first outcome wins, and only in time; what comes later is told to the owner once and goes nowhere. */
  const isFirst = (invocation: Invocation): boolean => {
    if (invocation.state === "open") {
      const lateMs = performance.now() - invocation.deadlineMs;
      close(invocation, lateMs > 0 ? "expired" : "answered");
      if (lateMs <= 0) return true;
    }
    if (!invocation.isLateNoted) {
      invocation.isLateNoted = true;
      const text =
        invocation.state === "expired"
          ? "The handler answered after its deadline: the answer was dropped."
          : "The handler answered more than once: the first answer was sent.";
      log.print("warn", text, invocation.header.id);
    }
    return false;
  };

  const fail = (invocation: Invocation, thrown: unknown, prefix = "") => {
    if (isCallerFault(thrown)) return blameCaller(invocation, thrown);
    const file = siteFileAsked(thrown);
    if (file !== null) return passToSite(invocation, file);
    const { message, stack } = describeError(thrown, options.folder);
    log.print("error", `${prefix}${stack.includes(message) ? stack : `${message}\n${stack}`}`, invocation.header.id);
    if (invocation.state === "answered") return; // It was answered before; the log line is all that is left to say.
    if (isFirst(invocation)) failWith(invocation, { code: codeOf(thrown), message: prefix + message, stack });
  };

  /** Nothing in the function's code is wrong: no stack would help. */
  const blameCaller = (invocation: Invocation, { message }: Error) => {
    log.print("warn", message, invocation.header.id);
    if (invocation.state !== "answered" && isFirst(invocation)) failWith(invocation, { code: "BODY_MALFORMED", message });
  };

  const passToSite = (invocation: Invocation, { path, isSpa }: SiteFileAsked) => {
    if (isFirst(invocation)) answer(invocation.replyTo, { v: ENVELOPE_VERSION, kind: "site", path, isSpa });
  };

  const failWith = (invocation: Invocation, failure: { readonly code: ErrorCode; readonly message: string; readonly stack?: string }) =>
    answer(invocation.replyTo, { v: ENVELOPE_VERSION, kind: "failed", ...failure });

  const succeed = (invocation: Invocation, value: unknown) => {
    // A handler that called back and then returned nothing has answered once, not twice.
    if (value === undefined && invocation.state === "answered") return;
    if (!isFirst(invocation)) return;
    let result: Answer;
    try {
      result = adapter.toAnswer(value, invocation.header);
    } catch (thrown) {
      refuse(invocation, thrown);
      return;
    }
    send(invocation, result);
  };

  const refuse = (invocation: Invocation, thrown: unknown) => {
    const { message, stack } = describeError(thrown, options.folder);
    const isOurs = thrown instanceof PlatformError;
    const code: ErrorCode = isOurs ? thrown.code : "HANDLER_ANSWER_INVALID";
    const text = isOurs ? thrown.message : message;
    log.print("error", isOurs ? text : `${text}\n${stack}`, invocation.header.id);
    failWith(invocation, { code, message: text });
  };

  const send = (invocation: Invocation, { status, headers, body }: Answer) => {
    const isBodySent = invocation.header.method !== "HEAD" && status !== 204 && status !== 304;
    const bodyBytes = body.length;
    if (!isBodySent) answer(invocation.replyTo, { v: ENVELOPE_VERSION, kind: "whole", status, headers, bodyBytes });
    else if (bodyBytes <= ANSWER_INLINE_BYTES_MAX)
      answer(invocation.replyTo, { v: ENVELOPE_VERSION, kind: "whole", status, headers, bodyBytes }, body);
    else answer(invocation.replyTo, { v: ENVELOPE_VERSION, kind: "held", status, headers, bodyBytes, streamId: options.held.hold(body) });
  };

  const begin = (invocation: Invocation, body: Uint8Array) => {
    invocation.state = "open";
    openCount += 1;
    invocations.run(invocation, call, invocation, body);
  };

  const beginNext = () => {
    while (openCount < options.concurrency) {
      const next = waiting.shift();
      if (next === undefined) return;
      if (next.invocation.state === "waiting") begin(next.invocation, next.body); // Others have expired meanwhile.
    }
  };

  const call = (invocation: Invocation, body: Uint8Array) => {
    const callback = (thrown: unknown, value: unknown) => {
      if (thrown === null || thrown === undefined) succeed(invocation, value);
      else fail(invocation, thrown);
    };
    let returned: unknown;
    try {
      // A body that is malformed fails the request before its handler is called.
      returned = handler(adapter.toEvent(invocation.header, body), invocation.context, callback);
    } catch (thrown) {
      fail(invocation, thrown);
      return;
    }
    settle(invocation, returned);
  };

  const settle = (invocation: Invocation, returned: unknown) => {
    if (isThenable(returned))
      returned.then(
        (value) => succeed(invocation, value),
        (thrown: unknown) => fail(invocation, thrown),
      );
    else if (returned !== undefined || handler.length < 3) succeed(invocation, returned);
  };

  return {
    receive(bytes, replyTo) {
      let header: RequestHeader;
      let body: Uint8Array;
      try {
        ({ header, body } = decodeEnvelope<RequestHeader>(bytes));
      } catch (thrown) {
        refuseEnvelope(thrown, replyTo);
        return;
      }
      const deadlineMs = performance.now() + header.timeoutMs;
      const context = new InvocationContext(header, options.facts, deadlineMs);
      const invocation: Invocation = { header, replyTo, deadlineMs, context, state: "waiting", isLateNoted: false };
      inFlight.add(invocation);
      options.shared.setRequestCount(inFlight.size);
      if (openCount < options.concurrency) begin(invocation, body);
      else waiting.push({ invocation, body });
    },
    failCurrent(thrown) {
      const invocation = invocations.getStore();
      if (invocation === undefined) return false;
      fail(invocation, thrown, "An error outside of its handler: ");
      return true;
    },
    sweep() {
      const nowMs = performance.now();
      for (const invocation of inFlight) if (nowMs > invocation.deadlineMs) close(invocation, "expired");
    },
    inFlightCount: () => inFlight.size,
  };

  function refuseEnvelope(thrown: unknown, replyTo: string): void {
    const { message } = describeError(thrown, options.folder);
    log.print("error", `A request could not be read: ${message}`, null);
    answer(replyTo, { v: ENVELOPE_VERSION, kind: "failed", code: "INTERNAL", message });
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

// The second argument of a handler.
import type { RequestHeader } from "../contract/envelope.ts";
import type { InstanceManifest } from "../contract/instance-manifest.ts";

export interface FunctionFacts {
  readonly functionName: string;
  readonly invokedFunctionArn: string;
  readonly memoryLimitInMB: string;
}

/** What is the same in every context of this instance. */
export function functionFacts(manifest: InstanceManifest): FunctionFacts {
  return {
    functionName: manifest.functionName,
    invokedFunctionArn: `arn:orchestrator:function:${manifest.environment}:${manifest.appId}:${manifest.functionName}`,
    memoryLimitInMB: String(Math.floor(manifest.memoryBytesMax / 1_000_000)),
  };
}

export class InvocationContext {
  callbackWaitsForEmptyEventLoop = true; // Handlers set it to false for AWS; here an answer never waits for anything.
  readonly awsRequestId: string;
  readonly functionName: string;
  readonly functionVersion = "$LATEST";
  readonly invokedFunctionArn: string;
  readonly memoryLimitInMB: string;
  readonly getRemainingTimeInMillis: () => number; // An own field, so that it survives a spread of the context.
  readonly #deadlineMs: number;
  #deadline: Deadline | null = null;

  constructor(header: RequestHeader, facts: FunctionFacts, deadlineMs: number) {
    this.awsRequestId = header.id;
    this.functionName = facts.functionName;
    this.invokedFunctionArn = facts.invokedFunctionArn;
    this.memoryLimitInMB = facts.memoryLimitInMB;
    this.#deadlineMs = deadlineMs;
    this.getRemainingTimeInMillis = () => Math.max(0, Math.floor(deadlineMs - performance.now()));
  }

  /** Aborts at the deadline. Made when it is first asked for: most handlers never do, and should not pay for a timer. */
  get signal(): AbortSignal {
    this.#deadline ??= startDeadline(this.#deadlineMs);
    return this.#deadline.controller.signal;
  }

  /** The request is over one way or the other: its timer should not fire any more. */
  static release(context: InvocationContext): void {
    if (context.#deadline !== null) clearTimeout(context.#deadline.timer);
  }
}

interface Deadline {
  readonly controller: AbortController;
  readonly timer: NodeJS.Timeout;
}

function startDeadline(deadlineMs: number): Deadline {
  const controller = new AbortController();
  const abort = () => controller.abort(new DOMException("The handler's time is over.", "TimeoutError"));
  // Timers count whole milliseconds and may come a fraction early; the deadline has passed when the signal says so.
  const timer = setTimeout(abort, Math.max(0, Math.ceil(deadlineMs - performance.now()) + 1));
  timer.unref();
  return { controller, timer };
}

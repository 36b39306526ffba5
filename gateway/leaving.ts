// How a gateway goes: told to stop, or replaced by a successor that serves on its sockets.
import { PlatformError } from "../runtime-image/contract/errors.ts";
import type { HandOverStatus } from "../runtime-image/contract/gateway-config.ts";
import { GATEWAY_DRAIN_TIMEOUT_MS, GATEWAY_IDLE_GRACE_MS, STOP_GRACE_MS } from "../runtime-image/contract/limits.ts";
import type { Log } from "./log.ts";
import type { Patience } from "./stopping.ts";

export interface Leaving {
  readonly isLeaving: boolean;
  readonly handOver: HandOverStatus;
  /** Finishes what is open and ends this process. Said again, it hurries. */
  stop(reason: string): void;
  /** Ends this process once another one has taken its place; where none can, it serves on. */
  replace(): void;
}

export interface LeavingParts {
  readonly requestCount: () => number;
  readonly startSuccessor: (signal: AbortSignal) => Promise<number>; // Its pid, once it serves.
  readonly drain: (patience: Patience) => Promise<void>;
  readonly end: () => Promise<void>;
  readonly log: Log;
}

const STOP_MARGIN_MS = 500; // Whoever stops us kills after the grace; we are done before.
const STOPPED: Patience = {
  idleMs: 500, // A request that is on its way while we stop still arrives.
  tunnelMs: STOP_GRACE_MS - STOP_MARGIN_MS,
  requestMs: STOP_GRACE_MS - STOP_MARGIN_MS,
};
const REPLACED: Patience = { idleMs: GATEWAY_IDLE_GRACE_MS, tunnelMs: STOP_GRACE_MS, requestMs: GATEWAY_DRAIN_TIMEOUT_MS };

export function createLeaving(parts: LeavingParts): Leaving {
  const { log } = parts;
  const stopped = new AbortController();
  let state: "serving" | "replacing" | "leaving" = "serving";
  let status: HandOverStatus = { failureCount: 0, lastFailure: null };

  const leave = async (patience: Patience, why: Readonly<Record<string, unknown>>): Promise<void> => {
    const isFirst = state !== "leaving";
    state = "leaving";
    log.info("stopping", { ...why, requestCount: parts.requestCount() });
    await parts.drain(patience);
    if (isFirst) await parts.end();
  };
  const replace = async (): Promise<void> => {
    state = "replacing";
    try {
      const pid = await parts.startSuccessor(stopped.signal);
      await leave(REPLACED, { successorPid: pid });
    } catch (cause) {
      if (stopped.signal.aborted) return;
      state = "serving";
      const lastFailure = cause instanceof PlatformError ? (cause.detail.detail ?? cause.message) : String(cause);
      status = { failureCount: status.failureCount + 1, lastFailure };
      log.error("no successor took over; this gateway serves on", { code: "GATEWAY_NOT_REPLACED", reason: lastFailure });
    }
  };

  return {
    get isLeaving() {
      return state === "leaving";
    },
    get handOver() {
      return status;
    },
    stop(reason) {
      stopped.abort();
      void leave(STOPPED, { signal: reason }); // Nothing in it fails.
    },
    replace() {
      if (state === "serving") void replace(); // It tells its failures itself.
    },
  };
}

// How a gateway that goes runs out of patience: with connections that ask nothing first, then with WebSockets, then with requests.
import type { Clock } from "./clock.ts";
import type { Serving } from "./http-job.ts";

/** How long what is open may go on once the sockets are closed. */
export interface Patience {
  readonly idleMs: number; // Connections on which nothing is asked, and silent WebSockets.
  readonly tunnelMs: number; // WebSockets.
  readonly requestMs: number;
}

export interface Stopping {
  /** Begins to count; another call can only make it shorter. */
  within(patience: Patience): void;
  over(): void;
}

export interface StoppingParts {
  readonly clock: Clock;
  readonly serving: Serving;
  readonly endIdle: (nowMs: number, idleMs: number) => void;
  readonly endTunnels: () => void;
  readonly endRequests: () => void;
}

const CHECK_INTERVAL_MS = 100;

export function createStopping(parts: StoppingParts): Stopping {
  let idleMs = Number.POSITIVE_INFINITY;
  let silenceEndsMs = Number.POSITIVE_INFINITY;
  let tunnelsEndMs = Number.POSITIVE_INFINITY;
  let requestsEndMs = Number.POSITIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  const check = (): void => {
    const nowMs = parts.clock.nowMs();
    parts.endIdle(nowMs, idleMs);
    if (nowMs >= silenceEndsMs) parts.serving.endsTunnels = true;
    if (nowMs >= tunnelsEndMs) parts.endTunnels();
    if (nowMs >= requestsEndMs) parts.endRequests();
  };
  return {
    within(patience) {
      const nowMs = parts.clock.nowMs();
      idleMs = Math.min(idleMs, patience.idleMs);
      silenceEndsMs = Math.min(silenceEndsMs, nowMs + patience.idleMs);
      tunnelsEndMs = Math.min(tunnelsEndMs, nowMs + patience.tunnelMs);
      requestsEndMs = Math.min(requestsEndMs, nowMs + patience.requestMs);
      timer ??= setInterval(check, CHECK_INTERVAL_MS);
      check();
    },
    over: () => clearInterval(timer),
  };
}

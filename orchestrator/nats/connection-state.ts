// Knows whether a connection is up, so that nothing is sent into one that is lost, and nobody waits for an answer that cannot come.
import { PlatformError } from "../../runtime-image/contract/errors.ts";

export interface ConnectionState {
  markLost(): void;
  markUp(): void;
  /** Resolves at once while it is up. Throws BROKER_UNAVAILABLE where it does not come back in time. */
  untilUp(timeoutMs: number): Promise<void>;
  /** Fails with BROKER_UNAVAILABLE as soon as the connection is lost, whatever the action would still wait for. */
  unlessLost<Result>(action: () => Promise<Result>): Promise<Result>;
}

export function createConnectionState(url: string): ConnectionState {
  let isUp = true;
  const waiting = new Set<() => void>(); // For the connection to come back.
  const working = new Set<(error: PlatformError) => void>(); // On a connection that may get lost.
  const unavailable = (detail: string): PlatformError => new PlatformError("BROKER_UNAVAILABLE", { detail });
  return {
    markLost: () => {
      isUp = false;
      for (const fail of working) fail(unavailable(`The connection to ${url} was lost.`));
    },
    markUp: () => {
      isUp = true;
      for (const resume of waiting) resume();
    },
    untilUp: async (timeoutMs) => {
      if (isUp) return;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const timer = setTimeout(() => reject(unavailable(`The connection to ${url} is lost.`)), timeoutMs);
      waiting.add(resolve);
      try {
        await promise;
      } finally {
        clearTimeout(timer);
        waiting.delete(resolve);
      }
    },
    unlessLost: async (action) => {
      const { promise, reject } = Promise.withResolvers<never>();
      working.add(reject);
      try {
        return await Promise.race([action(), promise]);
      } finally {
        working.delete(reject);
      }
    },
  };
}

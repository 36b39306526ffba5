// Hears of instances, one line per app and environment, for as long as there are any.
import type { InstanceEvent } from "../../runtime-image/contract/instance-events.ts";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";

export interface FleetTarget {
  readonly appId: string;
  readonly environment: Environment;
}

export interface Hearing {
  /** Resolves when events are heard; the first who asks begins it. */
  hear(target: FleetTarget): Promise<void>;
  /** Ends it, where it was begun. */
  hush(target: FleetTarget): void;
}

export const keyOf = (target: FleetTarget): string => `${target.environment}/${target.appId}`;

export interface HeardBroker {
  /** Until the function that it gives is called. */
  onEvent(target: FleetTarget, listener: (event: InstanceEvent) => void): Promise<() => void>;
}

export function createHearing(broker: HeardBroker, onEvent: (event: InstanceEvent) => void): Hearing {
  const heard = new Map<string, Promise<() => void>>();
  return {
    async hear(target) {
      const key = keyOf(target);
      const hearing = heard.get(key) ?? broker.onEvent(target, onEvent);
      heard.set(key, hearing);
      try {
        await hearing;
      } catch (cause) {
        if (heard.get(key) === hearing) heard.delete(key);
        throw cause;
      }
    },
    hush(target) {
      const key = keyOf(target);
      const hearing = heard.get(key);
      heard.delete(key);
      hearing?.then(
        (end) => end(),
        () => undefined, // Whoever wanted to hear was told.
      );
    },
  };
}

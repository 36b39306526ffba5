// Decides which instances to ping and which are lost. Knows no broker and no clock: it is told the time.
import { PROBE_INTERVAL_MS, PROBE_TIMEOUT_MS } from "../../runtime-image/contract/limits.ts";
import type { Instance } from "./instance.ts";

export interface ProbeActions {
  readonly ping: readonly Instance[];
  readonly lost: readonly Instance[];
}

export interface Probes {
  /** Called often with the instances that owe us something for too long. */
  sweep(due: ReadonlySet<Instance>, now: { readonly nowMs: number; readonly blockedMs: number }): ProbeActions;
  heard(instance: Instance): void;
  /** Forgets every ping that is out: the link they went over is gone. */
  reset(): void;
}

export function createProbes(): Probes {
  const probed = new Set<Instance>();
  const forget = (instance: Instance): void => {
    instance.silentSinceMs = null;
    probed.delete(instance);
  };
  return {
    sweep(due, { nowMs, blockedMs }) {
      for (const instance of probed) {
        if (!due.has(instance)) forget(instance);
        // While this process was blocked nobody could have been heard.
        else if (instance.silentSinceMs !== null) instance.silentSinceMs = Math.min(nowMs, instance.silentSinceMs + blockedMs);
      }
      const ping: Instance[] = [];
      const lost: Instance[] = [];
      for (const instance of due) {
        if (instance.silentSinceMs !== null && nowMs - instance.silentSinceMs >= PROBE_TIMEOUT_MS) {
          lost.push(instance);
          forget(instance);
        } else if (nowMs - instance.lastPingMs >= PROBE_INTERVAL_MS) {
          instance.silentSinceMs ??= nowMs;
          instance.lastPingMs = nowMs;
          probed.add(instance);
          ping.push(instance);
        }
      }
      return { ping, lost };
    },
    heard(instance) {
      if (instance.silentSinceMs !== null) instance.silentSinceMs = null;
    },
    reset() {
      for (const instance of probed) instance.silentSinceMs = null;
      probed.clear();
    },
  };
}

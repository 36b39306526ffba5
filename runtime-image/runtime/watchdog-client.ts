// Starts the watchdog thread and gives it its orders.
import path from "node:path";
import { Worker } from "node:worker_threads";
import type { BrokerAccess, InstanceManifest } from "../contract/instance-manifest.ts";
import { WATCHDOG_GRACE_MS } from "../contract/limits.ts";
import type { SharedState } from "./shared-state.ts";

const HEAP_MB_MAX = 24; // It holds one connection and a few numbers; a small heap is collected early.

export interface WatchdogOrders {
  readonly instanceId: string;
  readonly broker: BrokerAccess;
  readonly replyPrefix: string;
  readonly memory: SharedArrayBuffer;
  readonly blockedAfterMs: number;
  readonly memoryBytesMax: number | null;
}

interface Listener {
  readonly onAnswering: () => void; // From now on it answers the pings.
  readonly onEnd: (reason: string) => void; // It should never end.
}

export function startWatchdog(manifest: InstanceManifest, options: { shared: SharedState; replyPrefix: string; listener: Listener }): void {
  const { listener } = options;
  const orders: WatchdogOrders = {
    instanceId: manifest.instanceId,
    broker: manifest.broker,
    replyPrefix: options.replyPrefix,
    memory: options.shared.memory,
    blockedAfterMs: manifest.timeoutMs + WATCHDOG_GRACE_MS,
    memoryBytesMax: manifest.watchMemory ? manifest.memoryBytesMax : null,
  };
  const worker = new Worker(path.join(import.meta.dirname, "watchdog.js"), {
    workerData: orders,
    env: {}, // It needs none of what user code may have put there.
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX, maxYoungGenerationSizeMb: 2 },
  });
  worker.unref();
  worker.once("message", listener.onAnswering);
  worker.once("error", (error) => listener.onEnd(String(error)));
  worker.once("exit", (code) => listener.onEnd(`it exited with code ${code}`));
}

// The watchdog thread: answers pings whatever the main thread does, and ends the process when that is blocked or too large.
import { setFlagsFromString } from "node:v8";
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import { pingSubject } from "../contract/subjects.ts";
import { connectBus } from "./bus.ts";
import { encodePong } from "./pong.ts";
import { printAtOnce, writePrinted } from "./log.ts";
import { createSharedState, type SharedState } from "./shared-state.ts";
import type { WatchdogOrders } from "./watchdog-client.ts";
import { judge, startWatch, type Observation, type Verdict } from "./watchdog-verdict.ts";

const LOOK_INTERVAL_MS = 250;
const GAP_MS = 1_000; // Four looks that did not happen.
const BROKER_TIMEOUT_MS = 30_000; // Until then the main thread answers the pings itself.
const SECOND_SHOT_DELAY_MS = 100;

async function answerPings(orders: WatchdogOrders, shared: SharedState): Promise<void> {
  const bus = await connectBus(orders.broker, { name: `watchdog ${orders.instanceId}`, timeoutMs: BROKER_TIMEOUT_MS });
  bus.subscribe(pingSubject(orders.instanceId), (_bytes, replyTo) => {
    if (replyTo.startsWith(orders.replyPrefix)) bus.publish(replyTo, encodePong(orders.instanceId, shared));
  });
  await bus.flush();
  // eslint-disable-next-line unicorn/require-post-message-target-origin -- A thread has no origin.
  parentPort?.postMessage("answering");
}

function watch(orders: WatchdogOrders, shared: SharedState): void {
  const { memoryBytesMax } = orders;
  const look = (): Observation => ({
    nowMs: performance.now(),
    tickCount: shared.tickCount(),
    residentBytes: memoryBytesMax === null ? 0 : process.memoryUsage.rss(),
  });
  let state = startWatch(look());
  setInterval(() => {
    const seen = judge(state, look(), { blockedAfterMs: orders.blockedAfterMs, gapMs: GAP_MS, memoryBytesMax });
    state = seen.watch;
    if (seen.verdict.kind !== "fine") endProcess(explain(seen.verdict, orders), shared);
  }, LOOK_INTERVAL_MS);
}

function explain(verdict: Exclude<Verdict, { kind: "fine" }>, orders: WatchdogOrders): string {
  if (verdict.kind === "blocked")
    return `The event loop was blocked for ${Math.round(verdict.blockedMs)} ms, longer than the handler's timeout allows: the instance was ended.`;
  return `The instance used ${megabytes(verdict.residentBytes)} MB of memory, more than the ${megabytes(orders.memoryBytesMax ?? 0)} MB it may: it was ended.`;
}

const megabytes = (bytes: number): number => Math.round(bytes / 1_000_000);

function endProcess(reason: string, shared: SharedState): void {
  writePrinted(shared);
  printAtOnce("error", reason);
  process.kill(process.pid, "SIGKILL");
  // The kernel ignores signals that process 1 of a container sends to itself. A breakpoint trap is no signal from
  // anyone but a fault of its own, which ends even process 1; no other way out exists in a thread.
  setTimeout(() => {
    setFlagsFromString("--allow-natives-syntax");
    // eslint-disable-next-line no-new-func, typescript/no-implied-eval -- The syntax is only known after the flag was set.
    new Function("%SystemBreak()")();
  }, SECOND_SHOT_DELAY_MS);
}

function start(orders: WatchdogOrders): void {
  const shared = createSharedState(orders.memory);
  watch(orders, shared);
  // A broker that stays away leaves the pings to the main thread; the watch goes on.
  answerPings(orders, shared).catch((error: unknown) => printAtOnce("warn", `The watchdog cannot answer pings: ${String(error)}`));
}

// In the main thread it is only loaded, to warm the compile cache. In its own, watchdog-client.ts gave it its orders.
if (!isMainThread) start(workerData as WatchdogOrders);

// From ready to gone: serves, retires on a signal or an error, finishes what it has, and exits.
import { encodeEnvelope, decodeEnvelope, ENVELOPE_VERSION, type PullHeader } from "../contract/envelope.ts";
import type { InstanceEvent } from "../contract/instance-events.ts";
import type { InstanceManifest } from "../contract/instance-manifest.ts";
import { WATCHDOG_TICK_MS } from "../contract/limits.ts";
import { eventSubject, pingSubject, pullSubject, requestSubject } from "../contract/subjects.ts";
import type { Bus, BusSubscription } from "./bus.ts";
import type { HeldAnswers } from "./held-answers.ts";
import type { Invoker } from "./invoke.ts";
import type { Log } from "./log.ts";
import { encodePong } from "./pong.ts";
import type { SharedState } from "./shared-state.ts";

const FINISH_EXTRA_MS = 1_000; // Past the handler's timeout, for answers to get out.
const FINISH_POLL_MS = 10;
const TELL_AGAIN_DELAY_MS = 100;
const LAST_FLUSH_TIMEOUT_MS = 1_000; // A broker that is away must not keep an instance from ending.

export interface Lifecycle {
  /** Takes requests from now on, and says so. */
  serve(loadMs: number): Promise<void>;
  /** The watchdog answers the pings from now on. */
  leavePingsToWatchdog(): void;
  /** Takes no more requests, finishes those it has, and exits. Only the first call counts. */
  retire(reason: string, exitCode: number): void;
  isRetiring(): boolean;
}

interface Parts {
  readonly manifest: InstanceManifest;
  readonly bus: Bus;
  readonly invoker: Invoker;
  readonly held: HeldAnswers;
  readonly shared: SharedState;
  readonly log: Log;
  /** An answer may only go to this instance's own branch. */
  readonly replyPrefix: string;
  /** What stores put off while requests were waiting. */
  readonly settle: () => Promise<void>;
  readonly exit: (code: number) => void;
}

export function createLifecycle(parts: Parts): Lifecycle {
  const { manifest, bus, invoker, held, shared, log, replyPrefix } = parts;
  let requests: BusSubscription | null = null;
  let pings: BusSubscription | null = null;
  let isRetiring = false;

  const isOwnBranch = (replyTo: string): boolean => {
    if (replyTo.startsWith(replyPrefix)) return true;
    log.print("warn", `A message that wants its answer on "${replyTo}" was dropped: this instance speaks on "${replyPrefix}" only.`, null);
    return false;
  };
  const pull = (bytes: Uint8Array, replyTo: string) => {
    try {
      held.pull(decodeEnvelope<PullHeader>(bytes).header, replyTo);
    } catch {
      bus.publish(replyTo, encodeEnvelope({ v: ENVELOPE_VERSION, kind: "gone" })); // An envelope that cannot be read asks for nothing there is.
    }
  };
  const subscribe = () => {
    pings = bus.subscribe(pingSubject(manifest.instanceId), (_bytes, replyTo) => {
      if (isOwnBranch(replyTo)) bus.publish(replyTo, encodePong(manifest.instanceId, shared));
    });
    bus.subscribe(pullSubject(manifest.instanceId), (bytes, replyTo) => {
      if (isOwnBranch(replyTo)) pull(bytes, replyTo);
    });
    requests = bus.subscribe(requestSubject(manifest.instanceId), (bytes, replyTo) => {
      if (isOwnBranch(replyTo)) invoker.receive(bytes, replyTo);
    });
  };
  const tick = () => {
    shared.tick();
    invoker.sweep();
    held.sweep();
  };
  const finish = async (reason: string) => {
    publishEvent(bus, { kind: "retiring", instanceId: manifest.instanceId, reason });
    await requests?.drain();
    await until(() => invoker.inFlightCount() === 0 && held.count() === 0);
    await within(LAST_FLUSH_TIMEOUT_MS, parts.settle());
    await bus.flush();
  };

  /** Until the broker has it: one that restarts in this very moment may take it along. Heard twice, it says nothing new. */
  const tell = async (event: InstanceEvent): Promise<void> => {
    for (;;) {
      publishEvent(bus, event);
      const isTold = await bus.flush().then(
        () => true,
        () => false,
      );
      if (isTold || isRetiring) return;
      await new Promise((resolve) => setTimeout(resolve, TELL_AGAIN_DELAY_MS));
    }
  };

  return {
    async serve(loadMs) {
      subscribe();
      setInterval(tick, WATCHDOG_TICK_MS).unref();
      shared.setState("ready");
      await tell({ kind: "ready", instanceId: manifest.instanceId, loadMs });
    },
    leavePingsToWatchdog: () => void pings?.drain(), // It resolves either way.
    retire(reason, exitCode) {
      if (isRetiring) return;
      isRetiring = true;
      shared.setState("retiring");
      const timeoutMs = manifest.timeoutMs + FINISH_EXTRA_MS;
      void within(timeoutMs, finish(reason)).finally(() => parts.exit(exitCode)); // within() never rejects.
    },
    isRetiring: () => isRetiring,
  };
}

export function publishEvent(bus: Bus, event: InstanceEvent): void {
  bus.publish(eventSubject(event.instanceId), Buffer.from(JSON.stringify(event)));
}

/** Says why this instance never became ready. */
export async function reportFailure(bus: Bus, event: Extract<InstanceEvent, { kind: "failed" }>): Promise<void> {
  publishEvent(bus, event);
  await within(LAST_FLUSH_TIMEOUT_MS, bus.flush());
}

/** Resolves when the task is done, failed, or out of time: for the last steps before an exit, which come next in any case. */
async function within(timeoutMs: number, task: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([task.catch(() => undefined), timeout]);
  clearTimeout(timer);
}

function until(condition: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const check = () => {
      if (condition()) resolve();
      else setTimeout(check, FINISH_POLL_MS);
    };
    check();
  });
}

// Notices exits of instances: those of own children by their event, those of adopted ones by looking again and again.
import { open } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

import { decodePrintedLine } from "../../runtime-image/contract/log-line.ts";
import type { StartedProcess } from "../processes/detached.ts";
import { createLookout } from "../processes/identity.ts";
import type { Identity } from "../processes/identity.ts";
import type { InstanceExit } from "./engine.ts";

export interface ExitWatch {
  addOwn(instance: PrintingInstance, started: StartedProcess): void;
  addAdopted(instance: PrintingInstance, identity: Identity): void;
  watch(onExit: (exit: InstanceExit) => void, signal: AbortSignal): void;
}

export interface PrintingInstance {
  readonly instanceId: string;
  readonly outputFile: string;
  readonly errorFile: string;
}

type OnExit = (exit: InstanceExit) => void;

const POLL_MS = 250;
const TAIL_BYTES = 16_384; // V8 writes a stack of a few KB behind its message; of a runtime's it is the last line.
const ABORTED = 134; // 128 + SIGABRT, as V8 ends a process whose heap is full.
const KILLED = 137; // 128 + SIGKILL, as the runtime's watchdog ends one that takes more than it may.

export function createExitWatch(): ExitWatch {
  const listeners = new Set<OnExit>();
  const known = new Set<string>();
  const adopted = new Map<string, { instance: PrintingInstance; isAlive: () => Promise<boolean> }>();

  const report = async (instance: PrintingInstance, exitCode: number | null): Promise<void> => {
    const outOfMemory = await endedOutOfMemory(instance, exitCode);
    for (const listener of listeners) listener({ instanceId: instance.instanceId, exitCode, outOfMemory });
  };
  const pollAdopted = async (): Promise<void> => {
    for (const [instanceId, { instance, isAlive }] of adopted) {
      if (!(await isAlive()) && adopted.delete(instanceId)) await report(instance, null);
    }
  };

  return {
    addOwn(instance, started) {
      known.add(instance.instanceId);
      // Neither of the two can fail: `exited` never rejects, and a tail that cannot be read counts as none.
      void started.exited.then(({ exitCode }) => report(instance, exitCode));
    },
    addAdopted(instance, identity) {
      if (known.has(instance.instanceId)) return;
      known.add(instance.instanceId);
      adopted.set(instance.instanceId, { instance, isAlive: createLookout(identity) });
    },
    watch(onExit, signal) {
      if (signal.aborted) return;
      listeners.add(onExit);
      signal.addEventListener("abort", () => listeners.delete(onExit), { once: true });
      void repeatUntil(signal, POLL_MS, pollAdopted); // Survives failures of its own.
    },
  };
}

/** A failure of one turn is left to the next one: a process that cannot be looked at just now is not known to be gone. */
export async function repeatUntil(signal: AbortSignal, intervalMs: number, task: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await task().catch(() => undefined);
    await delay(intervalMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
}

/** Both are known only by what was printed: no exit code means it, and no kernel was asked to bound the memory. */
async function endedOutOfMemory(instance: PrintingInstance, exitCode: number | null): Promise<boolean> {
  const isHeapFull = async (): Promise<boolean> => (await tailOf(instance.errorFile)).includes("JavaScript heap out of memory");
  const wasEnded = async (): Promise<boolean> => (await tailOf(instance.outputFile)).split("\n").some(isMemoryVerdict);
  switch (exitCode) {
    case ABORTED:
      return isHeapFull();
    case KILLED:
      return wasEnded();
    case null:
      return (await isHeapFull()) || (await wasEnded());
    default:
      return false;
  }
}

function isMemoryVerdict(line: string): boolean {
  const printed = decodePrintedLine(line);
  return (
    printed !== null &&
    printed.level === "error" &&
    printed.requestId === null &&
    /^The instance used \d+ MB of memory, more than /.test(printed.text)
  );
}

async function tailOf(path: string): Promise<string> {
  try {
    await using file = await open(path, "r");
    const { size } = await file.stat();
    const { buffer, bytesRead } = await file.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, Math.max(0, size - TAIL_BYTES));
    return buffer.toString("latin1", 0, bytesRead);
  } catch {
    return ""; // Stopped and removed meanwhile: nobody asks why it ended.
  }
}

// A process that uses one store of the comparison, so that no two of them share an event loop.
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { BenchError } from "../processes.ts";
import type { OurAccess } from "./our-driver.ts";

export type Target =
  | { readonly kind: "ours"; readonly access: OurAccess }
  | { readonly kind: "redis"; readonly port: number }
  | { readonly kind: "postgres"; readonly port: number };

export type Task =
  | { readonly kind: "get" | "set"; readonly sampleCount: number }
  | { readonly kind: "gets at once" | "sets at once"; readonly atOnceCount: number; readonly durationMs: number }
  | { readonly kind: "settle" } // What a store does behind its writers' backs is done.
  | { readonly kind: "fill"; readonly table: string; readonly documentCount: number }
  | { readonly kind: "page"; readonly table: string; readonly documentCount: number; readonly sampleCount: number }
  | { readonly kind: "count"; readonly table: string; readonly sampleCount: number };

export const KEY_COUNT = 1_000; // Documents that are read and written in turn.

export interface Report {
  readonly samplesMs: readonly number[]; // Of each operation, where they follow one another.
  readonly perS: number; // Where many go on at once.
}

export interface Worker {
  run(task: Task): Promise<Report>;
}

type Answer = { readonly report: Report | null } | { readonly failure: string };

const MAIN = fileURLToPath(new URL("worker-main.ts", import.meta.url));

export async function startWorker(target: Target, stack: AsyncDisposableStack, signal: AbortSignal): Promise<Worker> {
  const child = fork(MAIN, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  child.setMaxListeners(0); // Each task waits for its answer and for the end, whichever comes first.
  stack.defer(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL"); // It holds nothing that would have to be put away.
    await ended;
  });
  const ask = async (message: Target | Task): Promise<Report | null> => {
    signal.throwIfAborted();
    const answered = once(child, "message", { signal });
    const ended = once(child, "exit", { signal }).then(([code]) => {
      throw new BenchError(`the program that uses ${target.kind} ended (${String(code)})`);
    });
    child.send(message);
    const [answer] = (await Promise.race([answered, ended])) as [Answer]; // worker-main.ts sends nothing else.
    if ("failure" in answer) throw new BenchError(`${target.kind}: ${answer.failure}`);
    return answer.report;
  };
  await ask(target);
  return { run: async (task) => (await ask(task)) ?? { samplesMs: [], perS: 0 } };
}

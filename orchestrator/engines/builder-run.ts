// Runs npm in a builder to its end, whichever engine holds it: output, time, disk, memory and cancelling are looked after alike.
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { type BuilderDisk, watchDisk } from "./builder-disk.ts";
import { readOutput } from "./builder-output.ts";
import type { Builder, BuilderOutcome } from "./engine.ts";

export type NpmCall = Parameters<Builder["runNpm"]>[0];

export interface NpmPlace {
  readonly disk: BuilderDisk;
  readonly signal: AbortSignal; // When it aborts, every call is cancelled.
  start(args: readonly string[]): Promise<StartedNpm>;
}

export interface StartedNpm {
  readonly output: Readable;
  readonly ended: Promise<NpmEnd>;
  /** Ends it and everything that it started, with no grace. */
  kill(): Promise<void>;
  /** Resolves when its memory becomes too much, or the signal aborts; absent where the kernel ends it then. */
  watchMemory?(signal: AbortSignal, onTooMuch: () => void): Promise<void>;
}

export interface NpmEnd {
  readonly exitCode: number; // 128 + the signal's number where a signal ended it, as a shell counts.
  readonly wasOutOfMemory: boolean;
}

type Reason = Exclude<BuilderOutcome["kind"], "ended">;

const OUTPUT_END_TIMEOUT_MS = 5_000; // Nobody holds its other end any more; what is on its way takes milliseconds.

export async function runNpmIn(place: NpmPlace, call: NpmCall): Promise<BuilderOutcome> {
  const stop = createStop(call, place.signal);
  try {
    const reason = stop.reason();
    return reason === null ? await runUntil(stop, place, call) : { kind: reason };
  } finally {
    stop.forget();
  }
}

async function runUntil(stop: Stop, place: NpmPlace, call: NpmCall): Promise<BuilderOutcome> {
  const started = await place.start(call.args);
  const over = new AbortController();
  const reading = readOutput(started.output, call.onLine);
  reading.catch(() => stop.ask("cancelled")); // Its reader failed, and is told so below.
  const watching = Promise.all([
    watchDisk(place.disk, over.signal, () => stop.ask("disk-full")),
    started.watchMemory?.(over.signal, () => stop.ask("out-of-memory")),
  ]);
  try {
    await Promise.race([started.ended, stop.asked]);
    if (stop.reason() !== null) await started.kill();
    const end = await started.ended;
    await Promise.race([reading, delay(OUTPUT_END_TIMEOUT_MS, undefined, { ref: false })]);
    const isDiskFull = end.exitCode !== 0 && (await place.disk.heldBytes()) >= place.disk.bytesMax;
    return outcomeOf({ ...end, isDiskFull, reason: stop.reason() });
  } finally {
    over.abort();
    started.output.destroy();
    await watching;
  }
}

/** A run that ended well ended well, whatever was asked of it in its last moment. */
export function outcomeOf(run: NpmEnd & { readonly isDiskFull: boolean; readonly reason: Reason | null }): BuilderOutcome {
  if (run.exitCode === 0) return { kind: "ended", exitCode: 0 };
  if (run.reason !== null) return { kind: run.reason };
  if (run.wasOutOfMemory) return { kind: "out-of-memory" };
  return run.isDiskFull ? { kind: "disk-full" } : { kind: "ended", exitCode: run.exitCode };
}

interface Stop {
  /** The first reason stays. */
  ask(reason: Reason): void;
  reason(): Reason | null;
  readonly asked: Promise<void>;
  forget(): void;
}

function createStop({ signal, timeoutMs }: NpmCall, placeSignal: AbortSignal): Stop {
  const asked = Promise.withResolvers<void>();
  const either = AbortSignal.any([signal, placeSignal]);
  let reason: Reason | null = null;
  const ask = (why: Reason): void => {
    reason ??= why;
    asked.resolve();
  };
  const cancel = (): void => ask("cancelled");
  const timer = setTimeout(() => ask("timed-out"), timeoutMs);
  either.addEventListener("abort", cancel, { once: true });
  if (either.aborted) cancel();
  return {
    ask,
    reason: () => reason,
    asked: asked.promise,
    forget() {
      clearTimeout(timer);
      either.removeEventListener("abort", cancel);
    },
  };
}

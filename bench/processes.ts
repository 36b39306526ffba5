// Starts child processes, waits for what they print, and ends them.
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

export class BenchError extends Error {}

export interface Started {
  readonly pid: number;
  readonly child: ChildProcess;
  stop(signalName?: NodeJS.Signals, graceMs?: number): Promise<void>;
}

const OUTPUT_BYTES_MAX = 4_000_000;
const STOP_GRACE_MS = 5_000;
const TAIL_LINE_COUNT = 20; // Of what a process said, shown when it fails.

const runFile = promisify(execFile);

/** Runs a program to its end and gives what it printed. */
export async function run(
  command: string,
  args: readonly string[],
  options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
): Promise<string> {
  const { timeoutMs = 30_000, signal } = options;
  const { stdout } = await runFile(command, args, { timeout: timeoutMs, maxBuffer: OUTPUT_BYTES_MAX, ...(signal && { signal }) });
  return stdout;
}

/** Null where the program is not there. */
export async function versionOf(command: string, args: readonly string[]): Promise<string | null> {
  try {
    const { stdout, stderr } = await runFile(command, args, { timeout: 10_000 });
    return `${stdout}\n${stderr}`.trim().split("\n")[0] ?? "";
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return null;
    // wrk answers --version with an exit code of 1.
    if (cause instanceof Error && "stdout" in cause && typeof cause.stdout === "string") return cause.stdout.trim().split("\n")[0] ?? "";
    throw cause;
  }
}

/** Resolves with the line that says it is ready, at once where none does; fails with its last lines where it ends first or says nothing in time. */
export async function start(options: {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>; // All of it; otherwise ours is inherited.
  readonly isReady: ((line: string) => boolean) | null;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}): Promise<Started & { readonly readyLine: string }> {
  options.signal.throwIfAborted();
  // In a group of its own: a Ctrl-C at the terminal reaches the bench, which then stops everything in order.
  const child = spawn(options.command, options.args, {
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
    ...(options.env && { env: options.env }),
  });
  const lines: string[] = [];
  const { promise: ready, resolve, reject } = Promise.withResolvers<string>();
  const onLine = (line: string): void => {
    lines.push(line);
    if (lines.length > TAIL_LINE_COUNT) lines.shift();
    if (options.isReady?.(line) === true) resolve(line);
  };
  createInterface({ input: child.stdout }).on("line", onLine);
  createInterface({ input: child.stderr }).on("line", onLine);
  const fail = (reason: string): void =>
    reject(new BenchError(`${options.command} ${options.args.join(" ").slice(0, 300)}: ${reason}\n${lines.join("\n")}`));
  if (options.isReady === null) child.once("spawn", () => resolve(""));
  child.once("error", (cause) => fail(cause.message));
  child.once("exit", (code, signal) => fail(`ended (${code ?? signal}) before it was ready`));
  const timer = setTimeout(() => fail(`not ready within ${options.timeoutMs} ms`), options.timeoutMs);
  const onAbort = (): void => fail("interrupted");
  options.signal.addEventListener("abort", onAbort, { once: true });
  try {
    const readyLine = await ready;
    const { pid } = child;
    if (pid === undefined) throw new BenchError(`${options.command} has no pid`);
    return { pid, child, readyLine, stop: (signalName = "SIGTERM", graceMs = STOP_GRACE_MS) => stopChild(child, { signalName, graceMs }) };
  } catch (cause) {
    await stopChild(child, { signalName: "SIGTERM", graceMs: STOP_GRACE_MS });
    throw cause;
  } finally {
    clearTimeout(timer);
    options.signal.removeEventListener("abort", onAbort);
  }
}

async function stopChild(child: ChildProcess, { signalName, graceMs }: { signalName: NodeJS.Signals; graceMs: number }): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signalName);
  const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
  await ended;
  clearTimeout(timer);
}

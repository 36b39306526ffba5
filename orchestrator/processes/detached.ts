// Starts processes that outlive the orchestrator, writes down what they are, and stops or watches them, also as a later orchestrator.
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import { constants } from "node:os";
import { setTimeout as delay } from "node:timers/promises";

import { systemClock } from "../clock.ts";
import { writeFileAtomic } from "./atomic-file.ts";
import { isAlive, processIdentity } from "./identity.ts";
import type { Identity } from "./identity.ts";

export interface DetachedOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>; // All of it: nothing is inherited.
  readonly cwd: string;
  readonly logFile: string; // Appended to. Never a pipe, which would break with the orchestrator.
  readonly errorLogFile?: string; // Where stderr should be apart from stdout.
  readonly stateFile: string;
  readonly extra?: unknown; // JSON that the caller finds again in the state file.
  readonly uid?: number;
  readonly gid?: number;
}

export interface DetachedState {
  readonly identity: Identity;
  readonly startedEpochMs: number;
  readonly extra: unknown; // Read from a file: the caller checks it.
}

export interface StartedProcess extends Identity {
  readonly startedEpochMs: number;
  readonly exited: Promise<ProcessExit>; // Never rejects. Tells of it for as long as this orchestrator lives.
}

export interface ProcessExit {
  readonly exitCode: number | null; // 128 + the signal's number where a signal ended it, as a shell counts. Null: nobody saw it.
}

/** A log file and a state file say what goes on inside the platform, so others on the machine may not read them. */
const PRIVATE_FILE_MODE = 0o600;
const STATE_VERSION = 1;
const EXIT_POLL_MS = 20; // Reading one small file of /proc takes some 0.05 ms.
const KILL_TIMEOUT_MS = 5_000; // SIGKILL ends a process at once, unless the kernel holds it in a broken disk.

export async function startDetached(options: DetachedOptions): Promise<StartedProcess> {
  const { child, pid, exited } = await spawnWithLogs(options);
  const startedEpochMs = systemClock.nowEpochMs();
  const identity = await processIdentity(pid);
  // One that ended before it could be looked at still gets a state file: its exit is told by `exited`.
  const written = identity ?? { pid, startedAt: "ended at once" };
  try {
    await writeState(options.stateFile, { identity: written, startedEpochMs, extra: options.extra ?? null });
  } catch (error) {
    child.kill("SIGKILL"); // What is not written down could never be adopted.
    throw error;
  }
  child.unref();
  return { ...written, startedEpochMs, exited };
}

/** Null where there is no state file, or none that can be read. */
export async function readState(stateFile: string): Promise<DetachedState | null> {
  let text: string;
  try {
    text = await readFile(stateFile, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR")) return null;
    throw error;
  }
  return parseState(text);
}

/** Writes down one that another process started, as if it had been started here. */
export const adoptDetached = (stateFile: string, identity: Identity): Promise<void> =>
  writeState(stateFile, { identity, startedEpochMs: systemClock.nowEpochMs(), extra: null });

/** Does nothing where its pid belongs to another one by now. */
export async function signalProcess(identity: Identity, signal: NodeJS.Signals): Promise<void> {
  if (await isAlive(identity)) sendSignal(identity.pid, signal);
}

/** Asks a process to end, waits, then kills it and its group. Does nothing where its pid belongs to another one by now. */
export async function stopProcess(identity: Identity, options: { readonly graceMs: number }): Promise<void> {
  if (!(await isAlive(identity))) return;
  sendSignal(identity.pid, "SIGTERM");
  if (await hasEnded(identity, options.graceMs)) return;
  sendSignal(-identity.pid, "SIGKILL"); // Detached means: the leader of its own group, which dies with it.
  if (!(await hasEnded(identity, KILL_TIMEOUT_MS))) throw new Error(`process ${identity.pid} did not end after SIGKILL`);
}

/** Resolves once the process, of whatever parent, is gone; rejects when the signal aborts. */
export async function waitForEnd(
  identity: Identity,
  options: { readonly signal: AbortSignal; readonly pollIntervalMs?: number },
): Promise<void> {
  while (await isAlive(identity)) await delay(options.pollIntervalMs ?? EXIT_POLL_MS, undefined, { signal: options.signal });
}

async function hasEnded(identity: Identity, timeoutMs: number): Promise<boolean> {
  const signal = AbortSignal.timeout(Math.max(timeoutMs, 1));
  try {
    await waitForEnd(identity, { signal });
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

interface Spawned {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly exited: Promise<ProcessExit>;
}

async function spawnWithLogs(options: DetachedOptions): Promise<Spawned> {
  const output = await open(options.logFile, "a", PRIVATE_FILE_MODE);
  const errors = await open(options.errorLogFile ?? options.logFile, "a", PRIVATE_FILE_MODE);
  try {
    const child = spawn(options.command, options.args, {
      detached: true,
      cwd: options.cwd,
      env: { ...options.env },
      stdio: ["ignore", output.fd, errors.fd],
      ...(options.uid === undefined ? {} : { uid: options.uid }),
      ...(options.gid === undefined ? {} : { gid: options.gid }),
    });
    const exited = exitOf(child); // Both listen before anything is awaited, or a quick end would be missed.
    return { child, pid: await pidOf(child), exited };
  } finally {
    await Promise.all([output.close(), errors.close()]); // The child has copies of its own.
  }
}

async function pidOf(child: ChildProcess): Promise<number> {
  if (child.pid !== undefined) return child.pid;
  return new Promise((_resolve, reject) => child.once("error", reject)); // The only thing that happens to a child without a pid.
}

function exitOf(child: ChildProcess): Promise<ProcessExit> {
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve({ exitCode: signal === null ? code : 128 + constants.signals[signal] }));
  });
}

const writeState = (stateFile: string, state: DetachedState): Promise<void> =>
  writeFileAtomic(stateFile, `${JSON.stringify({ v: STATE_VERSION, ...state }, null, 2)}\n`, PRIVATE_FILE_MODE);

function parseState(text: string): DetachedState | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(value) || value["v"] !== STATE_VERSION || !isRecord(value["identity"])) return null;
  const { pid, startedAt } = value["identity"];
  const { startedEpochMs, extra } = value;
  if (typeof pid !== "number" || typeof startedAt !== "string" || typeof startedEpochMs !== "number") return null;
  return { identity: { pid, startedAt }, startedEpochMs, extra };
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null;

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    const isGone = error instanceof Error && "code" in error && error.code === "ESRCH";
    if (!isGone) throw error; // One that ended between the look and the signal is what was wanted.
  }
}

// Tells a process from a later one with the same pid, by when it started: what is adopted or killed must be the very one.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { promisify } from "node:util";

export interface Identity {
  readonly pid: number;
  readonly startedAt: string; // Opaque; unique together with the pid, also across reboots.
}

const PS_TIMEOUT_MS = 5_000;
const LOOK_INTERVAL_MS = process.platform === "linux" ? 1_000 : 5_000; // Elsewhere each look is a process of its own.
const runFile = promisify(execFile);
let bootId: string | null = null; // It does not change while anything runs.

/** Null where no such process is, or only what is left of an exited one that its parent has not looked at. */
export async function processIdentity(pid: number): Promise<Identity | null> {
  if (!Number.isSafeInteger(pid) || pid <= 0) return null; // 0 and below name whole groups of processes.
  const startedAt = process.platform === "linux" ? startOnLinux(pid) : await startByPs(pid);
  return startedAt === null ? null : { pid, startedAt };
}

export async function isAlive(identity: Identity): Promise<boolean> {
  return isThere(identity.pid) && (await processIdentity(identity.pid))?.startedAt === identity.startedAt;
}

/**
 * The same, for who asks again and again: an end is told at once, for the price of a signal that does nothing. That another process
 * has the pid by now, or that nobody looked at the exited one, is found within a second, outside Linux within five.
 */
export function createLookout(identity: Identity): () => Promise<boolean> {
  let lookedMs = Number.NEGATIVE_INFINITY;
  return async () => {
    if (!isThere(identity.pid)) return false;
    if (performance.now() - lookedMs < LOOK_INTERVAL_MS) return true;
    const isThisOne = await isAlive(identity);
    if (isThisOne) lookedMs = performance.now();
    return isThisOne;
  };
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "ESRCH"); // Another user's may not be sent a signal.
  }
}

/** Processes one of whose arguments is exactly this one; finds what was started and never written down. */
export const processesWithArgument = (argument: string): Promise<readonly Identity[]> =>
  processesWithArguments((all) => all.includes(argument));

/** Processes by all their arguments, the name of the program first. Outside Linux an argument with spaces counts as several. */
export async function processesWithArguments(isMeant: (all: readonly string[]) => boolean): Promise<readonly Identity[]> {
  const pids = process.platform === "linux" ? await pidsOnLinux(isMeant) : await pidsByPs(isMeant);
  const identities = await Promise.all(pids.map(processIdentity));
  return identities.filter((identity) => identity !== null);
}

/** Read without going through the pool of threads: the kernel makes these files of what it holds in memory. */
function startOnLinux(pid: number): string | null {
  try {
    bootId ??= readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return startOfStat(readFileSync(`/proc/${pid}/stat`, "utf8"), bootId);
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

/** Field 22 of /proc/<pid>/stat. The name in field 2 may hold spaces and brackets, so counting begins behind its last one. */
export function startOfStat(stat: string, bootId: string): string | null {
  const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const startTicks = fields[18];
  return state === "Z" || state === "X" || startTicks === undefined ? null : `${bootId}/${startTicks}`;
}

async function pidsOnLinux(isMeant: (all: readonly string[]) => boolean): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const matches = await Promise.all(pids.map(async (pid) => isMeant(await argumentsOf(pid))));
  return pids.filter((_, index) => matches[index]);
}

async function argumentsOf(pid: number): Promise<readonly string[]> {
  try {
    return (await readFile(`/proc/${pid}/cmdline`, "utf8")).split("\0").slice(0, -1); // Each ends with a zero.
  } catch {
    return []; // It ended meanwhile, or belongs to someone whose processes are hidden.
  }
}

async function startByPs(pid: number): Promise<string | null> {
  const output = await ps(["-o", "stat=,lstart=", "-p", String(pid)]);
  const [state, ...start] = output.trim().split(/\s+/);
  return state === undefined || state === "" || state.startsWith("Z") ? null : start.join(" ");
}

async function pidsByPs(isMeant: (all: readonly string[]) => boolean): Promise<number[]> {
  const lines = (await ps(["-A", "-ww", "-o", "pid=,args="])).split("\n").map((line) => line.trim().split(/\s+/));
  return lines.filter(([, ...all]) => isMeant(all)).map(([pid]) => Number(pid));
}

async function ps(args: readonly string[]): Promise<string> {
  try {
    // The date's words depend on the language, so that one is fixed.
    return (await runFile("ps", args, { timeout: PS_TIMEOUT_MS, env: { LC_ALL: "C", PATH: "/bin:/usr/bin" } })).stdout;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === 1) return ""; // ps found no such process.
    throw error;
  }
}

const isGone = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ESRCH");

// What the processes of a row use: CPU time and memory, read from /proc.
import { readFile, readdir } from "node:fs/promises";
import { availableParallelism } from "node:os";

export interface ProcessFacts {
  readonly pid: number;
  readonly parentPid: number;
  readonly cpuMs: number; // User and system time of all its threads.
}

const TICK_MS = 10; // Linux counts in hundredths of a second on every architecture that Node runs on.
const KIBIBYTE = 1_024;

/** CPU time of each of these processes and everything that descends from them, by pid. */
export async function cpuOfTrees(roots: readonly number[]): Promise<ReadonlyMap<number, number>> {
  const facts = await everyProcess();
  const members = treesOf(facts, roots);
  return new Map(facts.filter((one) => members.has(one.pid)).map((one) => [one.pid, one.cpuMs]));
}

export async function pidsOfTrees(roots: readonly number[]): Promise<readonly number[]> {
  return [...treesOf(await everyProcess(), roots)];
}

/** Tells, when it is asked, which share of the machine was used from now on by anything but these trees and this process with its children. */
export async function watchForeignCpu(rootPids: () => Promise<readonly number[]>): Promise<() => Promise<number>> {
  const ownMs = async (): Promise<number> => {
    const trees = await cpuOfTrees(await rootPids());
    return [...trees.values(), await cpuOfBench()].reduce((sum, cpuMs) => sum + cpuMs, 0);
  };
  const [startMs, machineMs, firstOwnMs] = [performance.now(), await cpuOfMachine(), await ownMs()];
  return async () => {
    const foreignMs = (await cpuOfMachine()) - machineMs - ((await ownMs()) - firstOwnMs);
    return Math.max(0, foreignMs) / ((performance.now() - startMs) * availableParallelism());
  };
}

/** Time that a host of virtual machines took away is nobody's. */
async function cpuOfMachine(): Promise<number> {
  const line = (await readFile("/proc/stat", "utf8")).split("\n", 1)[0] ?? "";
  const [user = 0, nice = 0, system = 0, , , interrupts = 0, softInterrupts = 0] = line.split(/\s+/).slice(1).map(Number);
  return (user + nice + system + interrupts + softInterrupts) * TICK_MS;
}

/** Of this process and of its children that have ended, wrk among them. */
async function cpuOfBench(): Promise<number> {
  const text = await readFile("/proc/self/stat", "utf8");
  const fields = text
    .slice(text.lastIndexOf(")") + 2)
    .split(" ")
    .map(Number);
  return fields.slice(11, 15).reduce((sum, ticks) => sum + ticks, 0) * TICK_MS;
}

/** What was used between two looks. A process that ended between them is not counted, one that began is. */
export function cpuBetween(before: ReadonlyMap<number, number>, after: ReadonlyMap<number, number>): number {
  return [...after].reduce((sum, [pid, cpuMs]) => sum + cpuMs - (before.get(pid) ?? 0), 0);
}

export function treesOf(facts: readonly Pick<ProcessFacts, "pid" | "parentPid">[], roots: readonly number[]): ReadonlySet<number> {
  const members = new Set(roots);
  for (let size = -1; size !== members.size;) {
    size = members.size;
    for (const { pid, parentPid } of facts) if (members.has(parentPid)) members.add(pid);
  }
  return members;
}

/** Null for a text that is none: the process ended while it was read. */
export function parseStat(text: string): ProcessFacts | null {
  // The name in parentheses may hold anything, parentheses and spaces included.
  const rest = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [pid, parentPid, user, system] = [text.split(" ", 1)[0], rest[1], rest[11], rest[12]].map(Number);
  if (pid === undefined || parentPid === undefined || user === undefined || system === undefined) return null;
  return [pid, parentPid, user, system].every(Number.isFinite) ? { pid, parentPid, cpuMs: (user + system) * TICK_MS } : null;
}

export async function commandOf(pid: number): Promise<string> {
  const text = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  return text.replaceAll("\0", " ").trim();
}

/** Resident memory; 0 for a process that is gone. */
export async function memoryBytesOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * KIBIBYTE;
}

async function everyProcess(): Promise<readonly ProcessFacts[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const texts = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/stat`, "utf8").catch(() => "")));
  return texts.map(parseStat).filter((one) => one !== null);
}

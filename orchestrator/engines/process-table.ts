// Lists the processes of this machine: whose child each is, whose it is, and how much memory of its own it has.
import { execFile } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { promisify } from "node:util";

export interface ProcessRow {
  readonly pid: number;
  readonly parentPid: number;
  readonly uid: number;
  readonly memoryBytes: number; // What it shares with others left out where the system tells.
}

const READ_AT_ONCE = 32; // Open files, of the 1,024 that a process commonly may have.
const PS_TIMEOUT_MS = 5_000;
const runFile = promisify(execFile);

/** Without those that have ended and that nobody has looked at yet. */
export const processTable = (): Promise<readonly ProcessRow[]> => (process.platform === "linux" ? tableOnLinux() : tableByPs());

async function tableOnLinux(): Promise<readonly ProcessRow[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const rows: ProcessRow[] = [];
  for (let start = 0; start < pids.length; start += READ_AT_ONCE) {
    const part = await Promise.all(pids.slice(start, start + READ_AT_ONCE).map(readStatus));
    rows.push(...part.filter((row) => row !== null));
  }
  return rows;
}

const readStatus = async (pid: string): Promise<ProcessRow | null> =>
  rowOfStatus(await readFile(`/proc/${pid}/status`, "utf8").catch(() => "")); // It ended meanwhile.

/** Null for one that has ended, and for what is no such text. */
export function rowOfStatus(text: string): ProcessRow | null {
  const field = (name: string): string | null => new RegExp(`^${name}:\\s+(\\S+)`, "m").exec(text)?.[1] ?? null;
  const [state, pid, parentPid, uid] = ["State", "Pid", "PPid", "Uid"].map(field);
  if (state === null || state === "Z" || state === "X" || pid === null || parentPid === null || uid === null) return null;
  const kilobytes = Number(field("RssAnon") ?? 0) + Number(field("RssShmem") ?? 0); // The kernel's own have none.
  return { pid: Number(pid), parentPid: Number(parentPid), uid: Number(uid), memoryBytes: kilobytes * 1_024 };
}

export async function tableByPs(): Promise<readonly ProcessRow[]> {
  const columns = ["pid=", "ppid=", "uid=", "rss=", "stat="].flatMap((column) => ["-o", column]);
  const { stdout } = await runFile("ps", ["-A", ...columns], { timeout: PS_TIMEOUT_MS, env: { LC_ALL: "C", PATH: "/bin:/usr/bin" } });
  return stdout.split("\n").flatMap((line) => {
    const [pid, parentPid, uid, kilobytes, state = "Z"] = line.trim().split(/\s+/);
    if (state.startsWith("Z")) return [];
    return [{ pid: Number(pid), parentPid: Number(parentPid), uid: Number(uid), memoryBytes: Number(kilobytes) * 1_024 }];
  });
}

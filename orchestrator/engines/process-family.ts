// Everything that a builder started as processes: finds it, measures it and ends it, also what went away from its parents.
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { isAlive, processIdentity } from "../processes/identity.ts";
import type { Identity } from "../processes/identity.ts";
import { processTable } from "./process-table.ts";
import type { ProcessRow } from "./process-table.ts";

export interface FamilyFacts {
  readonly nodePath: string;
  readonly uid: number | null; // A user id that nobody else has; null where it is the orchestrator's own.
  readonly home: string; // A path that stands in the environment of all of them, and of nothing else.
}

export interface Family {
  /** The first of them, started just now. */
  add(pid: number): Promise<void>;
  memoryBytes(): Promise<number>;
  /** Resolves when none is left. */
  end(): Promise<void>;
}

const END_TRY_COUNT_MAX = 200;
const END_PAUSE_MS = 20;
const END_ALL_TIMEOUT_MS = 10_000;

export function createFamily(facts: FamilyFacts): Family {
  const known = new Map<number, Identity>();

  const members = async (): Promise<readonly ProcessRow[]> => {
    const rows = await processTable();
    if (facts.uid !== null) return rows.filter(({ uid }) => uid === facts.uid);
    for (const [pid, identity] of known) if (!(await isAlive(identity))) known.delete(pid);
    const found = descendants(rows, new Set(known.keys()));
    await remember(found);
    return found;
  };
  const remember = async (rows: readonly ProcessRow[]): Promise<void> => {
    for (const { pid } of rows) {
      const identity = known.has(pid) ? null : await processIdentity(pid);
      if (identity !== null) known.set(pid, identity);
    }
  };
  /** Those besides whose parents ended before anyone had seen them, where the system tells their environment. */
  const findStrays = async (): Promise<void> => {
    if (facts.uid !== null || process.platform !== "linux") return;
    const rows = (await processTable()).filter(({ uid, pid }) => uid === process.getuid?.() && !known.has(pid));
    const isStray = await Promise.all(rows.map(({ pid }) => hasInEnvironment(pid, facts.home)));
    await remember(rows.filter((_, index) => isStray[index]));
  };

  return {
    async add(pid) {
      const identity = await processIdentity(pid);
      if (identity !== null) known.set(pid, identity); // Otherwise it has ended at once.
    },
    async memoryBytes() {
      return (await members()).reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
    },
    async end() {
      for (let tries = 0; tries < END_TRY_COUNT_MAX; tries += 1) {
        await findStrays();
        const left = await members();
        if (left.length === 0) return;
        if (facts.uid !== null) await endAllOf(facts.uid, facts.nodePath);
        else for (const { pid } of left) kill(pid);
        await delay(END_PAUSE_MS);
      }
      throw new PlatformError("ENGINE_FAILED", {
        detail: `Processes that the app's scripts started do not end: they belong to ${facts.home}.`,
      });
    },
  };
}

/** Those that are there, themselves and all below them. Pure. */
export function descendants(rows: readonly ProcessRow[], ancestors: ReadonlySet<number>): ProcessRow[] {
  const found = new Set(ancestors);
  let sizeBefore: number;
  do {
    sizeBefore = found.size;
    for (const { pid, parentPid } of rows) if (found.has(parentPid)) found.add(pid);
  } while (found.size > sizeBefore);
  return rows.filter(({ pid }) => found.has(pid));
}

/** In one step of the kernel, which nothing that starts others is fast enough for. */
async function endAllOf(uid: number, nodePath: string): Promise<void> {
  const options = { uid, gid: uid, cwd: "/", env: {}, timeout: END_ALL_TIMEOUT_MS };
  // It fails where nobody was left: whoever calls looks again.
  await new Promise<void>((resolve) => execFile(nodePath, ["--eval", 'process.kill(-1, "SIGKILL")'], options, () => resolve()));
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It ended between the look and the signal; whoever calls looks again.
  }
}

/** As it was when its program was started. */
async function hasInEnvironment(pid: number, home: string): Promise<boolean> {
  const text = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => ""); // It ended meanwhile, or hides it.
  return text.split("\0").includes(`HOME=${home}`);
}

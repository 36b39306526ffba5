// The audit log: who changed what, when, and how it ended. Two lines per change in a file of the home, each on disk before anything goes on.
import { type FileHandle, mkdir, open, readFile, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { AUDIT_FILE_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import type { Clock } from "../clock.ts";
import type { Role } from "./roles.ts";

export interface AuditLog {
  /** Resolves when the change may be made; what it returns notes how that ended. */
  begin(change: AuditChange): Promise<(outcome: AuditOutcome) => Promise<void>>;
  /** The newest ones, newest first. */
  list(count: number): Promise<readonly AuditEntry[]>;
  close(): Promise<void>;
}

export interface AuditChange {
  readonly tokenName: string;
  readonly role: Role;
  readonly method: string;
  readonly path: string; // As the route names it: "/api/env/:environment/:name".
  readonly input: Readonly<Record<string, unknown>>; // Parameters and what of the body is no secret.
}

/** "unfinished": it goes on, or the orchestrator ended before it did. */
export type AuditOutcome = "done" | { readonly code: string };

export interface AuditEntry extends AuditChange {
  readonly id: string;
  readonly epochMs: number;
  readonly outcome: AuditOutcome | "unfinished";
  readonly durationMs: number | null;
}

interface EndLine {
  readonly id: string;
  readonly end: AuditOutcome;
  readonly durationMs: number;
}

const NEWLINE = 10;

export async function openAuditLog(folder: string, clock: Clock): Promise<AuditLog> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, "audit.ndjson");
  const earlierPath = join(folder, "audit.1.ndjson");
  let file = await openForLines(path);
  let count = 0;
  let turn: Promise<unknown> = Promise.resolve();
  const run = clock.nowEpochMs().toString(36); // Tells the ids of this run from those of others.

  const append = async (line: object): Promise<void> => {
    const written = turn.then(async () => {
      if ((await file.stat()).size > AUDIT_FILE_BYTES_MAX) {
        await file.close();
        await rename(path, earlierPath);
        file = await openForLines(path);
      }
      await file.appendFile(`${JSON.stringify(line)}\n`);
      await file.datasync();
    });
    turn = written.catch(() => undefined); // Who asked for this line hears of it; the next in line need not.
    return written;
  };

  return {
    async begin(change) {
      count += 1;
      const id = `${run}-${count}`;
      const epochMs = clock.nowEpochMs();
      await append({ id, epochMs, ...change });
      return async (outcome) => append({ id, end: outcome, durationMs: clock.nowEpochMs() - epochMs } satisfies EndLine);
    },
    async list(wanted) {
      await turn;
      return newest([...(await linesOf(earlierPath)), ...(await linesOf(path))], wanted);
    },
    async close() {
      await turn;
      await file.close();
    },
  };
}

/** A line that a crash cut off is ended, so that it does not swallow the next one. */
async function openForLines(path: string): Promise<FileHandle> {
  const file = await open(path, "a+", 0o600);
  const { size } = await file.stat();
  if (size === 0) return file;
  const { buffer } = await file.read({ buffer: Buffer.alloc(1), position: size - 1 });
  if (buffer[0] !== NEWLINE) await file.appendFile("\n");
  return file;
}

async function linesOf(path: string): Promise<readonly string[]> {
  if ((await stat(path).catch(() => null)) === null) return []; // Nothing was written there yet.
  return (await readFile(path, "utf8")).split("\n");
}

/** From the end, so that a long log costs no more than what is wanted of it. */
function newest(lines: readonly string[], count: number): readonly AuditEntry[] {
  const ends = new Map<string, EndLine>();
  const entries: AuditEntry[] = [];
  for (let index = lines.length - 1; index >= 0 && entries.length < count; index -= 1) {
    const line = parse(lines[index] ?? "");
    if (line === null) continue;
    if ("end" in line) ends.set(line.id, line);
    else entries.push({ ...line, outcome: ends.get(line.id)?.end ?? "unfinished", durationMs: ends.get(line.id)?.durationMs ?? null });
  }
  return entries;
}

/** Only this file writes lines; one that was cut off is passed over. */
function parse(line: string): EndLine | (AuditChange & { readonly id: string; readonly epochMs: number }) | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && "id" in value
      ? (value as EndLine | (AuditChange & { readonly id: string; readonly epochMs: number }))
      : null;
  } catch {
    return null;
  }
}

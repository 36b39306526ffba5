// Keeps what functions print: one file per environment, two generations of it, newest lines followed live.
import { appendFileSync, existsSync, readFileSync, renameSync, statSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { ENVIRONMENTS } from "../../runtime-image/contract/instance-manifest.ts";
import { type LogLevel, decodePrintedLine } from "../../runtime-image/contract/log-line.ts";
import type { LogLine } from "../engines/engine.ts";

export interface LogEntry {
  readonly epochMs: number;
  readonly app: string | null; // Its name at that moment; null where it is not known, as in files of the first days.
  readonly environment: Environment;
  readonly functionName: string;
  readonly instanceId: string;
  readonly requestId: string | null;
  readonly level: LogLevel;
  readonly text: string;
}

export interface LogFilter {
  readonly app?: string; // Its name.
  readonly functionName?: string; // As the owner writes it: "get-index" means "src/http/get-index" too.
  readonly environment?: Environment;
}

export interface LogStore {
  append(source: LogSource, line: LogLine): void;
  lastEpochMs(instanceId: string): number | null;
  /** The newest entries that fit the filter, oldest first. */
  tail(filter: LogFilter, count: number): LogEntry[];
  /** Every entry from now on that fits the filter; returns how to stop. */
  follow(filter: LogFilter, onEntry: (entry: LogEntry) => void): () => void;
  flush(): void;
}

export interface LogSource {
  readonly appId: string;
  readonly environment: Environment;
  readonly functionName: string;
  readonly instanceId: string;
}

const FILE_BYTES_MAX = 16_000_000; // Two such files per environment.

/** `appNameOf`: by its id. */
export function createLogStore(folder: string, appNameOf: (appId: string) => string | null = () => null): LogStore {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const followers = new Set<(entry: LogEntry) => void>();
  const lastByInstance = new Map<string, number>();
  const pending = new Map<Environment, string[]>();
  let timer: NodeJS.Timeout | null = null;
  for (const entry of readEntries(folder, {})) lastByInstance.set(entry.instanceId, entry.epochMs);

  const flush = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    for (const [environment, lines] of pending) {
      const path = fileOf(folder, environment);
      if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) > FILE_BYTES_MAX) renameSync(path, `${path}.1`);
      appendFileSync(path, lines.join(""), { mode: 0o600 });
    }
    pending.clear();
  };

  return {
    append(source, line) {
      const entry = entryOf(source, line, appNameOf(source.appId));
      lastByInstance.set(entry.instanceId, entry.epochMs);
      const lines = pending.get(entry.environment) ?? [];
      lines.push(`${JSON.stringify(entry)}\n`);
      pending.set(entry.environment, lines);
      timer ??= setTimeout(flush, 100);
      for (const follower of followers) follower(entry);
    },
    lastEpochMs: (instanceId) => lastByInstance.get(instanceId) ?? null,
    tail(filter, count) {
      flush();
      return readEntries(folder, filter).slice(-count);
    },
    follow(filter, onEntry) {
      const follower = (entry: LogEntry): void => {
        if (fits(entry, filter)) onEntry(entry);
      };
      followers.add(follower);
      return () => followers.delete(follower);
    },
    flush,
  };
}

/** Reads the kept entries of a home, oldest first; also without an orchestrator. */
export function readEntries(folder: string, filter: LogFilter): LogEntry[] {
  const environments = filter.environment === undefined ? ENVIRONMENTS : [filter.environment];
  return environments
    .flatMap((environment) => [`${fileOf(folder, environment)}.1`, fileOf(folder, environment)])
    .filter((path) => existsSync(path))
    .flatMap((path) => readFileSync(path, "utf8").split("\n"))
    .flatMap((line) => parseEntry(line) ?? [])
    .filter((entry) => fits(entry, filter))
    .toSorted((a, b) => a.epochMs - b.epochMs);
}

const fileOf = (folder: string, environment: Environment): string => join(folder, `${environment}.ndjson`);

function entryOf(source: LogSource, line: LogLine, app: string | null): LogEntry {
  const printed = decodePrintedLine(line.text);
  return {
    epochMs: printed?.epochMs ?? line.epochMs,
    app,
    environment: source.environment,
    functionName: source.functionName,
    instanceId: source.instanceId,
    requestId: printed?.requestId ?? null,
    level: printed?.level ?? (line.stream === "stderr" ? "error" : "info"),
    text: printed?.text ?? line.text,
  };
}

const fits = (entry: LogEntry, filter: LogFilter): boolean =>
  (filter.app === undefined || entry.app === filter.app) &&
  (filter.environment === undefined || entry.environment === filter.environment) &&
  (filter.functionName === undefined ||
    entry.functionName === filter.functionName ||
    entry.functionName.endsWith(`/${filter.functionName}`));

/** Only this file writes entries; a line that a crash cut off is passed over. */
function parseEntry(line: string): LogEntry | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null && "epochMs" in value && "text" in value
      ? ({ app: null, ...value } as LogEntry)
      : null;
  } catch {
    return null;
  }
}

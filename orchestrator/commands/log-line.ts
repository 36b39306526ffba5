// What `orchestrator logs` shows of a line that a function printed. Pure.
import type { LogEntry } from "../logs/log-store.ts";

export function logLine(entry: LogEntry, { withApp }: { readonly withApp: boolean }): string {
  const { app, environment, functionName, requestId, level, text } = entry;
  const time = new Date(entry.epochMs).toISOString();
  const place = withApp ? `${app ?? "-"} ${environment}` : environment;
  return `${time} ${place} ${functionName} ${requestId ?? "-"} ${level}: ${text}`;
}

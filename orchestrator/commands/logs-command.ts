// orchestrator logs [function]: what functions print, kept and live.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { ENVIRONMENTS, type Environment } from "../../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { connectApi } from "../api/client.ts";
import { DEFAULT_API_PORT, portOf } from "../config.ts";
import { printLine } from "../log.ts";
import { type LogEntry, type LogFilter, readEntries } from "../logs/log-store.ts";

interface LogsFlags {
  readonly follow?: boolean;
  readonly environment?: string;
  readonly lines: string;
  readonly home?: string;
  readonly apiPort: string;
  readonly json?: boolean;
}

export function addLogs(program: Command): void {
  program
    .command("logs")
    .description("Shows what functions print, tagged with time, environment, function and request id.")
    .argument("[function]", 'one function only, such as "get-index"')
    .option("-f, --follow", "go on with every new line")
    .option("--environment <name>", `one of ${ENVIRONMENTS.join(", ")} only`)
    .option("-n, --lines <count>", "how many kept lines to begin with", "100")
    .option("--home <dir>", "the home of the platform (default: .orchestrator here, or the one that runs)")
    .option("--api-port <port>", "where the running orchestrator listens", String(DEFAULT_API_PORT))
    .option("--json", "one JSON object per line")
    .addHelpText(
      "after",
      "\nExamples:\n  orchestrator logs\n  orchestrator logs -f get-index\n  orchestrator logs --environment production -n 20",
    )
    .action(async (functionName: string | undefined, flags: LogsFlags) => showLogs(functionName, flags));
}

async function showLogs(functionName: string | undefined, flags: LogsFlags): Promise<void> {
  const problems: string[] = [];
  const environment = environmentOf(flags.environment, problems);
  const port = portOf("--api-port", flags.apiPort, problems);
  const count = Number(flags.lines);
  if (!Number.isInteger(count) || count < 0) problems.push(`--lines: should be a whole number, got "${flags.lines}"`);
  if (problems.length > 0) throw new PlatformError("SETTING_INVALID", { problems, remedy: "See: orchestrator logs --help" });
  const filter: LogFilter = { ...(functionName === undefined ? {} : { functionName }), ...(environment === null ? {} : { environment }) };
  const print = (entry: LogEntry): void => printLine(flags.json === true ? JSON.stringify(entry) : textOf(entry));
  const home = flags.home ?? (existsSync(".orchestrator") ? ".orchestrator" : null);
  // What is kept can be read without an orchestrator; only new lines need one.
  if (flags.follow !== true && home !== null) {
    for (const entry of readEntries(join(resolve(home), "logs"), filter).slice(-count)) print(entry);
    return;
  }
  const api = await connectApi({ port, home });
  const query = new URLSearchParams({ count: String(count), ...filter, ...(flags.follow === true ? { follow: "true" } : {}) });
  const over = new AbortController();
  process.once("SIGINT", () => over.abort());
  // The orchestrator writes entries and nothing else on this stream.
  await api.lines(`/api/logs?${query.toString()}`, (value) => print(value as LogEntry), over.signal);
}

function environmentOf(text: string | undefined, problems: string[]): Environment | null {
  if (text === undefined) return null;
  const known = ENVIRONMENTS.find((name) => name === text);
  if (known === undefined) problems.push(`--environment: should be one of ${ENVIRONMENTS.join(", ")}, got "${text}"`);
  return known ?? null;
}

function textOf(entry: LogEntry): string {
  const time = new Date(entry.epochMs).toISOString();
  const request = entry.requestId === null ? "-" : entry.requestId;
  return `${time} ${entry.environment} ${entry.functionName} ${request} ${entry.level}: ${entry.text}`;
}

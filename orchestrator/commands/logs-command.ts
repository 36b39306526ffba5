// orchestrator logs [function]: what functions print, kept and live.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { ENVIRONMENTS } from "../../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { type ApiClient, connectApi } from "../api/client.ts";
import { DEFAULT_API_PORT, portOf } from "../config.ts";
import { printLine, printNotice } from "../log.ts";
import { type LogEntry, type LogFilter, readEntries } from "../logs/log-store.ts";
import { APPS, checkedAnswer } from "./answers.ts";
import { choiceOf, choiceOption } from "./choices.ts";
import { logLine } from "./log-line.ts";

interface LogsFlags {
  readonly app?: string;
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
    .option("--app <name>", "of one app only")
    .addOption(choiceOption("--environment <name>", "of one environment only", ENVIRONMENTS))
    .option("-n, --lines <count>", "how many kept lines to begin with", "100")
    .option("--home <dir>", "the home of the platform (default: .orchestrator here, or the one that runs)")
    .option("--api-port <port>", "where the running orchestrator listens", String(DEFAULT_API_PORT))
    .option("--json", "one JSON object per line")
    .addHelpText(
      "after",
      "\nExamples:\n  orchestrator logs\n  orchestrator logs -f get-index\n  orchestrator logs --app shop --environment production -n 20",
    )
    .action(async (functionName: string | undefined, flags: LogsFlags) => showLogs(functionName, flags));
}

async function showLogs(functionName: string | undefined, flags: LogsFlags): Promise<void> {
  const problems: string[] = [];
  const { environment: given } = flags;
  const environment = given === undefined ? undefined : choiceOf("--environment", given, { choices: ENVIRONMENTS, problems });
  const port = portOf("--api-port", flags.apiPort, problems);
  const count = Number(flags.lines);
  if (!Number.isInteger(count) || count < 0) problems.push(`--lines: should be a whole number, got "${flags.lines}"`);
  if (problems.length > 0) throw new PlatformError("SETTING_INVALID", { problems, remedy: "See: orchestrator logs --help" });
  const { app } = flags;
  const filter: LogFilter = {
    ...(app === undefined ? {} : { app }),
    ...(functionName === undefined ? {} : { functionName }),
    ...(environment === undefined ? {} : { environment }),
  };
  const home = flags.home ?? (existsSync(".orchestrator") ? ".orchestrator" : null);
  // What is kept can be read without an orchestrator; only new lines need one.
  if (flags.follow !== true && home !== null) {
    const entries = readEntries(join(resolve(home), "logs"), filter);
    const print = printerOf(
      entries.map((entry) => entry.app),
      flags,
    );
    for (const entry of entries.slice(Math.max(0, entries.length - count))) print(entry);
    if (entries.length === 0 && app !== undefined) printNotice(`no lines of an app "${app}" are kept`);
    return;
  }
  const api = await connectApi({ port, home });
  const print = printerOf(app === undefined ? await hostedNames(api) : [], flags);
  const query = new URLSearchParams({ count: String(count), ...filter, ...(flags.follow === true ? { follow: "true" } : {}) });
  const over = new AbortController();
  process.once("SIGINT", () => over.abort());
  // The orchestrator writes entries and nothing else on this stream.
  await api.lines(`/api/logs?${query.toString()}`, (value) => print(value as LogEntry), over.signal);
}

/** Says of which app a line is where there are several. */
function printerOf(names: readonly (string | null)[], { json }: LogsFlags): (entry: LogEntry) => void {
  const known = new Set(names);
  known.delete(null);
  return (entry) => {
    if (entry.app !== null) known.add(entry.app); // It may have been made meanwhile.
    printLine(json === true ? JSON.stringify(entry) : logLine(entry, { withApp: known.size > 1 }));
  };
}

const hostedNames = async (api: ApiClient): Promise<readonly string[]> =>
  checkedAnswer(APPS, await api.get("/api/apps"), "GET /api/apps").apps.map(({ name }) => name);

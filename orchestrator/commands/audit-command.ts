// orchestrator audit: who changed what through the management API.
import type { Command } from "commander";
import { printLine } from "../log.ts";
import { type ApiFlags, apiOf, withApiFlags } from "./api-flags.ts";
import { fieldsOf, tableLines, timeText } from "./table.ts";

interface AuditFlags extends ApiFlags {
  readonly count: string;
}

export function addAudit(program: Command): void {
  withApiFlags(
    program
      .command("audit")
      .description("Shows who changed what through the management API, newest first.")
      .option("-n, --count <count>", "how many", "50"),
  )
    .addHelpText("after", "\nExamples:\n  orchestrator audit\n  orchestrator audit -n 1000 --json")
    .action(async (flags: AuditFlags) => showAudit(flags));
}

async function showAudit(flags: AuditFlags): Promise<void> {
  const problems = /^[1-9]\d{0,4}$/.test(flags.count) ? [] : [`--count: should be a whole number of at least 1, got "${flags.count}"`];
  const api = await apiOf(flags, "orchestrator audit --help", problems);
  const answer = await api.get(`/api/audit?count=${flags.count}`);
  if (flags.json === true) return printLine(JSON.stringify(answer));
  const entries = fieldsOf(answer)["entries"];
  const rows = (Array.isArray(entries) ? entries : []).map(fieldsOf);
  const cells = rows.map((row) => [
    timeText(row["epochMs"], "-"),
    String(row["tokenName"]),
    `${String(row["method"])} ${String(row["path"])}`,
    outcomeText(row["outcome"]),
    JSON.stringify(row["input"]),
  ]);
  for (const line of tableLines(["time", "token", "what", "outcome", "with"], cells)) printLine(line);
}

const outcomeText = (outcome: unknown): string => (typeof outcome === "string" ? outcome : String(fieldsOf(outcome)["code"]));

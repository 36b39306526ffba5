// orchestrator deliveries, orchestrator delivery log|cancel: what was sent to be built, how it went, and how to stop it.
import type { Command } from "commander";
import { printLine, printNotice } from "../log.ts";
import { checkedAnswer, DELIVERIES, DELIVERY, LOG_LINE } from "./answers.ts";
import { type ApiFlags, apiOf, withApiFlags } from "./api-flags.ts";
import { type AppFlags, withAppFlags } from "./app-flags.ts";
import { concludeDelivery } from "./conclude-delivery.ts";
import { deliveryLines, deliveryText } from "./delivery-lines.ts";
import { EXIT_INTERRUPTED, type Settle } from "./exit-codes.ts";
import { logPathOf, openTaskWriter } from "./follow-delivery.ts";
import { onInterrupts } from "./interrupts.ts";
import { countOf, queryOf } from "./store-flags.ts";

interface ListFlags extends AppFlags {
  readonly count: string;
}

interface LogFlags extends ApiFlags {
  readonly follow?: boolean;
}

export function addDeliveries(program: Command): void {
  withAppFlags(
    program
      .command("deliveries")
      .description("Shows what was sent to be built, by deploy, git push or a changed route, newest first.")
      .option("-n, --count <count>", "how many", "20"),
  )
    .addHelpText("after", "\nExamples:\n  orchestrator deliveries\n  orchestrator deliveries --app shop -n 5 --json")
    .action(async (flags: ListFlags) => list(flags));
}

export function addDelivery(program: Command, settle: Settle): void {
  const delivery = program
    .command("delivery")
    .description("One delivery: its log, and how to cancel it (all of them: orchestrator deliveries).");
  withApiFlags(
    delivery
      .command("log")
      .description("Shows what the steps of a delivery printed, and how they ended.")
      .argument("<delivery>", "its id, as orchestrator deliveries shows it")
      .option("-f, --follow", "go on until it is over, and end as deploy does: with 1 where it is not green"),
  )
    .addHelpText("after", "\nExamples:\n  orchestrator delivery log shop-12\n  orchestrator delivery log shop-12 --follow")
    .action(async (deliveryId: string, flags: LogFlags) => showLog(deliveryId, flags, settle));
  withApiFlags(
    delivery
      .command("cancel")
      .description("Stops a delivery that waits or runs; what is live stays live.")
      .argument("<delivery>", "its id, as orchestrator deliveries shows it"),
  )
    .addHelpText("after", "\nExample:\n  orchestrator delivery cancel shop-12")
    .action(async (deliveryId: string, flags: ApiFlags) => cancel(deliveryId, flags));
}

async function list(flags: ListFlags): Promise<void> {
  const problems: string[] = [];
  const count = countOf("--count", flags.count, problems);
  const api = await apiOf(flags, "orchestrator deliveries --help", problems);
  const answer = await api.get(`/api/deliveries${queryOf({ app: flags.app, count: String(count) })}`);
  const { deliveries } = checkedAnswer(DELIVERIES, answer, "GET /api/deliveries");
  for (const line of flags.json === true ? [JSON.stringify(answer)] : deliveryLines(deliveries)) printLine(line);
}

const pathOf = (deliveryId: string): string => `/api/deliveries/${encodeURIComponent(deliveryId)}`;

async function showLog(deliveryId: string, flags: LogFlags, settle: Settle): Promise<void> {
  const api = await apiOf(flags, "orchestrator delivery log --help");
  const isJson = flags.json === true;
  const delivery = checkedAnswer(DELIVERY, await api.get(pathOf(deliveryId)), `GET ${pathOf(deliveryId)}`);
  const style = isJson ? "json" : "lines"; // All of it, not the last line of each step.
  if (flags.follow === true) return void (await concludeDelivery({ api, deliveryId, style, onInterrupt: "leave" }, settle));
  const writer = openTaskWriter(style);
  const stopping = new AbortController();
  const interrupts = onInterrupts(() => stopping.abort());
  const path = logPathOf(deliveryId);
  await api.lines(path, (value) => writer.line(checkedAnswer(LOG_LINE, value, `GET ${path}`)), stopping.signal);
  interrupts.close();
  if (stopping.signal.aborted) return settle(EXIT_INTERRUPTED);
  if (!isJson) printNotice(deliveryText(delivery));
}

async function cancel(deliveryId: string, flags: ApiFlags): Promise<void> {
  const api = await apiOf(flags, "orchestrator delivery cancel --help");
  const answer = await api.post(`${pathOf(deliveryId)}/cancel`);
  const delivery = checkedAnswer(DELIVERY, answer, `POST ${pathOf(deliveryId)}/cancel`);
  printLine(flags.json === true ? JSON.stringify(answer) : deliveryText(delivery));
}

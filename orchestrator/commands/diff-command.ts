// orchestrator diff [from] [to]: what differs between two releases, or between what is live on staging and on production.
import type { Command } from "commander";
import { ENVIRONMENTS } from "../../runtime-image/contract/instance-manifest.ts";
import { printLine } from "../log.ts";
import { checkedAnswer, DIFF } from "./answers.ts";
import { apiOf } from "./api-flags.ts";
import { type AppFlags, withAppFlags } from "./app-flags.ts";
import { NamedArgument } from "./choices.ts";
import { diffLines } from "./delivery-lines.ts";
import { queryOf } from "./store-flags.ts";

export function addDiff(program: Command): void {
  const named = "a release, the beginning of its id, or an environment for what is live there";
  withAppFlags(
    program
      .command("diff")
      .description("Shows which routes, functions, settings, static files and proxies differ between two releases.")
      .addArgument(new NamedArgument("[from]", named, ENVIRONMENTS).default("production"))
      .addArgument(new NamedArgument("[to]", named, ENVIRONMENTS).default("staging")),
  )
    .addHelpText(
      "after",
      "\nWithout names it shows what a promote would change.\n\nExamples:\n  orchestrator diff\n  orchestrator diff production staging --app shop\n" +
        "  orchestrator diff 5d41402abc4b2a76 7d793037a0760186 --json",
    )
    .action(async (from: string, to: string, flags: AppFlags) => diff({ from, to }, flags));
}

async function diff(names: { readonly from: string; readonly to: string }, flags: AppFlags): Promise<void> {
  const api = await apiOf(flags, "orchestrator diff --help");
  const answer = await api.get(`/api/releases/diff${queryOf({ ...names, app: flags.app })}`);
  const found = checkedAnswer(DIFF, answer, "GET /api/releases/diff");
  for (const line of flags.json === true ? [JSON.stringify(answer)] : diffLines(found)) printLine(line);
}

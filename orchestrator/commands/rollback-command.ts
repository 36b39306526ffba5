// orchestrator rollback [release]: an environment goes back to a release that it had before.
import type { Command } from "commander";
import { ENVIRONMENTS } from "../../runtime-image/contract/instance-manifest.ts";
import { printLine } from "../log.ts";
import { checkedAnswer, MOVED } from "./answers.ts";
import { apiOf } from "./api-flags.ts";
import { type AppFlags, withAppFlags } from "./app-flags.ts";
import { choiceOf, choiceOption } from "./choices.ts";
import type { Settle } from "./exit-codes.ts";
import { plainText } from "./plain-text.ts";
import { tellFailures } from "./promote-command.ts";
import { queryOf } from "./store-flags.ts";

interface RollbackFlags extends AppFlags {
  readonly environment: string;
}

export function addRollback(program: Command, settle: Settle): void {
  withAppFlags(
    program
      .command("rollback")
      .description("Goes back to the release that was live before, or to one that is named.")
      .argument("[release]", "one that orchestrator releases shows (default: the one before)")
      .addOption(choiceOption("--environment <name>", "where", ENVIRONMENTS, "production")),
  )
    .addHelpText(
      "after",
      "\nExamples:\n  orchestrator rollback\n  orchestrator rollback 5d41402abc4b2a76\n  orchestrator rollback --environment staging --app shop",
    )
    .action(async (release: string | undefined, flags: RollbackFlags) => rollback(release, flags, settle));
}

async function rollback(release: string | undefined, flags: RollbackFlags, settle: Settle): Promise<void> {
  const problems: string[] = [];
  const environment = choiceOf("--environment", flags.environment, { choices: ENVIRONMENTS, problems });
  const api = await apiOf(flags, "orchestrator rollback --help", problems);
  const answer = await api.post(`/api/rollback${queryOf({ app: flags.app, environment, release })}`);
  const { releaseId, failures } = checkedAnswer(MOVED, answer, "POST /api/rollback");
  printLine(flags.json === true ? JSON.stringify(answer) : `${String(environment)} runs release ${plainText(releaseId)} again`);
  tellFailures(failures, settle);
}

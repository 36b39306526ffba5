// orchestrator promote [release]: production takes the very builds that ran on staging.
import type { Command } from "commander";
import type { ApiClient } from "../api/client.ts";
import { printLine, printNotice } from "../log.ts";
import { checkedAnswer, type Failures, MOVED } from "./answers.ts";
import { apiOf } from "./api-flags.ts";
import { type AppFlags, withAppFlags } from "./app-flags.ts";
import { EXIT_PART, type Settle } from "./exit-codes.ts";
import { plainText } from "./plain-text.ts";
import { queryOf } from "./store-flags.ts";

export function addPromote(program: Command, settle: Settle): void {
  withAppFlags(
    program
      .command("promote")
      .description("Makes production run the very builds that are live on staging, or those of a release.")
      .argument("[release]", "a green release, or the beginning of its id (default: the one that is live on staging)"),
  )
    .addHelpText("after", "\nExamples:\n  orchestrator promote\n  orchestrator promote 5d41402abc4b2a76 --app shop")
    .action(async (release: string | undefined, flags: AppFlags) => {
      const api = await apiOf(flags, "orchestrator promote --help");
      await promoteRelease(api, release === undefined ? flags : { ...flags, release }, settle);
    });
}

interface Promoting {
  readonly app?: string;
  readonly release?: string;
  readonly json?: boolean;
}

export async function promoteRelease(api: ApiClient, { app, release, json }: Promoting, settle: Settle): Promise<void> {
  const answer = await api.post(`/api/promote${queryOf({ app, release })}`);
  const { releaseId, failures } = checkedAnswer(MOVED, answer, "POST /api/promote");
  printLine(json === true ? JSON.stringify(answer) : `production runs release ${plainText(releaseId)}`);
  tellFailures(failures, settle);
}

/** It is live; functions that do not start answer with an error until they do. */
export function tellFailures(failures: Failures, settle: Settle): void {
  for (const { functionName, code, message } of failures)
    printNotice(plainText(`${functionName} does not start and is tried again: ${code}: ${message}`));
  if (failures.length > 0) settle(EXIT_PART);
}

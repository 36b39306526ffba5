// orchestrator gateway restart <environment>: a new gateway takes over from the one that runs, with no request lost.
import type { Command } from "commander";
import { ENVIRONMENTS } from "../../runtime-image/contract/instance-manifest.ts";
import { printLine } from "../log.ts";
import { checkedAnswer, RESTARTED_GATEWAY } from "./answers.ts";
import { type ApiFlags, apiOf, withApiFlags } from "./api-flags.ts";
import { choiceArgument, choiceOf } from "./choices.ts";

export function addGateway(program: Command): void {
  const gateway = program.command("gateway").description("The processes that answer visitors, one for each environment.");
  withApiFlags(
    gateway
      .command("restart")
      .description("Starts a new gateway in place of the one that runs; requests on their way are finished, and none is refused.")
      .addArgument(choiceArgument("<environment>", "of which environment", ENVIRONMENTS)),
  )
    .addHelpText("after", "\nExample:\n  orchestrator gateway restart production")
    .action(async (environment: string, flags: ApiFlags) => restart(environment, flags));
}

async function restart(environment: string, flags: ApiFlags): Promise<void> {
  const problems: string[] = [];
  const known = choiceOf("environment", environment, { choices: ENVIRONMENTS, problems });
  const api = await apiOf(flags, "orchestrator gateway restart --help", problems);
  const answer = await api.post(`/api/gateways/${String(known)}/restart`);
  checkedAnswer(RESTARTED_GATEWAY, answer, `POST /api/gateways/${String(known)}/restart`);
  printLine(flags.json === true ? JSON.stringify(answer) : `a new gateway answers for ${String(known)}`);
}

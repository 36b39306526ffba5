// The command line: which commands there are, and how one that fails ends.
import { Command, CommanderError } from "commander";
import { PlatformError } from "../runtime-image/contract/errors.ts";
import { addAudit } from "./commands/audit-command.ts";
import { addBackup } from "./commands/backup-command.ts";
import { addData } from "./commands/data-command.ts";
import { addDoctor } from "./commands/doctor-command.ts";
import { addEnv } from "./commands/env-command.ts";
import { addImage } from "./commands/image-command.ts";
import { addInit } from "./commands/init-command.ts";
import { addLogs } from "./commands/logs-command.ts";
import { addNats } from "./commands/nats-command.ts";
import { addPromote } from "./commands/promote-command.ts";
import { addRestore } from "./commands/restore-command.ts";
import { addToken } from "./commands/token-command.ts";
import { addTypes } from "./commands/types-command.ts";
import { addUp } from "./commands/up-command.ts";
import { environmentSettings } from "./config.ts";
import { createOutput } from "./log.ts";

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

export async function runCli(argv: readonly string[]): Promise<number> {
  const outcome = { exitCode: 0 };
  const program = new Command("orchestrator")
    .description("A self-hosted home for web apps made of small functions.")
    .version("0.1.0")
    .showSuggestionAfterError()
    .showHelpAfterError("See: orchestrator --help")
    .exitOverride();
  const settle = (exitCode: number): void => {
    outcome.exitCode = exitCode;
  };
  for (const add of [addUp, addInit, addLogs, addPromote, addEnv, addToken, addAudit, addBackup, addRestore, addImage, addNats, addTypes])
    add(program);
  addData(program, settle);
  addDoctor(program, settle);
  for (const command of program.commands) command.exitOverride();
  try {
    await program.parseAsync(argv);
    return outcome.exitCode;
  } catch (error) {
    return failed(error, argv);
  }
}

function failed(error: unknown, argv: readonly string[]): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE; // It has said itself what is wrong.
  createOutput({ isJson: argv.includes("--json"), isColored: process.stderr.isTTY && !environmentSettings().noColor }).error(error);
  return error instanceof PlatformError && (error.code === "USAGE" || error.code === "SETTING_INVALID") ? EXIT_USAGE : EXIT_FAILED;
}

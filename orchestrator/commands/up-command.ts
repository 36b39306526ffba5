// orchestrator up [folder]: serves an app from a folder until it is told to stop.
import type { Command } from "commander";
import { GENERATION_CHOICES, type UpFlags, environmentSettings, upSettings } from "../config.ts";
import { createOutput } from "../log.ts";
import { choiceOption } from "./choices.ts";
import { withPlatformFlags } from "./platform-flags.ts";

export function addUp(program: Command): void {
  const command = program
    .command("up")
    .description("Serves an app: builds its functions, keeps them warm, answers on a staging and a production address.")
    .argument("[folder]", "the app's folder", ".");
  withPlatformFlags(command, "in the app's folder")
    .addOption(
      choiceOption("--generation <name>", "what functions speak; kept for this app until it is given as: declared", GENERATION_CHOICES),
    )
    .option("--promote", "also promote to production what was just deployed to staging")
    .option("--no-watch", "do not rebuild when files change")
    .addHelpText(
      "after",
      "\nExamples:\n  orchestrator up\n  orchestrator up examples/hello --promote\n  orchestrator up --engine process --staging-port 8080",
    )
    .action(async (folder: string, flags: UpFlags) => {
      const settings = upSettings(folder, flags);
      const { up } = await import("./up.ts"); // It brings along the whole platform, which no other command needs.
      await up(settings, createOutput({ isJson: settings.isJson, isColored: process.stdout.isTTY && !environmentSettings().noColor }));
    });
}

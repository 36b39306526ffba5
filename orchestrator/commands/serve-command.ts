// orchestrator serve: a platform that hosts what is deployed to it, until it is told to stop.
import { type Command, Option } from "commander";
import { type PlatformFlags, type PlatformSettings, environmentSettings, platformSettings } from "../config.ts";
import { type Output, createOutput, outliveReaders } from "../log.ts";
import { addressesOf } from "./addresses.ts";
import { listenRow, withPlatformFlags } from "./platform-flags.ts";
import { showToken, tellOfToken } from "./show-token.ts";
import { stopSignal } from "./stop-signal.ts";

export function addServe(program: Command): void {
  const command = program
    .command("serve")
    .description("Hosts the apps that are deployed to it or pushed with git, each on hosts of its own.");
  withPlatformFlags(command, "in the current folder")
    .option("--leave-running", "when it is stopped, let apps go on answering; the next start takes them over")
    .addOption(new Option("--dry", "start no instance of any function: for benchmarks with many apps").hideHelp())
    .addHelpText(
      "after",
      "\nExamples:\n  orchestrator serve\n  orchestrator serve --home /var/lib/orchestrator --leave-running" +
        "\n\nThen, on this machine:\n  orchestrator app create shop\n  orchestrator deploy my-folder --app shop",
    )
    .action(async (flags: PlatformFlags) => {
      const settings = platformSettings(flags, { base: process.cwd(), help: "orchestrator serve --help" });
      await serve(settings, createOutput({ isJson: settings.isJson, isColored: process.stdout.isTTY && !environmentSettings().noColor }));
    });
}

async function serve(settings: PlatformSettings, output: Output): Promise<void> {
  outliveReaders();
  const stop = stopSignal(() => output.step("stopping: what was begun is finished first"));
  const { startPlatform } = await import("../platform/platform.ts"); // Every other command does without.
  const platform = await startPlatform(settings, null, output);
  try {
    if (!stop.isAsked()) {
      const addresses = addressesOf(settings);
      output.facts("ready", readyLines(settings, platform.engineLine), { ...addresses, engine: platform.engineLine, home: settings.home });
      if (platform.newToken !== null) {
        if (process.stdout.isTTY) showToken({ home: settings.home, token: platform.newToken }, output);
        else tellOfToken(settings.home, output);
      }
      platform.settle().catch((error: unknown) => output.error(error)); // What it could not do now is done when it is needed.
    }
    await stop.asked;
    platform.giveUp();
  } finally {
    await platform.stop();
  }
  const text = settings.leavesRunning
    ? "stopped; apps go on answering, and the next start takes them over"
    : "stopped; nothing is left running";
  output.facts("stopped", [text], {});
}

function readyLines(settings: PlatformSettings, engineLine: string): string[] {
  const { staging, production, api } = addressesOf(settings);
  const rows = [
    ["staging", staging.replace("//", "//<app>.")],
    ["production", production.replace("//", "//<app>.")],
    ...listenRow(settings),
    ["management API", api],
    ["engine", engineLine],
    ["home", settings.home],
  ].map(([label = "", text = ""]) => `  ${label.padEnd(16)}${text}`);
  return ["", "  The platform is up", "", ...rows, "", "  Make an app: orchestrator app create <name>. Ctrl-C stops.", ""];
}

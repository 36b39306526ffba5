// orchestrator nats config: what the owner of a nats-server of their own puts into its configuration.
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { printLine } from "../log.ts";
import { externalBrokerConfig } from "../nats/external-config.ts";

export function addNats(program: Command): void {
  const nats = program.command("nats").description("For a nats-server of your own (up --nats <url>).");
  nats
    .command("config")
    .description("Prints what its configuration must include, so that it trusts this platform.")
    .option("--home <dir>", "the home of the platform", ".orchestrator")
    .addHelpText("after", "\nExample:\n  orchestrator nats config --home .orchestrator > orchestrator.conf")
    .action(async (flags: { readonly home: string }) => printLine(await externalBrokerConfig(join(resolve(flags.home)))));
}

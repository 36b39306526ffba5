// orchestrator doctor: what is there, what is wrong, and what to do.
import { resolve } from "node:path";
import type { Command } from "commander";
import { DEFAULT_API_PORT, environmentSettings, portOf } from "../config.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { exitCodeOf, formatChecks } from "../doctor/check.ts";
import { diagnose } from "../doctor/diagnose.ts";
import { gatherDockerFacts } from "../doctor/docker-facts.ts";
import { parseDockerAddress } from "../docker/address.ts";
import { printLine } from "../log.ts";

interface DoctorFlags {
  readonly home: string;
  readonly stagingPort: string;
  readonly productionPort: string;
  readonly apiPort: string;
  readonly nats?: string;
  readonly json?: boolean;
}

export function addDoctor(program: Command, settle: (exitCode: number) => void): void {
  program
    .command("doctor")
    .description("Says what this machine has, what is wrong, and what to do.")
    .option("--home <dir>", "the home of the platform", ".orchestrator")
    .option("--staging-port <port>", "where staging answers", "3333")
    .option("--production-port <port>", "where production answers", "3334")
    .option("--api-port <port>", "where the management API answers", String(DEFAULT_API_PORT))
    .option("--nats <url>", "a nats-server of your own")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nIt ends with 1 where something must be repaired.\n\nExamples:\n  orchestrator doctor\n  orchestrator doctor --home /srv/orchestrator --json",
    )
    .action(async (flags: DoctorFlags) => settle(await doctor(flags)));
}

async function doctor(flags: DoctorFlags): Promise<number> {
  const problems: string[] = [];
  const ports = [
    { purpose: "staging", flag: "--staging-port", port: portOf("--staging-port", flags.stagingPort, problems) },
    { purpose: "production", flag: "--production-port", port: portOf("--production-port", flags.productionPort, problems) },
    { purpose: "management API", flag: "--api-port", port: portOf("--api-port", flags.apiPort, problems) },
  ];
  if (problems.length > 0) throw new PlatformError("SETTING_INVALID", { problems, remedy: "See: orchestrator doctor --help" });
  const { dockerHost, natsServer, searchPath } = environmentSettings();
  const checks = await diagnose({
    home: resolve(flags.home),
    natsSearch: { explicitPath: natsServer, searchPath },
    natsUrl: flags.nats ?? null,
    ports,
    askDocker: async () => gatherDockerFacts(parseDockerAddress(dockerHost ?? undefined)),
  });
  for (const line of flags.json === true ? [JSON.stringify(checks)] : formatChecks(checks)) printLine(line);
  return exitCodeOf(checks);
}

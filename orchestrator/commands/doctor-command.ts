// orchestrator doctor: what is there, what is wrong, and what to do.
import type { Command } from "commander";
import { DEFAULT_API_PORT, environmentSettings, portOf } from "../config.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { type Check, exitCodeOf, formatChecks } from "../doctor/check.ts";
import { diagnose } from "../doctor/diagnose.ts";
import type { DiskReport } from "../doctor/disk-use.ts";
import { gatherDockerFacts } from "../doctor/docker-facts.ts";
import { askDisk, findPlatform } from "../doctor/running-platform.ts";
import { parseDockerAddress } from "../docker/address.ts";
import { printLine } from "../log.ts";
import { checkedAnswer, DISK } from "./answers.ts";
import { diskLines } from "./disk-lines.ts";

interface DoctorFlags {
  readonly home?: string;
  readonly stagingPort: string;
  readonly productionPort: string;
  readonly apiPort: string;
  readonly nats?: string;
  readonly json?: boolean;
}

const HOME = ".orchestrator";

export function addDoctor(program: Command, settle: (exitCode: number) => void): void {
  program
    .command("doctor")
    .description("Says what this machine has, what is wrong, and what to do.")
    .option("--home <dir>", `the home of the platform (default: that of the one that runs, else ${HOME})`)
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
  const apiPort = Number(flags.apiPort);
  const platform = await findPlatform({ home: flags.home ?? null, apiPort, otherwise: HOME });
  const disk = askDisk(platform, (answer) => checkedAnswer(DISK, answer, "GET /api/disk"));
  const checks = await diagnose({
    home: platform.home,
    natsSearch: { explicitPath: natsServer, searchPath },
    toolSearch: { nodePath: process.execPath, searchPath },
    natsUrl: flags.nats ?? null,
    ports,
    askDocker: async () => gatherDockerFacts(parseDockerAddress(dockerHost ?? undefined)),
    askDisk: async () => disk,
  });
  for (const line of flags.json === true ? [JSON.stringify({ checks, disk: await disk })] : linesOf(checks, await disk)) printLine(line);
  return exitCodeOf(checks);
}

const linesOf = (checks: readonly Check[], disk: DiskReport | null): string[] => [
  ...(disk === null ? [] : [...diskLines(disk), ""]),
  ...formatChecks(checks),
];

// orchestrator collect: old releases are forgotten, and what nothing needs any more is removed, now instead of within the hour.
import type { Command } from "commander";
import { RELEASE_KEPT_MS } from "../../runtime-image/contract/limits.ts";
import { bytesText } from "../bytes-text.ts";
import { printLine } from "../log.ts";
import { type Collected, checkedAnswer, COLLECTED } from "./answers.ts";
import { type ApiFlags, apiOf, withApiFlags } from "./api-flags.ts";
import { plural } from "./store-flags.ts";

interface CollectFlags extends ApiFlags {
  readonly keepDays: string;
}

const DAY_MS = 86_400_000;
const KEEP_DAYS = RELEASE_KEPT_MS / DAY_MS;

export function addCollect(program: Command): void {
  withApiFlags(
    program
      .command("collect")
      .description(
        "Forgets old releases and removes what nothing needs any more: builds, static files, packages, images. The platform does so every hour by itself.",
      )
      .option("--keep-days <days>", `how long delivered releases stay, at most ${KEEP_DAYS}; the latest 20 stay anyway`, String(KEEP_DAYS)),
  )
    .addHelpText(
      "after",
      "\nWhat is live stays, and so does what can be gone back to with a rollback.\n\nExamples:\n  orchestrator collect\n  orchestrator collect --keep-days 1",
    )
    .action(async (flags: CollectFlags) => collect(flags));
}

async function collect(flags: CollectFlags): Promise<void> {
  const problems: string[] = [];
  const keptMs = keptMsOf(flags.keepDays, problems);
  const api = await apiOf(flags, "orchestrator collect --help", problems);
  const answer = await api.post(`/api/collect?keptMs=${keptMs}`);
  const collected = checkedAnswer(COLLECTED, answer, "POST /api/collect");
  printLine(flags.json === true ? JSON.stringify(answer) : collectedText(collected));
}

function keptMsOf(text: string, problems: string[]): number {
  const days = Number(text);
  if (/^\d{1,3}$/.test(text) && days <= KEEP_DAYS) return days * DAY_MS;
  problems.push(`--keep-days: should be a number from 0 to ${KEEP_DAYS}, got "${text}"`);
  return 0;
}

function collectedText({ releaseCount, buildCount, siteCount, installCount, outdatedCount, bytesFreed }: Collected): string {
  const removed = [
    counted(buildCount, "build"),
    counted(siteCount, "site"),
    counted(installCount, "install"),
    outdatedCount === 0 ? [] : [`${outdatedCount} of earlier versions`],
  ].flat();
  const parts = [
    ...counted(releaseCount, "release").map((text) => `forgot ${text}`),
    ...(removed.length === 0 ? [] : [`removed ${removed.join(", ")}`]),
    ...(bytesFreed === 0 ? [] : [`${bytesText(bytesFreed)} freed`]),
  ];
  return parts.length === 0 ? "there is nothing that could go" : parts.join("; ");
}

const counted = (count: number, what: string): string[] => (count === 0 ? [] : [plural(count, what)]);

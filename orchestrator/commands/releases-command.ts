// orchestrator releases: what was made of an app, by whom, when, and where it is live.
import type { Command } from "commander";
import { printLine } from "../log.ts";
import { checkedAnswer, RELEASES } from "./answers.ts";
import { apiOf } from "./api-flags.ts";
import { type AppFlags, withAppFlags } from "./app-flags.ts";
import { releaseLines } from "./delivery-lines.ts";
import { countOf, queryOf } from "./store-flags.ts";

interface ReleasesFlags extends AppFlags {
  readonly count: string;
}

export function addReleases(program: Command): void {
  withAppFlags(
    program
      .command("releases")
      .description("Shows the releases of an app, newest first: who made them, when, of which commit, and where they are live.")
      .option("-n, --count <count>", "how many", "20"),
  )
    .addHelpText("after", "\nExamples:\n  orchestrator releases\n  orchestrator releases --app shop -n 5 --json")
    .action(async (flags: ReleasesFlags) => list(flags));
}

async function list(flags: ReleasesFlags): Promise<void> {
  const problems: string[] = [];
  const count = countOf("--count", flags.count, problems);
  const api = await apiOf(flags, "orchestrator releases --help", problems);
  const answer = await api.get(`/api/releases${queryOf({ app: flags.app, count: String(count) })}`);
  const { releases } = checkedAnswer(RELEASES, answer, "GET /api/releases");
  for (const line of flags.json === true ? [JSON.stringify(answer)] : releaseLines(releases)) printLine(line);
}

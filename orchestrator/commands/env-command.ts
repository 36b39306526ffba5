// orchestrator env set|ls|rm: environment variables of an app, in effect without a new build, their values never shown.
import type { Command } from "commander";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { VARIABLE_VALUE_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { connectApi } from "../api/client.ts";
import { portOf } from "../config.ts";
import { printLine } from "../log.ts";
import { changeProblems } from "../variables/change.ts";
import type { ChangeOutcome, ListedVariable } from "../variables/variables.ts";
import { type AppFlags, withAppFlags } from "./app-flags.ts";
import { choiceOf, choiceOption } from "./choices.ts";
import { parseAssignments, withoutLastBreak } from "./env-assignments.ts";
import { changeLines, listLines } from "./env-lines.ts";
import { readSecret } from "./read-secret.ts";
import { queryOf } from "./store-flags.ts";

interface EnvFlags extends AppFlags {
  readonly environment?: string;
}

const TARGETS = ["staging", "production", "both"] as const;
type Target = (typeof TARGETS)[number];

export function addEnv(program: Command): void {
  const env = program.command("env").description("Environment variables of the app, kept encrypted; they win over those of its .env.");
  withAppFlags(
    env
      .command("set")
      .description("Sets variables; when it returns, functions run with them. KEY=- takes the value from standard input.")
      .argument("<KEY=value...>", "one or more")
      .addOption(choiceOption("--environment <name>", "where", TARGETS, "staging")),
  )
    .addHelpText(
      "after",
      "\nExamples:\n  orchestrator env set GREETING=hello\n  orchestrator env set API_KEY=- --environment production < key.txt\n" +
        "  orchestrator env set A=1 B=2 --environment both",
    )
    .action(async (args: string[], flags: EnvFlags) => set(args, flags));
  withAppFlags(
    env
      .command("ls")
      .description("Shows names, where they come from, and who changed them when; never values.")
      .addOption(choiceOption("--environment <name>", "where", TARGETS, "both")),
  )
    .addHelpText("after", "\nExamples:\n  orchestrator env ls\n  orchestrator env ls --environment production --json")
    .action(async (flags: EnvFlags) => list(flags));
  withAppFlags(
    env
      .command("rm")
      .description("Removes variables that were set; one of the same name in the app's .env is seen again.")
      .argument("<KEY...>", "one or more")
      .addOption(choiceOption("--environment <name>", "where", TARGETS, "staging")),
  )
    .addHelpText("after", "\nExample:\n  orchestrator env rm API_KEY OLD_KEY --environment production")
    .action(async (names: string[], flags: EnvFlags) => remove(names, flags));
}

async function set(args: readonly string[], flags: EnvFlags): Promise<void> {
  const { values, nameFromInput, problems } = parseAssignments(args);
  const given = nameFromInput === null ? values : { ...values, [nameFromInput]: "" };
  const found = [...problems, ...changeProblems({ set: given, remove: [] }, [])];
  const target = targetOf(flags, found, "set");
  const fromInput = nameFromInput === null ? {} : { [nameFromInput]: withoutLastBreak(await readSecret(nameFromInput, INPUT_BYTES_MAX)) };
  await change(target, flags, { set: { ...values, ...fromInput }, remove: [] });
}

const INPUT_BYTES_MAX = VARIABLE_VALUE_BYTES_MAX + 2; // The largest value, and a line break.

async function remove(names: readonly string[], flags: EnvFlags): Promise<void> {
  const problems = names.some((name) => !/^[A-Z][A-Z0-9_]*$/.test(name)) ? ["a name should be capital letters, digits and _"] : [];
  await change(targetOf(flags, problems, "rm"), flags, { set: {}, remove: [...new Set(names)] });
}

interface ApiPlace {
  readonly target: Target;
  readonly port: number;
}

/** Where to go, once nothing is wrong with what was given. */
function targetOf(flags: EnvFlags, problems: readonly string[], command: string): ApiPlace {
  const all = [...problems];
  const target = choiceOf("--environment", flags.environment ?? "", { choices: TARGETS, problems: all });
  const port = portOf("--api-port", flags.apiPort, all);
  if (all.length > 0 || target === undefined)
    throw new PlatformError("SETTING_INVALID", { problems: all, remedy: `Nothing was changed. See: orchestrator env ${command} --help` });
  return { target, port };
}

async function change(place: ApiPlace, flags: EnvFlags, body: { set: Record<string, string>; remove: string[] }): Promise<void> {
  const api = await connectApi({ port: place.port, home: flags.home ?? null });
  // The orchestrator answers with what the route's schema says.
  const outcome = (await api.patch(`/api/variables/${place.target}${queryOf({ app: flags.app })}`, body)) as ChangeOutcome;
  if (flags.json === true) return printLine(JSON.stringify(outcome));
  for (const line of changeLines(outcome, body.remove.length > 0 ? "removed" : "set")) printLine(line);
}

async function list(flags: EnvFlags): Promise<void> {
  const { target, port } = targetOf(flags, [], "ls");
  const api = await connectApi({ port, home: flags.home ?? null });
  // As above.
  const { variables } = (await api.get(`/api/variables${queryOf({ app: flags.app })}`)) as {
    readonly variables: readonly ListedVariable[];
  };
  const shown = variables.filter(({ environment }) => target === "both" || environment === target);
  if (flags.json === true) return printLine(JSON.stringify({ variables: shown }));
  for (const line of listLines(shown)) printLine(line);
}

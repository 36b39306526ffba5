// orchestrator env set|ls|rm: environment variables of an app, in effect without a new build, their values never shown.
import type { Command } from "commander";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { VARIABLE_VALUE_BYTES_MAX } from "../../runtime-image/contract/limits.ts";
import { connectApi } from "../api/client.ts";
import { DEFAULT_API_PORT, portOf } from "../config.ts";
import { printLine } from "../log.ts";
import { changeProblems } from "../variables/change.ts";
import type { ChangeOutcome, ListedVariable } from "../variables/variables.ts";
import { parseAssignments, withoutLastBreak } from "./env-assignments.ts";
import { changeLines, listLines } from "./env-lines.ts";
import { readSecret } from "./read-secret.ts";

interface EnvFlags {
  readonly environment?: string;
  readonly home?: string;
  readonly apiPort: string;
  readonly json?: boolean;
}

const TARGETS = ["staging", "production", "both"] as const;
type Target = (typeof TARGETS)[number];

export function addEnv(program: Command): void {
  const env = program.command("env").description("Environment variables of the app, kept encrypted; they win over those of its .env.");
  withFlags(
    env
      .command("set")
      .description("Sets variables; when it returns, functions run with them. KEY=- takes the value from standard input.")
      .argument("<KEY=value...>", "one or more")
      .option("--environment <name>", `one of ${TARGETS.join(", ")}`, "staging"),
  )
    .addHelpText(
      "after",
      "\nExamples:\n  orchestrator env set GREETING=hello\n  orchestrator env set API_KEY=- --environment production < key.txt\n" +
        "  orchestrator env set A=1 B=2 --environment both",
    )
    .action(async (args: string[], flags: EnvFlags) => set(args, flags));
  withFlags(
    env
      .command("ls")
      .description("Shows names, where they come from, and who changed them when; never values.")
      .option("--environment <name>", `one of ${TARGETS.join(", ")}`, "both"),
  )
    .addHelpText("after", "\nExamples:\n  orchestrator env ls\n  orchestrator env ls --environment production --json")
    .action(async (flags: EnvFlags) => list(flags));
  withFlags(
    env
      .command("rm")
      .description("Removes variables that were set; one of the same name in the app's .env is seen again.")
      .argument("<KEY...>", "one or more")
      .option("--environment <name>", `one of ${TARGETS.join(", ")}`, "staging"),
  )
    .addHelpText("after", "\nExample:\n  orchestrator env rm API_KEY OLD_KEY --environment production")
    .action(async (names: string[], flags: EnvFlags) => remove(names, flags));
}

const withFlags = (command: Command): Command =>
  command
    .option("--home <dir>", "the home of the platform (default: that of the one that runs)")
    .option("--api-port <port>", "where the running orchestrator listens", String(DEFAULT_API_PORT))
    .option("--json", "the outcome as JSON");

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
  const target = TARGETS.find((name) => name === flags.environment);
  if (target === undefined) all.push(`--environment: should be one of ${TARGETS.join(", ")}, got "${flags.environment}"`);
  const port = portOf("--api-port", flags.apiPort, all);
  if (all.length > 0 || target === undefined)
    throw new PlatformError("SETTING_INVALID", { problems: all, remedy: `Nothing was changed. See: orchestrator env ${command} --help` });
  return { target, port };
}

async function change(place: ApiPlace, flags: EnvFlags, body: { set: Record<string, string>; remove: string[] }): Promise<void> {
  const api = await connectApi({ port: place.port, home: flags.home ?? null });
  // The orchestrator answers with what the route's schema says.
  const outcome = (await api.patch(`/api/variables/${place.target}`, body)) as ChangeOutcome;
  if (flags.json === true) return printLine(JSON.stringify(outcome));
  for (const line of changeLines(outcome, body.remove.length > 0 ? "removed" : "set")) printLine(line);
}

async function list(flags: EnvFlags): Promise<void> {
  const { target, port } = targetOf(flags, [], "ls");
  const api = await connectApi({ port, home: flags.home ?? null });
  // As above.
  const { variables } = (await api.get("/api/variables")) as { readonly variables: readonly ListedVariable[] };
  const shown = variables.filter(({ environment }) => target === "both" || environment === target);
  if (flags.json === true) return printLine(JSON.stringify({ variables: shown }));
  for (const line of listLines(shown)) printLine(line);
}

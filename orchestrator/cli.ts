// The command line: which commands there are, and how one that fails ends.
import { Command, CommanderError } from "commander";
import { EXIT_DONE, exitCodeFor, exitCodeLines, type Settle } from "./commands/exit-codes.ts";
import { environmentSettings } from "./config.ts";
import { createOutput, endWithReaders } from "./log.ts";

/** Commands that have something to clean up, whoever reads what they say. */
const OUTLIVING: ReadonlySet<string> = new Set(["up", "serve"]);

type AddCommand = (program: Command, settle: Settle) => void;

/** In the order in which help shows them. Each is loaded when it is needed: most of them need little of the platform. */
const GROUPS: Readonly<Record<string, Readonly<Record<string, () => Promise<AddCommand>>>>> = {
  "Begin:": {
    init: async () => (await import("./commands/init-command.ts")).addInit,
    up: async () => (await import("./commands/up-command.ts")).addUp,
    serve: async () => (await import("./commands/serve-command.ts")).addServe,
    types: async () => (await import("./commands/types-command.ts")).addTypes,
    doctor: async () => (await import("./commands/doctor-command.ts")).addDoctor,
  },
  "Apps, from a folder to production:": {
    app: async () => (await import("./commands/app-command.ts")).addApp,
    deploy: async () => (await import("./commands/deploy-command.ts")).addDeploy,
    deliveries: async () => (await import("./commands/delivery-command.ts")).addDeliveries,
    delivery: async () => (await import("./commands/delivery-command.ts")).addDelivery,
    releases: async () => (await import("./commands/releases-command.ts")).addReleases,
    diff: async () => (await import("./commands/diff-command.ts")).addDiff,
    promote: async () => (await import("./commands/promote-command.ts")).addPromote,
    rollback: async () => (await import("./commands/rollback-command.ts")).addRollback,
    route: async () => (await import("./commands/route-command.ts")).addRoute,
  },
  "What runs:": {
    logs: async () => (await import("./commands/logs-command.ts")).addLogs,
    env: async () => (await import("./commands/env-command.ts")).addEnv,
    data: async () => (await import("./commands/data-command.ts")).addData,
    backup: async () => (await import("./commands/backup-command.ts")).addBackup,
    restore: async () => (await import("./commands/restore-command.ts")).addRestore,
  },
  "The platform:": {
    token: async () => (await import("./commands/token-command.ts")).addToken,
    audit: async () => (await import("./commands/audit-command.ts")).addAudit,
    collect: async () => (await import("./commands/collect-command.ts")).addCollect,
    gateway: async () => (await import("./commands/gateway-command.ts")).addGateway,
    image: async () => (await import("./commands/image-command.ts")).addImage,
    nats: async () => (await import("./commands/nats-command.ts")).addNats,
    completion: async () => (await import("./commands/completion-command.ts")).addCompletion,
  },
};

/** The command of this name, or every one where there is none; it starts none. */
export async function createProgram(settle: Settle, name?: string): Promise<Command> {
  const program = new Command("orchestrator")
    .description("A self-hosted home for web apps made of small functions.")
    .version("0.1.0")
    .showSuggestionAfterError()
    .showHelpAfterError("See: orchestrator --help")
    .addHelpText("after", ["\nExit codes:", ...exitCodeLines(), "", "Every command has examples: orchestrator deploy --help"].join("\n"))
    .exitOverride();
  for (const [heading, commands] of Object.entries(GROUPS)) {
    program.commandsGroup(heading);
    for (const load of loadersOf(commands, name)) (await load())(program, settle);
  }
  return program.helpCommand("help [command]", "Shows how a command is used."); // In the last group.
}

function loadersOf(commands: Readonly<Record<string, () => Promise<AddCommand>>>, name: string | undefined): (() => Promise<AddCommand>)[] {
  if (name === undefined) return Object.values(commands);
  const load = Object.hasOwn(commands, name) ? commands[name] : undefined;
  return load === undefined ? [] : [load];
}

/** Help, completions and what is misspelt need all of them. */
function onlyCommandOf([, , name = ""]: readonly string[]): string | undefined {
  const isKnown = Object.values(GROUPS).some((commands) => Object.hasOwn(commands, name));
  return isKnown && name !== "completion" ? name : undefined;
}

export async function runCli(argv: readonly string[]): Promise<number> {
  const outcome = { exitCode: EXIT_DONE };
  if (!OUTLIVING.has(argv[2] ?? "")) endWithReaders();
  const program = await createProgram((exitCode) => (outcome.exitCode = exitCode), onlyCommandOf(argv));
  try {
    await program.parseAsync(argv);
    return outcome.exitCode;
  } catch (error) {
    // What commander refuses it has said itself.
    if (!(error instanceof CommanderError))
      createOutput({ isJson: argv.includes("--json"), isColored: process.stderr.isTTY && !environmentSettings().noColor }).error(error);
    return exitCodeFor(error);
  }
}

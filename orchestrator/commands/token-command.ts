// orchestrator token create|ls|rm: who may use the management API, and for what.
import type { Command } from "commander";
import { ROLES } from "../api/roles.ts";
import { printLine } from "../log.ts";
import { type ApiFlags, apiOf, withApiFlags } from "./api-flags.ts";
import { choiceOf, choiceOption } from "./choices.ts";
import { fieldsOf, tableLines, timeText } from "./table.ts";

interface CreateFlags extends ApiFlags {
  readonly role: string;
}

export function addToken(program: Command): void {
  const token = program
    .command("token")
    .description("Tokens of the management API: read looks; deploy also deploys, promotes and changes; admin also manages tokens.");
  withApiFlags(
    token
      .command("create")
      .description("Makes a token and shows it this once; only a hash of it is kept.")
      .argument("<name>", "what it is for: small letters, digits and dashes")
      .addOption(choiceOption("--role <role>", "what it may do", ROLES).makeOptionMandatory()),
  )
    .addHelpText("after", "\nExample:\n  orchestrator token create ci --role deploy\n  ORCHESTRATOR_API_TOKEN=<token> orchestrator promote")
    .action(async (name: string, flags: CreateFlags) => create(name, flags));
  withApiFlags(token.command("ls").description("Shows every token's name and role."))
    .addHelpText("after", "\nExample:\n  orchestrator token ls")
    .action(async (flags: ApiFlags) => list(flags));
  withApiFlags(token.command("rm").description("Removes a token; from then on it is refused.").argument("<name>", "its name"))
    .addHelpText("after", "\nExample:\n  orchestrator token rm ci")
    .action(async (name: string, flags: ApiFlags) => remove(name, flags));
}

async function create(name: string, flags: CreateFlags): Promise<void> {
  const problems: string[] = [];
  choiceOf("--role", flags.role, { choices: ROLES, problems });
  const api = await apiOf(flags, "orchestrator token create --help", problems);
  const made = await api.post("/api/tokens", { name, role: flags.role });
  printLine(flags.json === true ? JSON.stringify(made) : String(fieldsOf(made)["token"]));
}

async function list(flags: ApiFlags): Promise<void> {
  const api = await apiOf(flags, "orchestrator token ls --help");
  const answer = await api.get("/api/tokens");
  if (flags.json === true) return printLine(JSON.stringify(answer));
  const tokens = fieldsOf(answer)["tokens"];
  const rows = (Array.isArray(tokens) ? tokens : []).map(fieldsOf);
  const cells = rows.map((row) => [String(row["name"]), String(row["role"]), timeText(row["createdEpochMs"], "with the home")]);
  for (const line of tableLines(["name", "role", "created"], cells)) printLine(line);
}

async function remove(name: string, flags: ApiFlags): Promise<void> {
  const api = await apiOf(flags, "orchestrator token rm --help");
  const removed = await api.delete(`/api/tokens/${encodeURIComponent(name)}`);
  printLine(flags.json === true ? JSON.stringify(removed) : `the token "${name}" is refused from now on`);
}

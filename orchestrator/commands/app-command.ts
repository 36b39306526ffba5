// orchestrator app create|ls|rm, app domain add|rm: the apps that the platform hosts, and where they answer.
import type { Command } from "commander";
import { ENVIRONMENTS } from "../../runtime-image/contract/instance-manifest.ts";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { tokenFile } from "../api/access.ts";
import { printLine, printNotice } from "../log.ts";
import { APP, APPS, checkedAnswer, MADE_APP, REMOVED_APP } from "./answers.ts";
import { type ApiFlags, apiOf, withApiFlags } from "./api-flags.ts";
import { appLines, hostLines, madeAppLines } from "./app-lines.ts";
import { choiceOf, choiceOption } from "./choices.ts";
import { EXIT_INTERRUPTED, type Settle } from "./exit-codes.ts";
import { plainText } from "./plain-text.ts";
import { typedName } from "./typed-name.ts";

interface RemoveFlags extends ApiFlags {
  readonly yes?: boolean;
}

interface DomainFlags extends ApiFlags {
  readonly environment: string;
}

export function addApp(program: Command, settle: Settle): void {
  const app = program
    .command("app")
    .description("The apps that the platform hosts: makes, shows and removes them, and gives them domains.");
  withApiFlags(
    app
      .command("create")
      .description("Makes an app, with an empty repository to push to, and says where it will answer.")
      .argument("<name>", "small letters, digits and dashes"),
  )
    .addHelpText("after", "\nExamples:\n  orchestrator app create shop\n  orchestrator app create shop --json")
    .action(async (name: string, flags: ApiFlags) => create(name, flags));
  withApiFlags(app.command("ls").description("Shows every app: where it comes from, what is live, and on which hosts it answers."))
    .addHelpText("after", "\nExamples:\n  orchestrator app ls\n  orchestrator app ls --json")
    .action(async (flags: ApiFlags) => list(flags));
  withApiFlags(
    app
      .command("rm")
      .description("Removes an app with everything that it has: repository, releases, sessions, documents, variables.")
      .argument("<name>", "its name")
      .option("--yes", "do not ask"),
  )
    .addHelpText("after", "\nExamples:\n  orchestrator app rm shop\n  orchestrator app rm shop --yes --json")
    .action(async (name: string, flags: RemoveFlags) => remove(name, flags, settle));
  const domain = app.command("domain").description("The domains of an app, beside the hosts that it has by its name.");
  withApiFlags(
    domain
      .command("add")
      .description("Lets an app answer on a domain; pointing the domain to this machine is up to you.")
      .argument("<app>", "an app's name")
      .argument("<domain>", "a host name, such as shop.example.org")
      .addOption(choiceOption("--environment <name>", "which environment answers there", ENVIRONMENTS, "production")),
  )
    .addHelpText(
      "after",
      "\nExamples:\n  orchestrator app domain add shop shop.example.org\n  orchestrator app domain add shop next.example.org --environment staging",
    )
    .action(async (name: string, host: string, flags: DomainFlags) => addDomain({ name, host }, flags));
  withApiFlags(
    domain
      .command("rm")
      .description("Takes a domain from an app.")
      .argument("<app>", "an app's name")
      .argument("<domain>", "one of its domains"),
  )
    .addHelpText("after", "\nExample:\n  orchestrator app domain rm shop shop.example.org")
    .action(async (name: string, host: string, flags: ApiFlags) => removeDomain({ name, host }, flags));
}

async function create(name: string, flags: ApiFlags): Promise<void> {
  const api = await apiOf(flags, "orchestrator app create --help");
  const answer = await api.post("/api/apps", { name });
  const made = checkedAnswer(MADE_APP, answer, "POST /api/apps");
  for (const line of flags.json === true ? [JSON.stringify(answer)] : madeAppLines(made, tokenFile(api.home))) printLine(line);
}

async function list(flags: ApiFlags): Promise<void> {
  const api = await apiOf(flags, "orchestrator app ls --help");
  const answer = await api.get("/api/apps");
  const { apps } = checkedAnswer(APPS, answer, "GET /api/apps");
  for (const line of flags.json === true ? [JSON.stringify(answer)] : appLines(apps)) printLine(line);
}

const pathOf = (name: string): string => `/api/apps/${encodeURIComponent(name)}`;

async function remove(name: string, flags: RemoveFlags, settle: Settle): Promise<void> {
  if (flags.yes !== true && !process.stdin.isTTY)
    throw new PlatformError("USAGE", {
      detail: `Removing the app "${name}" takes everything that it has, and nobody can be asked here.`,
      remedy: `To do it without a question: orchestrator app rm ${name} --yes`,
    });
  const api = await apiOf(flags, "orchestrator app rm --help");
  if (flags.yes !== true) {
    const question = `This removes the app "${name}" with its repository, releases, sessions, documents and variables.\nType its name to go on: `;
    const typed = await typedName(question, process.stdin);
    if (typed === null) {
      printNotice("nothing was removed");
      return settle(EXIT_INTERRUPTED);
    }
    if (typed !== name)
      throw new PlatformError("USAGE", { detail: `"${plainText(typed)}" is not the app's name.`, remedy: "Nothing was removed." });
  }
  const answer = await api.delete(pathOf(name));
  const removed = checkedAnswer(REMOVED_APP, answer, `DELETE ${pathOf(name)}`);
  printLine(flags.json === true ? JSON.stringify(answer) : `the app "${plainText(removed.name)}" is gone, with everything that it had`);
}

interface DomainPlace {
  readonly name: string;
  readonly host: string;
}

const domainPath = ({ name, host }: DomainPlace): string => `${pathOf(name)}/domains/${encodeURIComponent(host)}`;

async function addDomain(place: DomainPlace, flags: DomainFlags): Promise<void> {
  const problems: string[] = [];
  const environment = choiceOf("--environment", flags.environment, { choices: ENVIRONMENTS, problems });
  const api = await apiOf(flags, "orchestrator app domain add --help", problems);
  tellHosts(await api.put(domainPath(place), { environment }), `PUT ${domainPath(place)}`, flags);
}

async function removeDomain(place: DomainPlace, flags: ApiFlags): Promise<void> {
  const api = await apiOf(flags, "orchestrator app domain rm --help");
  tellHosts(await api.delete(domainPath(place)), `DELETE ${domainPath(place)}`, flags);
}

function tellHosts(answer: unknown, call: string, flags: ApiFlags): void {
  const app = checkedAnswer(APP, answer, call);
  const lines = [`the app "${plainText(app.name)}" answers on`, ...hostLines(app)];
  for (const line of flags.json === true ? [JSON.stringify(answer)] : lines) printLine(line);
}

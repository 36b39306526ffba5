// orchestrator route add|rm: a route comes into the app, with a basic handler in its repository, or goes from it.
import type { Command } from "commander";
import type { ApiClient } from "../api/client.ts";
import { ROUTE_KINDS } from "../apps/new-route.ts";
import { printLine, printNotice } from "../log.ts";
import { checkedAnswer, ROUTE_CHANGE } from "./answers.ts";
import { apiOf } from "./api-flags.ts";
import { type AppFlags, withAppFlags } from "./app-flags.ts";
import { choiceOf, choiceOption } from "./choices.ts";
import { concludeDelivery } from "./conclude-delivery.ts";
import type { Settle } from "./exit-codes.ts";
import { taskStyleOf } from "./follow-delivery.ts";
import { plainText } from "./plain-text.ts";
import { queryOf } from "./store-flags.ts";

interface RouteFlags extends AppFlags {
  readonly detach?: boolean;
}

interface AddFlags extends RouteFlags {
  readonly kind: string;
}

export function addRoute(program: Command, settle: Settle): void {
  const route = program.command("route").description("Routes of an app: adds and removes them, in its manifest and on staging.");
  withRouteFlags(
    route
      .command("add")
      .description("Adds a route: writes the manifest and a basic handler, commits them, and builds it for staging.")
      .argument("<route>", 'a method and a path, such as "POST /api/submit"')
      .addOption(choiceOption("--kind <kind>", "how its handler is written", ROUTE_KINDS, "http")),
  )
    .addHelpText(
      "after",
      '\nProduction gets it with: orchestrator promote\n\nExamples:\n  orchestrator route add "POST /api/submit"\n  orchestrator route add "GET /items/:id" --app shop',
    )
    .action(async (name: string, flags: AddFlags) => {
      const problems: string[] = [];
      const kind = choiceOf("--kind", flags.kind, { choices: ROUTE_KINDS, problems });
      const change = async (api: ApiClient): Promise<unknown> =>
        api.post(`/api/routes${queryOf({ app: flags.app })}`, { route: name, kind });
      await changeRoute(change, { flags, command: "add", call: "POST /api/routes", problems }, settle);
    });
  withRouteFlags(
    route
      .command("rm")
      .description("Removes a route: from the manifest, with its handler, and from staging once that is built.")
      .argument("<route>", 'a method and a path, such as "POST /api/submit"'),
  )
    .addHelpText("after", '\nProduction loses it with: orchestrator promote\n\nExample:\n  orchestrator route rm "POST /api/submit"')
    .action(async (name: string, flags: RouteFlags) => {
      const change = async (api: ApiClient): Promise<unknown> => api.delete(`/api/routes${queryOf({ app: flags.app, route: name })}`);
      await changeRoute(change, { flags, command: "rm", call: "DELETE /api/routes", problems: [] }, settle);
    });
}

const withRouteFlags = (command: Command): Command =>
  withAppFlags(command.option("--detach", "print the delivery's id and do not wait for it"));

interface RouteCommand {
  readonly flags: RouteFlags;
  readonly command: string;
  readonly call: string;
  readonly problems: string[];
}

async function changeRoute(
  change: (api: ApiClient) => Promise<unknown>,
  { flags, command, call, problems }: RouteCommand,
  settle: Settle,
): Promise<void> {
  const isJson = flags.json === true;
  const api = await apiOf(flags, `orchestrator route ${command} --help`, problems);
  const answer = await change(api);
  const { deliveryId, files } = checkedAnswer(ROUTE_CHANGE, answer, call);
  if (isJson) printLine(JSON.stringify(answer));
  else
    for (const file of files)
      (flags.detach === true ? printNotice : printLine)(`${command === "add" ? "wrote" : "changed"} ${plainText(file)}`);
  if (deliveryId === null)
    return isJson ? undefined : printNotice("the app is served from this folder; whoever watches it takes the change from there");
  if (flags.detach !== true)
    return void (await concludeDelivery({ api, deliveryId, style: taskStyleOf(isJson), onInterrupt: "cancel" }, settle));
  if (!isJson) printLine(deliveryId);
  printNotice(`follow it with: orchestrator delivery log ${deliveryId} --follow`);
}

// orchestrator init <folder>: a new app with one function.
import type { Command } from "commander";
import { printLine } from "../log.ts";
import { initApp } from "./init.ts";

export function addInit(program: Command): void {
  program
    .command("init")
    .description('Makes a new app with one function, "GET /", and its manifest.')
    .argument("<folder>", "where the app should be made")
    .addHelpText("after", "\nExample:\n  orchestrator init my-app && orchestrator up my-app")
    .action(async (folder: string) => {
      const { files } = await initApp(folder);
      for (const file of files) printLine(`made ${file}`);
      printLine(`Now run: orchestrator up ${folder}`);
    });
}

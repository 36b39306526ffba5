// orchestrator types [folder]: the types of what functions can import.
import type { Command } from "commander";
import { printLine } from "../log.ts";
import { writeTypes } from "./types.ts";

export function addTypes(program: Command): void {
  program
    .command("types")
    .description("Writes orchestrator.d.ts into an app: the types of what its functions can import without installing it.")
    .argument("[folder]", "the app's folder", ".")
    .addHelpText("after", "\nExamples:\n  orchestrator types\n  orchestrator types my-app")
    .action(async (folder: string) => printLine(`wrote ${await writeTypes(folder)}`));
}

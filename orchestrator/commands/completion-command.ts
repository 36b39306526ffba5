// orchestrator completion bash|zsh|fish: what makes a shell complete the command line.
import type { Command } from "commander";
import { PlatformError } from "../../runtime-image/contract/errors.ts";
import { writeOut } from "../log.ts";
import { choiceArgument, choiceOf } from "./choices.ts";
import { bashCompletion } from "./completion-bash.ts";
import { fishCompletion } from "./completion-fish.ts";
import { commandNodes, type CommandNode } from "./completion-tree.ts";
import { zshCompletion } from "./completion-zsh.ts";

const SHELLS = ["bash", "zsh", "fish"] as const;
type Shell = (typeof SHELLS)[number];

const SCRIPTS: Readonly<Record<Shell, (nodes: readonly CommandNode[]) => string>> = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
};

export function addCompletion(program: Command): void {
  program
    .command("completion")
    .description("Prints a script with which a shell completes commands, options and their values.")
    .addArgument(choiceArgument("<shell>", "which shell", SHELLS))
    .addHelpText(
      "after",
      "\nExamples:\n  source <(orchestrator completion bash)       in ~/.bashrc\n" +
        "  source <(orchestrator completion zsh)        in ~/.zshrc, below compinit\n" +
        "  orchestrator completion fish > ~/.config/fish/completions/orchestrator.fish",
    )
    .action(async (text: string) => {
      const problems: string[] = [];
      const shell = choiceOf("shell", text, { choices: SHELLS, problems });
      if (shell === undefined) throw new PlatformError("SETTING_INVALID", { problems, remedy: "See: orchestrator completion --help" });
      await writeOut(SCRIPTS[shell](commandNodes(program)));
    });
}

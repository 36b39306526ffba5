// Every command of the command line, and what is wrong with lines that call it.
import type { Command } from "commander";
import { createProgram } from "../../orchestrator/cli.ts";

interface Leaf {
  readonly path: string;
  readonly usage: string; // "app rm <name>"
  readonly command: Command;
}

function leavesOf(command: Command, path = ""): Leaf[] {
  return command.commands.flatMap((child) => {
    const own = path === "" ? child.name() : `${path} ${child.name()}`;
    if (child.commands.length > 0) return leavesOf(child, own);
    const names = child.registeredArguments.map((one) => {
      const name = one.name() + (one.variadic ? "..." : "");
      return one.required ? `<${name}>` : `[${name}]`;
    });
    return [{ path: own, usage: [own, ...names].join(" "), command: child }];
  });
}

export const program = await createProgram(() => undefined);
export const leaves = leavesOf(program);

/** What is wrong with a line that begins with "orchestrator": each command in it must be one, with options that it has. */
export function problemsOf(line: string): string[] {
  const calls = line.split(/\s*(?:&&|\||<\()\s*/).flatMap((part) => /orchestrator (?!-)[a-z].*/.exec(part)?.[0] ?? []);
  return calls.flatMap((call) => {
    const words = call.split(/\s+/).slice(1);
    const leaf = leaves.find(({ path }) => words.slice(0, path.split(" ").length).join(" ") === path);
    if (leaf === undefined) return [`${call}: no such command`];
    const known = leaf.command.options.flatMap(({ long, short }) => [long, short]);
    return words.filter((word) => /^--?[a-z]/.test(word) && !known.includes(word)).map((word) => `${call}: no option ${word}`);
  });
}

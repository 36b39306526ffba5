// Options and arguments that take one of a few values: help and completions show them, the commands check them themselves.
import { Argument, Option } from "commander";

// Commander's own check would end the command at the first wrong value, in a form of its own; ours tells every problem at once.

export function choiceOption(flags: string, description: string, choices: readonly string[], otherwise?: string): Option {
  const option = new Option(flags, description);
  option.argChoices = [...choices];
  return otherwise === undefined ? option : option.default(otherwise);
}

export function choiceArgument(name: string, description: string, choices: readonly string[]): Argument {
  const argument = new Argument(name, description);
  argument.argChoices = [...choices];
  return argument;
}

/** Undefined, with a problem, where it is none of them. */
export function choiceOf<Choice extends string>(
  what: string,
  text: string,
  { choices, problems }: { readonly choices: readonly Choice[]; readonly problems: string[] },
): Choice | undefined {
  const found = choices.find((choice) => choice === text);
  if (found === undefined) problems.push(`${what}: should be one of ${choices.join(", ")}, got "${text}"`);
  return found;
}

/** An argument that takes other values, too; completions offer these. */
export class NamedArgument extends Argument {
  readonly names: readonly string[];

  constructor(argument: string, description: string, names: readonly string[]) {
    super(argument, description);
    this.names = names;
  }
}

// What can stand at each place of the command line, read off the tree of commands: what completions for every shell are made from. Pure.
import type { Argument, Command, Option } from "commander";
import { NamedArgument } from "./choices.ts";

export interface CommandNode {
  readonly path: string; // "app domain add"; "" for the command itself.
  readonly commands: readonly Named[];
  readonly options: readonly OptionNode[];
  readonly arguments: readonly ArgumentNode[];
}

export interface Named {
  readonly name: string;
  readonly description: string;
}

export interface OptionNode {
  readonly names: readonly string[];
  readonly description: string;
  readonly values: Values | null; // Null: it takes none.
}

export interface ArgumentNode {
  readonly values: Values;
  readonly isRepeated: boolean;
}

export type Values =
  | { readonly kind: "any" }
  | { readonly kind: "names"; readonly names: readonly string[] }
  | { readonly kind: "files" }
  | { readonly kind: "folders" };

export function commandNodes(program: Command): CommandNode[] {
  return nodesOf(program, "");
}

function nodesOf(command: Command, path: string): CommandNode[] {
  const help = command.createHelp();
  const children = help.visibleCommands(command);
  const node: CommandNode = {
    path,
    commands: children.map((child) => ({ name: child.name(), description: firstSentence(child.description()) })),
    options: help.visibleOptions(command).map(optionNode),
    arguments: command.registeredArguments.map((argument) => ({ values: valuesOf(argument), isRepeated: argument.variadic })),
  };
  return [
    node,
    ...children.flatMap((child) => {
      const own = childPath(path, child.name());
      return child.name() === "help" ? [helpNode(own, children)] : nodesOf(child, own);
    }),
  ];
}

export const childPath = (path: string, name: string): string => (path === "" ? name : `${path} ${name}`);

/** "help" takes the name of a command beside it. */
const helpNode = (path: string, beside: readonly Command[]): CommandNode => ({
  path,
  commands: [],
  options: [],
  arguments: [{ values: { kind: "names", names: beside.map((one) => one.name()).filter((name) => name !== "help") }, isRepeated: false }],
});

const optionNode = (option: Option): OptionNode => ({
  names: [option.short, option.long].filter((name) => name !== undefined),
  description: firstSentence(option.description),
  values: option.required || option.optional ? valuesNamed(/[<[]([\w-]+)/.exec(option.flags)?.[1] ?? "", option.argChoices) : null,
});

const valuesOf = (argument: Argument): Values =>
  valuesNamed(argument.name(), argument instanceof NamedArgument ? argument.names : argument.argChoices);

function valuesNamed(name: string, names: readonly string[] | undefined): Values {
  if (names !== undefined) return { kind: "names", names };
  if (name === "file") return { kind: "files" };
  return name === "dir" || name === "folder" ? { kind: "folders" } : { kind: "any" };
}

/** As much as fits beside a name. */
function firstSentence(text: string): string {
  const plain = text.replaceAll(/\s*\([^)]*\)/g, "").replaceAll(/\s+/g, " ");
  return /^.*?(?=[.:;](?:\s|$))/.exec(plain)?.[0] ?? plain;
}

/** For each place that takes a value of its own: the command and the names of the option there. */
export const valuedOptions = (
  nodes: readonly CommandNode[],
): { readonly path: string; readonly names: readonly string[]; readonly values: Values }[] =>
  nodes.flatMap(({ path, options }) => options.flatMap(({ names, values }) => (values === null ? [] : [{ path, names, values }])));

/** The same as "command|option", which is how the scripts write it. */
export const valuedPlaces = (nodes: readonly CommandNode[]): string[] =>
  valuedOptions(nodes).flatMap(({ path, names }) => names.map((name) => `${path}|${name}`));

/** Every step from a command to one below it. */
export const moves = (nodes: readonly CommandNode[]): { readonly from: string; readonly name: string; readonly to: string }[] =>
  nodes.flatMap(({ path, commands }) => commands.map(({ name }) => ({ from: path, name, to: childPath(path, name) })));

// The completion script for fish: to be put into its folder of completions, or to be sourced. Pure.
import { type ArgumentNode, type CommandNode, moves, type Named, valuedOptions, valuedPlaces, type Values } from "./completion-tree.ts";

export const fishCompletion = (
  nodes: readonly CommandNode[],
): string => `# Completion of orchestrator for fish, made by: orchestrator completion fish
function __orchestrator_complete
    set -l command ""
    set -l pending ""
    set -l before ""
    set -l position 0
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    for word in $words[2..-1]
        if test -n "$pending"
            set pending ""
            continue
        end
        if string match -q -- '-*' "$word"
            switch "$command|$word"
                case ${valuedPatterns(nodes)}
                    set pending "$word"
            end
            continue
        end
        switch "$command $word"
${moves(nodes)
  .map(({ from, name, to }) => `            case '${from} ${name}'\n                set command '${to}'`)
  .join("\n")}
            case '*'
                set position (math $position + 1)
        end
    end
    if test -z "$pending"; and string match -q -- '--*=*' "$current"
        set pending (string split -m 1 -- = "$current")[1]
        set before "$pending="
        set current (string split -m 1 -- = "$current")[2]
    end
    if test -n "$pending"
        switch "$command|$pending"
${valuedOptions(nodes)
  .filter(({ values }) => values.kind !== "any")
  .map(
    ({ path, names, values }) =>
      `            case ${names.map((name) => quoted(`${path}|${name}`)).join(" ")}\n                ${offer(values, '"$before"')}`,
  )
  .join("\n")}
        end
        return
    end
    if not string match -q -- '-*' "$current"
        switch "$command|$position"
${nodes.flatMap(argumentLines).join("\n")}
        end
    end
    switch "$command"
${nodes
  .filter(({ options }) => options.length > 0)
  .map(
    ({ path, options }) =>
      `        case '${path}'\n            ${printed(options.flatMap(({ names, description }) => names.map((name) => ({ name, description }))))}`,
  )
  .join("\n")}
    end
end
complete -c orchestrator -e
complete -c orchestrator -f -a '(__orchestrator_complete)'
`;

const valuedPatterns = (nodes: readonly CommandNode[]): string => valuedPlaces(nodes).map(quoted).join(" ");

function argumentLines({ path, commands, arguments: args }: CommandNode): string[] {
  if (commands.length > 0) return [`            case '${path}|0'\n                ${printed(commands)}\n                return`];
  return args.map(
    (argument, index) =>
      `            case ${place(path, argument, index)}\n                ${offer(argument.values, '""')}\n                return`,
  );
}

const place = (path: string, { isRepeated }: ArgumentNode, index: number): string => quoted(isRepeated ? `${path}|*` : `${path}|${index}`);

/** "before" is what stands on the same word before the value. */
function offer(values: Values, before: string): string {
  switch (values.kind) {
    case "names":
      return `printf '%s%s\\n' ${values.names.map((name) => `${before} ${quoted(name)}`).join(" ")}`;
    case "files":
      return `for path in (__fish_complete_path "$current"); printf '%s%s\\n' ${before} "$path"; end`;
    case "folders":
      return `for path in (__fish_complete_directories "$current" ""); printf '%s%s\\n' ${before} "$path"; end`;
    case "any":
      return "true"; // Something that only its author knows.
  }
}

const printed = (all: readonly Named[]): string =>
  `printf '%s\\t%s\\n' ${all.flatMap(({ name, description }) => [quoted(name), quoted(description)]).join(" ")}`;

const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;

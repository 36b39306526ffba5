// The completion script for bash, 3.2 and newer. Pure.
import { type ArgumentNode, type CommandNode, moves, valuedOptions, valuedPlaces, type Values } from "./completion-tree.ts";

// Bash hands over "--name=value" as three words.
export const bashCompletion = (
  nodes: readonly CommandNode[],
): string => `# Completion of orchestrator for bash, made by: orchestrator completion bash
_orchestrator() {
  local current="\${COMP_WORDS[COMP_CWORD]}" command="" pending="" names="" kind="" word
  local -i position=0 index
  [[ $current == "=" ]] && current=""
  for (( index = 1; index < COMP_CWORD; index++ )); do
    word="\${COMP_WORDS[index]}"
    if [[ -n $pending ]]; then
      [[ $word == "=" ]] || pending=""
      continue
    fi
    if [[ $word == -* ]]; then
      case "$command|$word" in
        ${valuedPatterns(nodes)}) pending="$word" ;;
      esac
      continue
    fi
    case "$command $word" in
${moves(nodes)
  .map(({ from, name, to }) => `      "${from} ${name}") command="${to}" ;;`)
  .join("\n")}
      *) position+=1 ;;
    esac
  done
  if [[ -n $pending ]]; then
    case "$command|$pending" in
${valuedOptions(nodes)
  .filter(({ values }) => values.kind !== "any")
  .map(({ path, names, values }) => `      ${names.map((name) => `"${path}|${name}"`).join("|")}) ${offer(values)} ;;`)
  .join("\n")}
    esac
  else
    if [[ $current != -* ]]; then
      case "$command|$position" in
${nodes.flatMap(argumentLines).join("\n")}
      esac
    fi
    if [[ -z $names && -z $kind ]]; then
      case "$command" in
${nodes.map(({ path, options }) => `        "${path}") names="${options.flatMap(({ names }) => names).join(" ")}" ;;`).join("\n")}
      esac
    fi
  fi
  COMPREPLY=()
  while IFS= read -r word; do
    COMPREPLY+=("$word")
  done < <(
    case "$kind" in
      folders) compgen -d -- "$current" ;;
      files) compgen -f -- "$current" ;;
      none) ;;
      *) compgen -W "$names" -- "$current" ;;
    esac
  )
  # Bash 3.2 has no compopt; there, names with spaces are not quoted.
  [[ $kind == "" ]] || compopt -o filenames 2>/dev/null
  return 0
}
complete -F _orchestrator orchestrator
`;

const valuedPatterns = (nodes: readonly CommandNode[]): string =>
  valuedPlaces(nodes)
    .map((one) => `"${one}"`)
    .join("|");

/** A command has commands below it, or arguments. */
function argumentLines({ path, commands, arguments: args }: CommandNode): string[] {
  if (commands.length > 0) return [`        "${path}|0") names="${commands.map(({ name }) => name).join(" ")}" ;;`];
  return args.map((argument, index) => `        ${place(path, argument, index)}) ${offer(argument.values)} ;;`);
}

const place = (path: string, { isRepeated }: ArgumentNode, index: number): string => (isRepeated ? `"${path}|"*` : `"${path}|${index}"`);

function offer(values: Values): string {
  switch (values.kind) {
    case "names":
      return `names="${values.names.join(" ")}"`;
    case "files":
    case "folders":
      return `kind="${values.kind}"`;
    case "any":
      return `kind="none"`; // Something that only its author knows.
  }
}

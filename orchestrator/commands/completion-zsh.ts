// The completion script for zsh: to be put into a folder of its $fpath as _orchestrator, or to be sourced. Pure.
import { type ArgumentNode, type CommandNode, moves, type Named, valuedOptions, valuedPlaces, type Values } from "./completion-tree.ts";

export const zshCompletion = (nodes: readonly CommandNode[]): string => `#compdef orchestrator
# Completion of orchestrator for zsh, made by: orchestrator completion zsh
_orchestrator() {
  local command="" pending="" kind="" word
  local -a names
  integer position=0 index
  for (( index = 2; index < CURRENT; index++ )); do
    word="\${(Q)words[index]}"
    if [[ -n $pending ]]; then
      pending=""
      continue
    fi
    if [[ $word == -* ]]; then
      case "$command|$word" in
        (${valuedPatterns(nodes)}) pending="$word" ;;
      esac
      continue
    fi
    case "$command $word" in
${moves(nodes)
  .map(({ from, name, to }) => `      ("${from} ${name}") command="${to}" ;;`)
  .join("\n")}
      (*) (( position += 1 )) ;;
    esac
  done
  if [[ -z $pending && $words[CURRENT] == --*=* ]]; then
    pending="\${words[CURRENT]%%=*}"
    compset -P 1 '*='
  fi
  if [[ -n $pending ]]; then
    case "$command|$pending" in
${valuedOptions(nodes)
  .filter(({ values }) => values.kind !== "any")
  .map(({ path, names, values }) => `      (${names.map((name) => `"${path}|${name}"`).join("|")}) ${offer(values)} ;;`)
  .join("\n")}
    esac
  else
    if [[ $words[CURRENT] != -* ]]; then
      case "$command|$position" in
${nodes.flatMap(argumentLines).join("\n")}
      esac
    fi
    if (( \${#names} == 0 )) && [[ -z $kind ]]; then
      case "$command" in
${nodes.map(({ path, options }) => `        ("${path}") names=(${options.flatMap((option) => option.names.map((name) => described({ name, description: option.description }))).join(" ")}) ;;`).join("\n")}
      esac
    fi
  fi
  case "$kind" in
    (folders) _files -/ ;;
    (files) _files ;;
    (none) return 1 ;;
    (*) _describe -V orchestrator names ;;
  esac
}
if [[ $funcstack[1] == _orchestrator ]]; then
  _orchestrator "$@"
else
  compdef _orchestrator orchestrator
fi
`;

const valuedPatterns = (nodes: readonly CommandNode[]): string =>
  valuedPlaces(nodes)
    .map((one) => `"${one}"`)
    .join("|");

function argumentLines({ path, commands, arguments: args }: CommandNode): string[] {
  if (commands.length > 0) return [`        ("${path}|0") names=(${commands.map(described).join(" ")}) ;;`];
  return args.map((argument, index) => `        (${place(path, argument, index)}) ${offer(argument.values)} ;;`);
}

const place = (path: string, { isRepeated }: ArgumentNode, index: number): string => (isRepeated ? `"${path}|"*` : `"${path}|${index}"`);

function offer(values: Values): string {
  switch (values.kind) {
    case "names":
      return `names=(${values.names.map(quoted).join(" ")})`;
    case "files":
    case "folders":
      return `kind="${values.kind}"`;
    case "any":
      return `kind="none"`;
  }
}

const described = ({ name, description }: Named): string => quoted(description === "" ? name : `${name}:${description}`);

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

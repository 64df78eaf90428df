// Completion scripts: commands, options, and the words that options take. Ids of operations are not among them, because
// finding them out would start servers.

import { nearestName } from "../interop/nearest-name.js";
import { type Command, GLOBAL_OPTIONS, type Option, SHELLS } from "./command-table.js";
import { usageError } from "./exit-codes.js";

export function completionFor(shell: string, commands: readonly Command[]): string {
  switch (shell) {
    case "bash":
      return bash(commands);
    case "zsh":
      return zsh(commands);
    case "fish":
      return fish(commands);
    default: {
      const nearest = nearestName(shell, SHELLS, 1);
      const hint = nearest === undefined ? "" : `. Did you mean ${nearest}?`;
      throw usageError(
        `There are completions for ${SHELLS.join(", ")}, not for ${JSON.stringify(shell)}${hint}`,
      );
    }
  }
}

const optionsOf = ({ options }: Command): readonly Option[] => [...options, ...GLOBAL_OPTIONS];
const wordsOf = (options: readonly Option[]) =>
  options.flatMap(({ name, short }) => (short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`]));
/** Texts of ours have no quotes but these. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

function bash(commands: readonly Command[]): string {
  const choices = commands.flatMap((command) =>
    command.options
      .filter((option) => option.choices !== undefined)
      .map((option) => [command, option] as const),
  );
  return `# Completion for operations. Load it with: source <(operations completion bash)
_operations() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) command="$word"; break ;; esac
  done
  case "$previous" in
${choices.map(([, { name, short, choices: words = [] }]) => `    --${name}${short === undefined ? "" : `|-${short}`}) COMPREPLY=($(compgen -W ${quoted(words.join(" "))} -- "$current")); return ;;`).join("\n")}
    --config|-c) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  case "$command" in
    "") COMPREPLY=($(compgen -W ${quoted([...commands.map(({ name }) => name), ...wordsOf(GLOBAL_OPTIONS)].join(" "))} -- "$current")) ;;
${commands
  .map(
    (command) =>
      `    ${command.name}) COMPREPLY=($(compgen -W ${quoted([...(command.choices ?? []), ...wordsOf(optionsOf(command))].join(" "))} -- "$current")${takesFile(command) ? ` $(compgen -f -- "$current")` : ""}) ;;`,
  )
  .join("\n")}
  esac
}
complete -F _operations operations
`;
}

const takesFile = ({ name }: Command) => name === "serve" || name === "inspect";

function zsh(commands: readonly Command[]): string {
  const escaped = (text: string) => text.replaceAll("[", "\\[").replaceAll("]", "\\]").replaceAll(":", "\\:");
  const line = ({ name, short, summary, value, choices, isFile }: Option) => {
    const action =
      value === undefined
        ? ""
        : `:${value.replace(/[<>]/g, "")}:${choices ? `(${choices.join(" ")})` : isFile ? "_files" : ""}`;
    const names = short === undefined ? `--${name}` : `{-${short},--${name}}`;
    return short === undefined
      ? quoted(`${names}[${escaped(summary)}]${action}`)
      : `${names}${quoted(`[${escaped(summary)}]${action}`)}`;
  };
  return `#compdef operations
# Completion for operations. Load it with: source <(operations completion zsh)
_operations() {
  local -a commands
  commands=(
${commands.map(({ name, summary }) => `    ${quoted(`${name}:${escaped(summary)}`)}`).join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case "$words[2]" in
${commands
  .map(
    (command) =>
      `    ${command.name}) _arguments ${optionsOf(command).map(line).join(" ")}${
        command.choices
          ? ` ${quoted(`*:word:(${command.choices.join(" ")})`)}`
          : takesFile(command)
            ? ` '*:file:_files'`
            : ""
      } ;;`,
  )
  .join("\n")}
  esac
}
compdef _operations operations
`;
}

function fish(commands: readonly Command[]): string {
  const option = ({ name, short, summary, value, choices, isFile }: Option, condition: string) =>
    [
      `complete -c operations ${condition}-l ${name}`,
      short === undefined ? "" : ` -s ${short}`,
      value === undefined ? "" : isFile ? " -r -F" : choices ? ` -x -a ${quoted(choices.join(" "))}` : " -x",
      ` -d ${quoted(summary)}`,
    ].join("");
  const within = (name: string) => `-n '__fish_seen_subcommand_from ${name}' `;
  return [
    "# Completion for operations. Load it with: operations completion fish | source",
    "complete -c operations -f",
    ...commands.map(
      ({ name, summary }) =>
        `complete -c operations -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
    ),
    ...GLOBAL_OPTIONS.map((one) => option(one, "")),
    ...commands.flatMap((command) => [
      ...command.options.map((one) => option(one, within(command.name))),
      ...(command.choices
        ? [`complete -c operations ${within(command.name)}-a ${quoted(command.choices.join(" "))}`]
        : []),
      ...(takesFile(command) ? [`complete -c operations ${within(command.name)}-F`] : []),
    ]),
    "",
  ].join("\n");
}

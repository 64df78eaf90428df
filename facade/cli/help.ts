// What `--help` prints. It loads nothing else, so that it is there at once.

import { COMMANDS, type Command, GLOBAL_OPTIONS, type Option } from "./command-table.js";

export function help(): string {
  const commands = [...COMMANDS.values()];
  return [
    "operations: HTTP APIs and MCP servers as operations, from the command line",
    "",
    "Usage: operations <command> [arguments] [options]",
    "",
    "Commands:",
    ...columns(commands.map(({ name, summary }) => [name, summary])),
    "",
    "Options:",
    ...optionLines(GLOBAL_OPTIONS),
    "",
    "Operations come from a configuration: --config <file>, or operations.yaml, operations.yml or operations.json",
    "of this folder. `operations <command> --help` shows the options of a command.",
    "",
    "Exit codes: 0 done, 1 failed, 2 usage or configuration, 3 not found, 4 denied, 5 invalid input, 6 timed out,",
    "130 interrupted, 143 terminated.",
    "",
  ].join("\n");
}

export function helpFor({ name, usage, summary, details = [], options, examples }: Command): string {
  return [
    `operations ${name}: ${summary.charAt(0).toLowerCase()}${summary.slice(1)}`,
    "",
    `Usage: operations ${name} ${usage} [options]`,
    ...(details.length === 0 ? [] : ["", ...details]),
    "",
    "Options:",
    ...optionLines([...options, ...GLOBAL_OPTIONS]),
    "",
    "Examples:",
    ...examples.map((example) => `  ${example}`),
    "",
  ].join("\n");
}

function optionLines(options: readonly Option[]): string[] {
  return columns(
    options.map(({ name, short, value, summary }) => [
      `${short === undefined ? "    " : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`,
      summary,
    ]),
  );
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([first]) => first.length));
  return rows.map(([first, second]) => `  ${first.padEnd(width)}  ${second}`);
}

// From a command line to an exit code. Commands are loaded when they are needed: help must not wait for the addon.

import { COMMANDS } from "./command-table.js";
import { EXIT } from "./exit-codes.js";
import { help, helpFor } from "./help.js";
import { type Invocation, parse } from "./parse.js";

/** Runs a command and returns its exit code. */
export async function run(args: readonly string[]): Promise<number> {
  let invocation: Invocation;
  try {
    invocation = parse(args);
  } catch (error) {
    return fail(error, args.includes("--json"));
  }
  const { command, options } = invocation;
  if (options.has("version")) return print(`${version()}\n`);
  if (command === undefined) {
    const isRequested = options.has("help");
    (isRequested ? process.stdout : process.stderr).write(help());
    return isRequested ? EXIT.OK : EXIT.USAGE;
  }
  if (options.has("help")) return print(helpFor(command));
  if (command.name === "completion") {
    const { completionFor } = await import("./completion.js");
    try {
      return print(completionFor(invocation.words[0] ?? "", [...COMMANDS.values()]));
    } catch (error) {
      return fail(error, options.has("json"));
    }
  }
  const { perform } = await import("./perform.js");
  return perform(command.name, invocation);
}

function print(text: string): number {
  process.stdout.write(text);
  return EXIT.OK;
}

function version(): string {
  return (require("../../package.json") as { version: string }).version;
}

function fail(error: unknown, isJson: boolean): number {
  const { message, code = "USAGE_ERROR" } = error as { message: string; code?: string };
  const text = isJson ? JSON.stringify({ error: { code, message } }) : `operations: ${message}`;
  process.stderr.write(`${text}\n`);
  return EXIT.USAGE;
}

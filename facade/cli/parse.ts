// From the words of a command line to a command, its arguments and its options.

import { nearestName } from "../interop/nearest-name.js";
import { COMMANDS, CONFIG, type Command, GLOBAL_OPTIONS, type Option } from "./command-table.js";
import { usageError } from "./exit-codes.js";

export interface Invocation {
  /** None: only options were given, or nothing. */
  readonly command?: Command;
  readonly words: readonly string[];
  readonly options: Options;
}

/** The options by name. What was not given is absent. */
export class Options {
  readonly #given = new Map<string, string | true>();

  set(name: string, value: string | true): void {
    this.#given.set(name, value);
  }

  has(name: string): boolean {
    return this.#given.has(name);
  }

  text(name: string): string | undefined {
    const value = this.#given.get(name);
    return typeof value === "string" ? value : undefined;
  }

  /** A whole number, `least` or more. */
  whole(name: string, least: number, most = Number.MAX_SAFE_INTEGER): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    const upper = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
    throw usageError(`--${name} must be a whole number ${upper}, not ${JSON.stringify(text)}`);
  }
}

/** Reads a command line. */
export function parse(args: readonly string[]): Invocation {
  const options = new Options();
  const words: string[] = [];
  let command: Command | undefined;
  const left = [...args];
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    if (word === "--") {
      words.push(...left.splice(0));
    } else if (word.startsWith("-") && word !== "-") {
      readOption(word, left, command, options);
    } else if (command === undefined && words.length === 0) {
      // `operations help list` is `operations list --help`.
      if (word === "help") options.set("help", true);
      else command = commandOf(word);
    } else {
      words.push(word);
      // A command that starts a server has options of its own.
      if (command?.name === "inspect" && !isDocument(word, options)) words.push(...left.splice(0));
    }
  }
  if (command !== undefined && !options.has("help")) refuseCount(command, words);
  return { ...(command && { command }), words, options };
}

/** Whether what `inspect` is given is a file or a URL, and no command. */
export function isDocument(word: string, options: Options): boolean {
  return /^https?:\/\//i.test(word) || /\.(json|ya?ml)$/i.test(word) || options.has("openapi");
}

function commandOf(word: string): Command {
  const command = COMMANDS.get(word);
  if (command !== undefined) return command;
  const names = [...COMMANDS.keys()];
  const nearest = nearestName(word, names, 1);
  const hint = nearest === undefined ? `There are ${names.join(", ")}` : `Did you mean ${nearest}?`;
  throw usageError(`There is no command ${JSON.stringify(word.slice(0, 64))}. ${hint}`);
}

function readOption(word: string, left: string[], command: Command | undefined, options: Options): void {
  // The configuration may be named before the command.
  const known = [...GLOBAL_OPTIONS, ...(command?.options ?? [CONFIG])];
  const isLong = word.startsWith("--");
  const at = isLong ? word.indexOf("=") : -1;
  const given = at === -1 ? word : word.slice(0, at);
  const option = known.find(({ name, short }) => (isLong ? `--${name}` === given : `-${short}` === given));
  if (option === undefined) throw unknownOption(given, known, command);
  if (option.value === undefined) {
    if (at !== -1) throw usageError(`--${option.name} takes no value`);
    options.set(option.name, true);
    return;
  }
  const value = at === -1 ? left.shift() : word.slice(at + 1);
  if (value === undefined || value === "")
    throw usageError(`--${option.name} needs a value: ${option.value}`);
  if (option.choices !== undefined && !option.choices.includes(value)) {
    const nearest = nearestName(value, option.choices, 1);
    const hint = nearest === undefined ? "" : `. Did you mean ${nearest}?`;
    throw usageError(
      `--${option.name} must be one of ${option.choices.join(", ")}, not ${JSON.stringify(value)}${hint}`,
    );
  }
  options.set(option.name, value);
}

function unknownOption(given: string, known: readonly Option[], command: Command | undefined): Error {
  const nearest = nearestName(
    given.replace(/^-+/, ""),
    known.map(({ name }) => name),
    1,
  );
  const whose = command === undefined ? "operations" : `operations ${command.name}`;
  const hint = nearest === undefined ? `\`${whose} --help\` lists them` : `Did you mean --${nearest}?`;
  // What follows `=` may be a secret, and is not quoted.
  return usageError(`${given.slice(0, 64)} is not an option of \`${whose}\`. ${hint}`);
}

function refuseCount({ name, usage, least, most }: Command, words: readonly string[]): void {
  if (words.length >= least && words.length <= most) return;
  const what = words.length < least ? "needs more arguments" : "takes fewer arguments";
  throw usageError(`\`operations ${name}\` ${what}. Usage: operations ${name} ${usage}`);
}

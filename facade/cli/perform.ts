// Runs a command that needs the addon, from its options to its exit code.

import { CallError, mapError } from "../errors.js";
import { CommandError, exitCodeOf } from "./exit-codes.js";
import { Interrupts } from "./interrupts.js";
import { showLog } from "./log.js";
import type { Invocation, Options } from "./parse.js";
import { Progress } from "./progress.js";
import { Terminal } from "./terminal.js";

/** What a command works with. */
export interface Workplace {
  readonly words: readonly string[];
  readonly options: Options;
  readonly terminal: Terminal;
  readonly progress: Progress;
  readonly interrupts: Interrupts;
}

/** Characters of an error's body that are shown. */
const MAX_BODY = 2_000;

/** A command. It may return an exit code of its own. */
type Performer = (at: Workplace) => Promise<number | undefined>;

const PERFORMERS: Record<string, () => Promise<Performer>> = {
  serve: async () => (await import("./commands/serve.js")).serveCommand,
  inspect: async () => (await import("./commands/inspect.js")).inspectCommand,
  list: async () => (await import("./commands/list.js")).listCommand,
  describe: async () => (await import("./commands/describe.js")).describeCommand,
  call: async () => (await import("./commands/call.js")).callCommand,
  run: async () => (await import("./commands/run.js")).runCommand,
  login: async () => (await import("./commands/login.js")).loginCommand,
  approvals: async () => (await import("./commands/approvals.js")).approvalsCommand,
  search: async () => (await import("./commands/search.js")).searchCommand,
  servers: async () => (await import("./commands/servers.js")).serversCommand,
  types: async () => (await import("./commands/types.js")).typesCommand,
  tools: async () => (await import("./commands/tools.js")).toolsCommand,
};

export async function perform(name: string, { words, options }: Invocation): Promise<number> {
  const terminal = new Terminal();
  terminal.isJson = options.has("json");
  terminal.isQuiet = options.has("quiet");
  const progress = new Progress(terminal);
  const interrupts = new Interrupts();
  try {
    if (options.has("verbose")) await showLog(terminal, "debug");
    const performer = await (PERFORMERS[name] as () => Promise<Performer>)();
    return (await performer({ words, options, terminal, progress, interrupts })) ?? 0;
  } catch (error) {
    progress.clear();
    // What fails after an interrupt fails because of it.
    if (interrupts.exitCode !== undefined) terminal.note("Interrupted");
    else printError(error, terminal);
    return interrupts.exitCode ?? exitCodeOf(error);
  } finally {
    progress.clear();
    interrupts.stop();
  }
}

function printError(error: unknown, terminal: Terminal): void {
  const { code, message, details } = error instanceof CallError ? error : mapError(error);
  if (terminal.isJson) {
    terminal.complain(JSON.stringify({ error: { code, message, ...detailsOf(details) } }));
  } else {
    const label = error instanceof CommandError ? "" : `${code}: `;
    terminal.complain(`operations: ${label}${message}${bodyOf(details)}`);
  }
}

/** What a server answered together with an error status: it often says what to do. */
function bodyOf(details: unknown): string {
  const { statusCode, body } = Object(details) as { statusCode?: unknown; body?: unknown };
  if (typeof statusCode !== "number" || body === undefined || body === null || body === "") return "";
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return `\n${text.length > MAX_BODY ? `${text.slice(0, MAX_BODY)}…` : text}`;
}

/** Details that JSON can hold; a thrown error is in the message already. */
function detailsOf(details: unknown): { details?: unknown } {
  if (details === undefined || details instanceof Error) return {};
  try {
    return { details: JSON.parse(JSON.stringify(details)) };
  } catch {
    return {};
  }
}

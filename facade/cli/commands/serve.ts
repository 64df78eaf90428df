import { once } from "node:events";
import { setTimeout } from "node:timers";
import { counted } from "../../border/text.js";
import { DOOR_PATHS, type ServeOptions } from "../../serve/options.js";
import { serve } from "../../serve/serve.js";
import { serveStdio } from "../../serve/stdio.js";
import type { HubConfig } from "../config/hub.js";
import { EXIT, usageError } from "../exit-codes.js";
import { configFor, identityFor, withSources } from "../hub.js";
import { showLog } from "../log.js";
import { accessOf, operationsFor } from "../operations.js";
import type { Workplace } from "../perform.js";
import type { Sources } from "../sources.js";

/** How long calls may take to finish after the first Ctrl+C. In milliseconds. */
const DRAIN = 5_000;
/** Pauses before a source that failed is tried again. In milliseconds. */
const FIRST_PAUSE = 5_000;
const LONGEST_PAUSE = 300_000;
/** Where doors are if the file does not say it. */
const PATHS: Record<string, string> = DOOR_PATHS;

export async function serveCommand(at: Workplace): Promise<number> {
  const { options, words, terminal } = at;
  if (words[0] !== undefined && options.has("config")) {
    throw usageError("Name the configuration once: as the argument, or with --config");
  }
  if (options.has("as") && !options.has("stdio")) {
    throw usageError("--as is for --stdio: over HTTP, callers say who they are with a token");
  }
  const config = await configFor(at, words[0] ?? options.text("config"));
  const port = options.whole("port", 0, 65_535);
  const host = options.text("host");
  const served = {
    ...config.serveOptions(),
    ...(port !== undefined && { port }),
    ...(host !== undefined && { host }),
  };
  terminal.hide(config.secrets);
  terminal.hide(Object.keys(served.tokens ?? {}));
  if (options.has("check")) return check(config, at);
  await withSources(at, config, async (sources) => {
    sources.tellFailures(options.has("strict"));
    sources.keepInStep();
    if (!options.has("verbose") && !options.has("quiet")) await showLog(terminal, "warning");
    if (options.has("stdio")) await onStandardStreams(served, config, sources, at);
    else await onPort(served, sources, at);
  });
  return EXIT.OK;
}

async function check(config: HubConfig, { terminal }: Workplace): Promise<number> {
  for (const source of config.sources) source.config();
  const names = config.sources.map(({ name }) => name);
  if (terminal.isJson) await terminal.printJson({ file: config.file, sources: names });
  else
    await terminal.print(`${config.file} is right: ${counted(names.length, "source")} (${names.join(", ")})`);
  return EXIT.OK;
}

async function onPort(options: ServeOptions, sources: Sources, at: Workplace): Promise<void> {
  const served = await serve(sources.registry, options);
  const retries = new Retries(sources);
  try {
    await tellWhere(served.url, options, sources, at);
    await at.interrupts.wait();
    at.terminal.note("Stopping");
  } finally {
    retries.stop();
    await served.close({ drain: DRAIN });
  }
}

async function tellWhere(
  url: string,
  options: ServeOptions,
  sources: Sources,
  { terminal }: Workplace,
): Promise<void> {
  const doors = Object.fromEntries(
    Object.entries(options.doors as Record<string, unknown>)
      .filter(([, door]) => door !== undefined && door !== false)
      .map(([name, door]) => [
        name,
        url + ((Object(door) as { path?: string }).path ?? PATHS[name] ?? `/${name}`),
      ]),
  );
  const operations = operationsFor(sources, [], undefined);
  const report = sources.report();
  if (terminal.isJson) {
    await terminal.printJson(
      { url, doors, operations: operations.length, sources: report },
      { isLine: true },
    );
  } else {
    const width = Math.max(...Object.keys(doors).map((name) => name.length));
    const available = report.filter(({ error }) => error === undefined);
    const lines = [
      `Serving ${counted(operations.length, "operation")} of ${counted(available.length, "source")} at ${url}`,
      ...Object.entries(doors).map(([name, address]) => `  ${name.padEnd(width)}  ${address}`),
      "Ctrl+C stops it.",
    ];
    await terminal.print(lines.join("\n"));
  }
  const open = operations.filter(({ accessControl }) => accessOf(accessControl) === "open").length;
  if (!/^https?:\/\/(127\.|localhost|\[::1\])/.test(url) && open > 0) {
    terminal.note(
      `Warning: ${counted(open, "operation")} ${open === 1 ? "is" : "are"} open to everybody who reaches ${url}. \`access\` in the configuration protects ${open === 1 ? "it" : "them"}.`,
    );
  }
}

async function onStandardStreams(
  options: ServeOptions,
  config: HubConfig,
  sources: Sources,
  at: Workplace,
): Promise<void> {
  const { mcp } = options.doors;
  const { name = "operations", version = "0.0.0", instructions } = typeof mcp === "object" ? mcp : {};
  const identity = identityFor(at, config);
  const served = await serveStdio(sources.registry, {
    name,
    version,
    ...(instructions !== undefined && { instructions }),
    ...(identity !== undefined && { identity }),
    ...(options.timeout !== undefined && { timeout: options.timeout }),
  });
  const retries = new Retries(sources);
  try {
    // When the client closes its end, nothing keeps this process any more.
    await Promise.race([at.interrupts.wait(), once(process, "beforeExit")]);
  } finally {
    retries.stop();
    await served.close({ drain: 0 });
  }
}

/** Tries sources that failed again, at growing intervals. */
class Retries {
  readonly #sources: Sources;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(sources: Sources) {
    this.#sources = sources;
    if (sources.report().some(({ error }) => error !== undefined)) this.#plan(FIRST_PAUSE);
  }

  #plan(pause: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      void this.#sources.retry().then((isComplete) => {
        if (!isComplete) this.#plan(Math.min(pause * 2, LONGEST_PAUSE));
      });
    }, pause).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }
}

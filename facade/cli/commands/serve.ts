import { once } from "node:events";
import { existsSync } from "node:fs";
import { setTimeout } from "node:timers";
import { mapError } from "../../errors.js";
import { counted } from "../../interop/text.js";
import { mcpDoors, viewsOf } from "../../serve/mcp-door.js";
import { DOOR_PATHS, type ServeOptions } from "../../serve/options.js";
import { listenerWarnings, serve } from "../../serve/serve.js";
import { serveStdio } from "../../serve/stdio.js";
import { VERSION } from "../../version.js";
import type { HubConfig } from "../config/hub.js";
import type { Source } from "../config/source.js";
import { CommandError, configError, EXIT, usageError } from "../exit-codes.js";
import { configFor, configNamed, identityFor, withSources } from "../hub.js";
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
  const { options, terminal } = at;
  if (options.has("as") && !options.has("stdio")) {
    throw usageError("--as is for --stdio: over HTTP, callers say who they are with a token");
  }
  const config = await configFor(at, configNamed(at));
  const port = options.whole("port", 0, 65_535);
  const host = options.text("host");
  const served = {
    ...config.serveOptions(),
    ...(port !== undefined && { port }),
    ...(host !== undefined && { host }),
  };
  terminal.hide(config.secrets);
  terminal.hide(Object.keys(served.tokens ?? {}));
  if (served.introspection !== undefined) terminal.hide([served.introspection.clientSecret]);
  if (options.has("check")) return check(config, served, at);
  if (!options.has("verbose") && !options.has("quiet")) await showLog(terminal, "warning");
  await withSources(at, config, async (sources) => {
    sources.reportFailures(options.has("strict"));
    sources.keepInStep();
    if (options.has("stdio")) await onStandardStreams(served, config, sources, at);
    else await onPort(served, sources, at);
  });
  return EXIT.OK;
}

/** Checks everything that needs no network and starts no program. */
async function check(config: HubConfig, options: ServeOptions, at: Workplace): Promise<number> {
  const { file, sources } = config;
  const { terminal } = at;
  for (const source of sources) source.config();
  for (const [name, path] of Object.entries(options.tls ?? {})) {
    if (!existsSync(path)) throw configError(`${file}: tls.${name}: there is no file ${path}`);
  }
  await withSources(
    at,
    config,
    async (local) => {
      refuseProblems(local, file);
      const warnings = await listenerWarnings(local.registry, options);
      for (const warning of warnings) terminal.note(`Warning: ${warning}`);
    },
    isLocalDocument,
  );
  const names = sources.map(({ name }) => name);
  if (terminal.isJson) await terminal.printJson({ file, sources: names });
  else await terminal.print(`${file} is right: ${counted(names.length, "source")} (${names.join(", ")})`);
  return EXIT.OK;
}

function isLocalDocument(source: Source): boolean {
  return source.kind === "openapi" && !/^https?:\/\//i.test(source.config().document);
}

function refuseProblems(sources: Sources, file: string): void {
  const broken = sources
    .report()
    .flatMap(({ name, error }) => (error === undefined ? [] : `${file}: openapi.${name}: ${error.message}`));
  const problems = [...broken, ...sources.uselessRules()];
  if (problems.length > 0) throw configError(problems.join("\n"));
}

async function onPort(options: ServeOptions, sources: Sources, at: Workplace): Promise<void> {
  const served = await serve(sources.registry, options).catch((error: unknown) => {
    throw startError(error);
  });
  const retries = new Retries(sources);
  try {
    await printAddresses(served.url, options, sources, at);
    await at.interrupts.wait();
    at.terminal.note("Stopping");
  } finally {
    retries.stop();
    await served.close({ drain: DRAIN });
  }
}

/** A hub that cannot start. No operation has failed, so the message begins with what is wrong. */
function startError(error: unknown): CommandError {
  const { code, message, details } = mapError(error);
  return new CommandError(EXIT.FAILED, code, message.replace(/^serve: /, ""), details);
}

async function printAddresses(
  url: string,
  options: ServeOptions,
  sources: Sources,
  { terminal }: Workplace,
): Promise<void> {
  const doors = Object.fromEntries(
    Object.entries(options.doors as Record<string, unknown>)
      .filter(([, door]) => door !== undefined && door !== false)
      .flatMap(([name, door]) =>
        [door].flat().map((each) => [name, Object(each) as { path?: string }] as const),
      )
      .map(([name, { path = PATHS[name] ?? `/${name}` }], index, all) => {
        const isFirst = all.findIndex(([other]) => other === name) === index;
        return [isFirst ? name : `${name} ${path}`, url + path];
      }),
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
      `Warning: ${counted(open, "operation")} ${open === 1 ? "is" : "are"} open to everyone who reaches ${url}. \`access\` in the configuration protects ${open === 1 ? "it" : "them"}.`,
    );
  }
}

async function onStandardStreams(
  options: ServeOptions,
  config: HubConfig,
  sources: Sources,
  at: Workplace,
): Promise<void> {
  const doors = mcpDoors(options.doors.mcp);
  const views = viewsOf(doors);
  const { name = "operations", version = VERSION, instructions } = doors[0] ?? {};
  const identity = identityFor(at, config);
  const served = await serveStdio(sources.registry, {
    name,
    version,
    ...(instructions !== undefined && { instructions }),
    ...(views !== undefined && { operations: (spec) => (views(spec) & 1) === 1 }),
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

import { readFile } from "node:fs/promises";
import { restored } from "../../call/wire-value.js";
import type { ResponseEnvelope } from "../../envelope.js";
import { CallError, InfrastructureErrorCode } from "../../errors.js";
import { messageOf, pointerToken } from "../../interop/text.js";
import { subscribe } from "../../registry/subscribe.js";
import { native, runtime } from "../../runtime.js";
import type { ValueError } from "../../schema/compiled.js";
import { formatValueErrors } from "../../schema/validation.js";
import type { CallContext } from "../../types.js";
import type { HubConfig } from "../config/hub.js";
import { CommandError, EXIT, usageError } from "../exit-codes.js";
import { configFor, identityFor, sourcesOf, withSources } from "../hub.js";
import { refuseUnknown, sourceOf } from "../operations.js";
import type { Workplace } from "../perform.js";
import { printData, textOfBlocks } from "../result.js";
import type { Sources } from "../sources.js";

export async function callCommand(at: Workplace): Promise<number> {
  const { options, words } = at;
  const [id, given] = words as [string, string | undefined];
  const limit = options.whole("limit", 1);
  const timeout = options.whole("timeout", 1);
  const config = await configFor(at);
  const context = contextFor(at, config);
  const namespace = sourceOf(id, config);
  const input = await inputFrom(given, at);
  return withSources(
    at,
    config,
    async (sources) => {
      if (sources.registry.getSpec(id) === undefined) {
        throw refuseUnknown(id, namespace, sources, identityFor(at, config));
      }
      // From here on: a server that takes long to start is not the operation's fault.
      if (timeout !== undefined) context.deadline = Date.now() + timeout;
      try {
        if (sources.registry.isSubscription(id)) return await follow(id, input, context, sources, at, limit);
        return await callOnce(id, input, context, sources, at);
      } catch (error) {
        throw withHint(error, at, config);
      }
    },
    sourcesOf(namespace),
  );
}

function contextFor(at: Workplace, config: HubConfig): CallContext {
  const { options, interrupts, progress } = at;
  const identity = identityFor(at, config);
  const isTrusted = options.has("trusted");
  const approval = options.text("approval");
  if (isTrusted && identity !== undefined) throw usageError("--trusted and --as exclude each other");
  return {
    signal: interrupts.signal,
    ...(identity !== undefined && { identity }),
    ...(approval !== undefined && { approval }),
    ...(isTrusted && { trusted: true }),
    // A local handler may say the same with three values.
    onProgress: (report: unknown, ofAll?: unknown, said?: unknown) => {
      const {
        progress: done,
        total,
        message,
      } = (
        typeof report === "number" ? { progress: report, total: ofAll, message: said } : Object(report)
      ) as Record<string, unknown>;
      const far = total === undefined ? String(done) : `${done} of ${total}`;
      progress.show(message === undefined ? far : `${far}: ${message}`);
    },
  };
}

async function callOnce(
  id: string,
  input: unknown,
  context: CallContext,
  { registry }: Sources,
  { terminal, progress, interrupts }: Workplace,
): Promise<number> {
  progress.show(`Calling ${id}`);
  const envelope = await interrupts.during(registry.execute(id, input, context));
  progress.clear();
  const { meta } = envelope;
  const failure = meta.source === "mcp" && meta.isError ? textOfBlocks(meta.content) : undefined;
  if (terminal.isJson) await terminal.printJson(envelope);
  else if (failure !== undefined) terminal.complain(`operations: ${id} failed: ${failure}`);
  else await printData(envelope, terminal);
  return failure === undefined ? EXIT.OK : EXIT.FAILED;
}

/** Prints events as they come, one line each. */
async function follow(
  id: string,
  input: unknown,
  context: CallContext,
  { registry }: Sources,
  { terminal, interrupts }: Workplace,
  limit = Number.POSITIVE_INFINITY,
): Promise<number> {
  const events: AsyncGenerator<ResponseEnvelope> = subscribe(registry, id, input, context);
  try {
    for (let count = 0; count < limit && !terminal.isClosed; count++) {
      const { done, value } = await interrupts.during(events.next());
      if (done === true) break;
      await terminal.printJson(terminal.isJson ? value : value.data, { isLine: true });
    }
  } finally {
    await events.return(undefined);
  }
  return EXIT.OK;
}

/** The input: JSON of the command line, of a file or of standard input. */
export async function inputFrom(given: string | undefined, { interrupts }: Workplace): Promise<unknown> {
  if (given === undefined) return {};
  const text = await (given === "-"
    ? interrupts.during(standardInput())
    : given.startsWith("@")
      ? fileText(given.slice(1))
      : given);
  let input: unknown;
  try {
    input = JSON.parse(text);
  } catch (error) {
    throw invalidInput(`The input is not JSON: ${messageOf(error)}${text === given ? meantBy(given) : ""}`);
  }
  refuseWhatWouldChange(text, input);
  return restored(input);
}

/** Refuses numbers that JavaScript cannot hold, and binary data that is not base64, as the doors of a server do. */
function refuseWhatWouldChange(text: string, input: unknown): void {
  let errors: ValueError[] = [];
  try {
    // It reads objects only, and an input may be anything.
    new native.ToolProjection(runtime, "{}", "json-schema").readArguments(`{"input":${text}}`);
  } catch (error) {
    errors = Object((error as CallError).details).errors ?? [];
  }
  // It has no path for these.
  const infinite = pathOfInfinite(input);
  const found =
    infinite === undefined
      ? errors.map(({ path, message }) => ({ path: path.replace("/input", ""), message }))
      : [{ path: infinite, message: "Expected a number that JavaScript can hold" }];
  if (found.length > 0) {
    throw invalidInput(`The input is refused:\n${formatValueErrors(found)}`, { errors: found });
  }
}

function pathOfInfinite(value: unknown): string | undefined {
  if (value === Infinity || value === -Infinity) return "";
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const path = pathOfInfinite(inner);
    if (path !== undefined) return `/${pointerToken(key)}${path}`;
  }
  return undefined;
}

function invalidInput(message: string, details?: unknown): CommandError {
  return new CommandError(EXIT.INVALID, InfrastructureErrorCode.VALIDATION_ERROR, message, details);
}

/** What to write instead of an input that is not JSON: for `folder=x`, the same as JSON. */
function meantBy(given: string): string {
  const [, name, value = ""] = /^([A-Za-z_][\w-]*)[=:](.{1,100})$/s.exec(given) ?? [];
  const isPlain = /^(-?(0|[1-9]\d*)(\.\d+)?|true|false|null)$/.test(value);
  const meant = JSON.stringify(
    name === undefined ? { name: "value" } : { [name]: isPlain ? JSON.parse(value) : value },
  );
  // A quote would end the shell's text.
  if (name === undefined || meant.includes("'"))
    return `. Write it as an object in quotes, such as '{"name":"value"}'`;
  return `. Write it as an object in quotes: '${meant}'`;
}

export async function fileText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw usageError(`Cannot read the input: ${messageOf(error)}`);
  }
}

export async function standardInput(): Promise<string> {
  let text = "";
  for await (const chunk of process.stdin.setEncoding("utf8")) text += chunk;
  return text;
}

/** Adds to a refusal how to call with an identity. */
function withHint(error: unknown, { options }: Workplace, { identities }: HubConfig): unknown {
  const isDenied = error instanceof CallError && error.code === InfrastructureErrorCode.ACCESS_DENIED;
  if (!isDenied || options.has("as")) return error;
  const ids = identities.map(({ id }) => id).join(", ");
  const hint = `Calls have no identity by default. ${ids === "" ? "" : `--as <id> makes them as one of ${ids}. `}--trusted skips the rules`;
  return new CallError(error.code, `${error.message}. ${hint}`, error.details);
}

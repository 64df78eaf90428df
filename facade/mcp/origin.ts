// Tools of a server that serves a registry like ours (`facade/serve/describe-mcp.ts`): what they were there comes back.

import { restored } from "../call/wire-value.js";
import type { ResponseEnvelope } from "../envelope.js";
import { CallError } from "../errors.js";
import { isRecord } from "../interop/options.js";
import { markAsSent } from "../registry/response-marks.js";
import { compiled } from "../schema/compiled.js";
import { AccessControlSchema } from "../spec-schemas.js";
import { type AccessControl, type ErrorDefinition, OperationType } from "../types.js";

const OPERATION_KEY = "alkdev.operations/operation";
const META_KEY = "alkdev.operations/meta";
export const ERROR_KEY = "alkdev.operations/error";
/** The one argument that is the input itself, where that is no object. */
const INPUT_KEY = "alkdev.operations/input";

/** Whether a tool is an operation of a server like ours, whatever it says about it. */
export function isServedTool({ _meta }: { _meta?: unknown }): boolean {
  return isRecord(_meta) && isRecord(_meta[OPERATION_KEY]);
}

/** The operation behind a tool. */
interface Origin {
  readonly namespace: string;
  readonly name: string;
  readonly version: string;
  readonly type: OperationType.QUERY | OperationType.MUTATION;
  readonly access: AccessControl;
  readonly errors: ErrorDefinition[];
  /** Where arguments are not the input: what the input is. */
  readonly inputSchema: unknown;
  /** What the operation says about its output, where the tool says nothing. */
  readonly outputSchema: unknown;
}

/** What a server says about the operation behind a tool; nothing, if that is not all there. */
export function originOf(meta: unknown): Origin | undefined {
  const said = isRecord(meta) ? meta[OPERATION_KEY] : undefined;
  if (!isRecord(said)) return undefined;
  const { namespace, name, version, type, access, errors, inputSchema, outputSchema } = said;
  const isNamed = isWord(namespace) && isWord(name) && isWord(version);
  if (!isNamed || (type !== OperationType.QUERY && type !== OperationType.MUTATION)) return undefined;
  if (!compiled(AccessControlSchema).check(access)) return undefined;
  return {
    namespace,
    name,
    version,
    type,
    access: access as AccessControl,
    errors: Array.isArray(errors) ? errors.filter(isDeclared) : [],
    inputSchema,
    outputSchema,
  };
}

function isWord(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isDeclared(value: unknown): value is ErrorDefinition {
  return isRecord(value) && isWord(codeOf(value));
}

function codeOf({ code }: Record<string, unknown>): unknown {
  return code;
}

/** The arguments for an input. */
export function argumentsFor(origin: Origin, input: unknown): unknown {
  if (origin.inputSchema === undefined || input === undefined) return input;
  return { [INPUT_KEY]: input };
}

/** The envelope of a result as the operation itself would have given it, but for its source. Its errors are thrown. */
export function restoreEnvelope(
  envelope: ResponseEnvelope<unknown>,
  result: unknown,
  outputSchema: object,
): ResponseEnvelope<unknown> {
  const { meta } = envelope;
  if (meta.source !== "mcp") return envelope;
  const about = meta._meta ?? {};
  const failure = about[ERROR_KEY];
  if (meta.isError) {
    const { code, message, details } = isRecord(failure) ? failure : {};
    if (isWord(code)) throw new CallError(code, String(message), details);
    return envelope;
  }
  const { structuredContent } = isRecord(result) ? result : {};
  const isEmpty = structuredContent === undefined && meta.content.length === 0;
  // To other servers' tools, null is as good as nothing.
  const data = isEmpty ? undefined : structuredContent === null ? null : restored(envelope.data);
  const before = about[META_KEY];
  const spill = isRecord(before) ? before.spill : undefined;
  if (isRecord(spill)) return beginning(envelope, spill);
  const { notes } = isRecord(before) ? before : {};
  if (!Array.isArray(notes)) return { ...envelope, data };
  // What can still be seen here, the registry here will note again.
  const again = new Set(compiled(outputSchema).shape(data, "normalise").notes.map(textOf));
  const kept = notes.filter((note) => !again.has(textOf(note)));
  return { ...envelope, data, meta: kept.length === 0 ? meta : { ...meta, notes: kept } };
}

/** A result so large that its server sent its beginning, and keeps all of it for the caller. */
function beginning(
  envelope: ResponseEnvelope<unknown>,
  { uri, bytes }: Record<string, unknown>,
): ResponseEnvelope<unknown> {
  const [block] = envelope.meta.source === "mcp" ? envelope.meta.content : [];
  const data = block?.type === "text" ? block.text : undefined;
  const message = `This is the beginning. The whole result, ${bytes} bytes, is the resource ${uri} of the server`;
  const meta = { ...envelope.meta, notes: [{ path: "", message }] };
  markAsSent(meta);
  return { data, meta };
}

function textOf({ path, message }: { path: string; message: string }): string {
  return JSON.stringify([path, message]);
}

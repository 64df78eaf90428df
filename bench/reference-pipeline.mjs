// The pipeline of `execute` in plain JavaScript, three times: as a TypeScript package would have it, on
// TypeBox's interpreted `Value.Check` and `Value.Cast`; on TypeBox's `TypeCompiler`; and without any checks
// of values, which is what a call costs anyway. Written out three times, on purpose: functions that are
// passed in would keep the engine from inlining, and so slow all of them down.

import { Kind } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import { Value } from "@sinclair/typebox/value";

class PipelineError extends Error {
  constructor(code, message, details) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** Only so that a mismatch costs what it costs: the benchmarks' outputs all fit. */
export const warnings = [];

class Pipeline {
  operations = new Map();

  register(operation) {
    this.operations.set(`${operation.namespace}.${operation.name}`, operation);
  }
}

/** What a package in TypeScript does. */
export class ReferencePipeline extends Pipeline {
  async execute(id, input, context = {}) {
    const operation = this.operations.get(id);
    if (operation === undefined) throw notFound(id);
    if (operation.handler === undefined) throw noHandler(id);
    if (operation.type === "subscription") throw notCallable(id);
    if (context.trusted !== true) enforce(operation.accessControl, context.identity, id);
    if (!Value.Check(operation.inputSchema, input)) {
      throw invalid(id, [...Value.Errors(operation.inputSchema, input)]);
    }
    const result = await operation.handler(input, context);
    const envelope = isEnvelope(result) ? result : wrap(result, id);
    const schema = operation.outputSchema;
    if (schema[Kind] !== "Unknown" && schema[Kind] !== "Any") {
      envelope.data = Value.Cast(schema, envelope.data);
      if (!Value.Check(schema, envelope.data)) warnings.push([...Value.Errors(schema, envelope.data)]);
    }
    return envelope;
  }
}

/** The same with compiled checks. `Value.Cast` returns what checks as it is, so a compiled check that passes
 * stands for the Cast and for the check after it. */
export class CompiledPipeline extends Pipeline {
  async execute(id, input, context = {}) {
    const operation = this.operations.get(id);
    if (operation === undefined) throw notFound(id);
    if (operation.handler === undefined) throw noHandler(id);
    if (operation.type === "subscription") throw notCallable(id);
    if (context.trusted !== true) enforce(operation.accessControl, context.identity, id);
    if (!operation.checkInput.Check(input)) throw invalid(id, [...operation.checkInput.Errors(input)]);
    const result = await operation.handler(input, context);
    const envelope = isEnvelope(result) ? result : wrap(result, id);
    const { checkOutput } = operation;
    if (checkOutput !== undefined && !checkOutput.Check(envelope.data)) {
      envelope.data = Value.Cast(operation.outputSchema, envelope.data);
      if (!checkOutput.Check(envelope.data)) warnings.push([...checkOutput.Errors(envelope.data)]);
    }
    return envelope;
  }

  register(operation) {
    super.register(new CompiledOperation(operation));
  }
}

/** Compiled when first called, so that registering is as cheap as elsewhere. */
class CompiledOperation {
  #checkInput;
  #checkOutput;

  constructor({ namespace, name, type, accessControl, inputSchema, outputSchema, handler }) {
    this.namespace = namespace;
    this.name = name;
    this.type = type;
    this.accessControl = accessControl;
    this.inputSchema = inputSchema;
    this.outputSchema = outputSchema;
    this.handler = handler;
  }

  get checkInput() {
    this.#checkInput ??= TypeCompiler.Compile(this.inputSchema);
    return this.#checkInput;
  }

  get checkOutput() {
    const kind = this.outputSchema[Kind];
    if (kind === "Unknown" || kind === "Any") return undefined;
    this.#checkOutput ??= TypeCompiler.Compile(this.outputSchema);
    return this.#checkOutput;
  }
}

/** Look-up, access, handler, envelope: nothing looks at the values. */
export class FloorPipeline extends Pipeline {
  async execute(id, input, context = {}) {
    const operation = this.operations.get(id);
    if (operation === undefined) throw notFound(id);
    if (operation.handler === undefined) throw noHandler(id);
    if (operation.type === "subscription") throw notCallable(id);
    if (context.trusted !== true) enforce(operation.accessControl, context.identity, id);
    const result = await operation.handler(input, context);
    return isEnvelope(result) ? result : wrap(result, id);
  }
}

/** Not even access: a look-up, a call, an object around the result. */
export class BareFloorPipeline extends Pipeline {
  async execute(id, input, context = {}) {
    const operation = this.operations.get(id);
    if (operation === undefined) throw notFound(id);
    if (operation.handler === undefined) throw noHandler(id);
    if (operation.type === "subscription") throw notCallable(id);
    const result = await operation.handler(input, context);
    return isEnvelope(result) ? result : wrap(result, id);
  }
}

function enforce(rules, identity, id) {
  const { requiredScopes, requiredScopesAny, resourceType, resourceAction } = rules;
  const any = requiredScopesAny !== undefined && requiredScopesAny.length > 0;
  if (requiredScopes.length === 0 && !any && resourceType === undefined) return;
  if (identity === undefined) throw denied(id, "identity required");
  for (const scope of requiredScopes) {
    if (!identity.scopes.includes(scope)) throw denied(id, `missing scope ${scope}`);
  }
  if (any && !requiredScopesAny.some((scope) => identity.scopes.includes(scope))) {
    throw denied(id, "none of the required scopes");
  }
  if (resourceType !== undefined) {
    const held = Object.entries(identity.resources ?? {});
    const granted = held.some(
      ([key, actions]) => key.startsWith(`${resourceType}:`) && actions.includes(resourceAction),
    );
    if (!granted) throw denied(id, `missing ${resourceAction} on ${resourceType}`);
  }
}

function isEnvelope(value) {
  if (typeof value !== "object" || value === null || !("data" in value) || !("meta" in value)) return false;
  const { meta } = value;
  if (typeof meta !== "object" || meta === null) return false;
  switch (meta.source) {
    case "local":
      return typeof meta.operationId === "string" && typeof meta.timestamp === "number";
    case "http":
      return typeof meta.statusCode === "number" && typeof meta.headers === "object" && meta.headers !== null;
    case "mcp":
      return typeof meta.isError === "boolean" && Array.isArray(meta.content);
    default:
      return false;
  }
}

function wrap(data, operationId) {
  return { data, meta: { source: "local", operationId, timestamp: Date.now() } };
}

const notFound = (id) => new PipelineError("OPERATION_NOT_FOUND", `Operation not found: ${id}`);
const noHandler = (id) =>
  new PipelineError("OPERATION_NOT_FOUND", `No handler registered for operation: ${id}`);
const notCallable = (id) => new PipelineError("EXECUTION_ERROR", `${id} is a subscription`);
const denied = (id, why) => new PipelineError("ACCESS_DENIED", `Access denied to ${id}: ${why}`);
const invalid = (id, errors) =>
  new PipelineError("VALIDATION_ERROR", `Validation failed for input of ${id}`, { errors });

import { jsonOf, messageOf } from "../border/text.js";
import { CallError, InfrastructureErrorCode } from "../errors.js";
import { logger } from "../logging.js";
import { endingItself } from "../registry/deadline.js";
import { markNative } from "../registry/native-handler.js";
import { compiled } from "../schema/compiled.js";
import { FromSchema } from "../schema/from-schema.js";
import type { TypeBoxSchema } from "../schema-types.js";
import { Type } from "../type-builder.js";
import { type OperationContext, type OperationHandler, type OperationSpec, OperationType } from "../types.js";
import type { CallOptions, Client } from "./client.js";
import type { MCPProgress } from "./client-types.js";
import { envelopeOfResult } from "./result.js";

const log = logger("mcp");

/** A tool as an operation. */
export type MCPOperation = OperationSpec & { handler: OperationHandler };

/** A tool, or a part of one, that could not be imported as it is. */
export interface MCPToolProblem {
  /** The name of the tool, or its place in the list. */
  tool: string;
  field: "name" | "inputSchema" | "outputSchema";
  reason: string;
}

/** A server's list of tools, and what had to be left out of it. */
export interface ListedTools {
  tools: unknown[];
  problems: MCPToolProblem[];
}

/** A tool as the server lists it. */
interface Tool {
  name: string;
  title?: unknown;
  description?: unknown;
  inputSchema?: unknown;
  outputSchema?: unknown;
  annotations?: { title?: unknown; [hint: string]: unknown };
  _meta?: unknown;
}

interface Imported {
  operation: MCPOperation;
  problems: MCPToolProblem[];
}

/** The tools of one server, as operations. Those that do not change stay the same objects. */
export class ToolList {
  #imported = new Map<string, Imported & { text: string | undefined }>();
  #listProblems: MCPToolProblem[] = [];

  constructor(
    private readonly client: Client,
    private readonly version: string,
  ) {}

  get operations(): MCPOperation[] {
    return Array.from(this.#imported.values(), ({ operation }) => operation);
  }

  get problems(): MCPToolProblem[] {
    return [...this.#listProblems, ...Array.from(this.#imported.values(), ({ problems }) => problems).flat()];
  }

  /** Takes over a list of tools. Tells what is different now. */
  update({ tools, problems }: ListedTools): ToolChanges {
    const before = this.#imported;
    const changes: ToolChanges = { added: [], removed: [], changed: [] };
    this.#imported = new Map();
    this.#listProblems = [...problems];
    tools.forEach((tool, index) => {
      if (!isTool(tool) || this.#imported.has(tool.name)) {
        this.#skip(tool, index);
        return;
      }
      const text = textOfTool(tool);
      const known = before.get(tool.name);
      if (known !== undefined && text !== undefined && known.text === text) {
        this.#imported.set(tool.name, known);
        return;
      }
      const imported = importTool(this.client, this.version, tool);
      this.#imported.set(tool.name, { ...imported, text });
      (known === undefined ? changes.added : changes.changed).push(imported.operation);
    });
    for (const [name, { operation }] of before) {
      if (!this.#imported.has(name)) changes.removed.push(operation);
    }
    return changes;
  }

  #skip(tool: unknown, index: number): void {
    const reason = isTool(tool) ? "there is another tool of this name" : "it has no name";
    const problem: MCPToolProblem = { tool: isTool(tool) ? tool.name : `#${index}`, field: "name", reason };
    this.#listProblems.push(problem);
    report(this.client.name, problem, "It is left out.");
  }
}

/** For comparison with the next list. Nothing for a tool that is too deep to be written: it counts as
 * changed each time. */
function textOfTool(tool: Tool): string | undefined {
  try {
    return JSON.stringify(tool);
  } catch {
    return undefined;
  }
}

/** What is different in a list of tools. */
export interface ToolChanges {
  added: MCPOperation[];
  removed: MCPOperation[];
  /** With another description or schema than before. */
  changed: MCPOperation[];
}

function isTool(tool: unknown): tool is Tool {
  const name = typeof tool === "object" && tool !== null && (tool as Tool).name;
  return typeof name === "string" && name !== "";
}

function importTool(client: Client, version: string, tool: Tool): Imported {
  const { name: server, config } = client;
  const problems: MCPToolProblem[] = [];
  const schema = (field: "inputSchema" | "outputSchema", source: unknown): TypeBoxSchema => {
    try {
      const converted = FromSchema(source);
      // Compiled now, so that a schema that cannot be used is told now, and not with every call.
      compiled(converted);
      return converted as TypeBoxSchema;
    } catch (error) {
      problems.push({ tool: tool.name, field, reason: messageOf(error) });
      return Type.Unknown() as TypeBoxSchema;
    }
  };
  const inputSchema = schema("inputSchema", tool.inputSchema);
  const outputSchema =
    tool.outputSchema == null ? (Type.Unknown() as TypeBoxSchema) : schema("outputSchema", tool.outputSchema);
  for (const problem of problems) report(server, problem, "Unknown stands in its place.");
  const title = wordsIn(tool.title) ?? wordsIn(tool.annotations?.title);
  const operation: MCPOperation = {
    name: tool.name,
    namespace: server,
    version,
    type: OperationType.MUTATION,
    ...(title !== undefined && { title }),
    description: wordsIn(tool.description) ?? title ?? tool.name,
    inputSchema,
    outputSchema,
    accessControl: { requiredScopes: [] },
    _meta: {
      server,
      ...(title !== undefined && { title }),
      ...(tool.annotations != null && { annotations: tool.annotations }),
      ...(tool._meta != null && { _meta: tool._meta }),
      ...(config.output !== undefined && { output: config.output }),
    },
    handler: endingItself(async (input: unknown, context?: OperationContext) => {
      const options = optionsOf(server, tool.name, context);
      const result = await client.call(tool.name, argumentsOf(server, tool.name, input), options);
      return envelopeOfResult(server, tool.name, result, config);
    }),
  };
  markNative(operation.handler, client.nativeWork(tool.name));
  return { operation, problems };
}

function report(server: string, { tool, field, reason }: MCPToolProblem, consequence: string): void {
  log.warn(
    `The ${field} of tool '${tool}' of MCP server '${server}' cannot be used: ${reason}. ${consequence}`,
    {
      server,
      tool,
    },
  );
}

/** A text that says something. */
function wordsIn(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The input as JSON. */
export function argumentsOf(server: string, tool: string, input: unknown): string | undefined {
  const refuse = (reason: string) =>
    new CallError(
      InfrastructureErrorCode.VALIDATION_ERROR,
      `MCP server '${server}', tool '${tool}': the input cannot be written as JSON: ${reason}`,
      { server, tool },
    );
  return jsonOf(input, refuse);
}

/** What of an operation's context concerns the request. */
export function optionsOf(server: string, tool: string, context: OperationContext = {}): CallOptions {
  const { signal, deadline, metadata, onProgress } = context;
  const { timeout, resetTimeoutOnProgress } = metadata ?? {};
  if (timeout !== undefined && !(typeof timeout === "number" && timeout > 0)) {
    throw new CallError(
      InfrastructureErrorCode.VALIDATION_ERROR,
      `MCP server '${server}', tool '${tool}': 'timeout' in the metadata of the call must be a number of ` +
        "milliseconds above 0",
      { server, tool, mayHaveExecuted: false },
    );
  }
  const left = deadline === undefined ? undefined : deadline - Date.now();
  if (left !== undefined && left <= 0) {
    throw new CallError(
      InfrastructureErrorCode.TIMEOUT,
      `MCP server '${server}', tool '${tool}': the deadline has passed; the call was not sent`,
      { server, tool, deadline, mayHaveExecuted: false },
    );
  }
  return {
    signal,
    timeout,
    left,
    resetTimeoutOnProgress: typeof resetTimeoutOnProgress === "boolean" ? resetTimeoutOnProgress : undefined,
    onProgress:
      typeof onProgress === "function" ? (onProgress as (progress: MCPProgress) => void) : undefined,
  };
}

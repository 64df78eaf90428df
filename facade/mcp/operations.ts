import type { ResponseEnvelope, SpilledResult } from "../envelope.js";
import { CallError, InfrastructureErrorCode, invalid } from "../errors.js";
import { importedApproval, importedRules, UserRules } from "../imported-access.js";
import type { Yielder } from "../interop/event-loop.js";
import { jsonOf, messageOf } from "../interop/text.js";
import { logger } from "../logging.js";
import { addTraits } from "../registry/handler-traits.js";
import { approvalIn, steering } from "../registry/metadata.js";
import { markAsSent } from "../registry/response-marks.js";
import type { Spills } from "../registry/spills.js";
import { ForeignSchemas } from "../schema/foreign-schemas.js";
import type { TypeBoxSchema } from "../schema-types.js";
import { Type } from "../type-builder.js";
import { type OperationContext, type OperationHandler, type OperationSpec, OperationType } from "../types.js";
import type { CallOptions, Client, SpilledAnswer } from "./client.js";
import type { MCPProgress } from "./client-types.js";
import { argumentsFor, isServedTool, originOf, restoreEnvelope } from "./origin.js";
import { envelopeOfResult } from "./result.js";
import {
  accessOf,
  isIncluded,
  type MCPListedTool,
  type MCPToolView,
  uselessNames,
  viewOf,
} from "./tool-view.js";

const log = logger("mcp");

/**
 * A tool as an operation.
 *
 * @example
 * ```ts
 * const readOnly = (tool: MCPOperation) => tool.name.startsWith("get_");
 * registry.registerAll(wrapper.tools.filter(readOnly));
 * ```
 */
export type MCPOperation = OperationSpec & { handler: OperationHandler };

/**
 * A tool, or a part of one, that could not be imported as it is.
 *
 * @example
 * ```ts
 * const problems: MCPToolProblem[] = wrapper.problems;
 * for (const { tool, reason } of problems) console.warn(`${tool}: ${reason}`);
 * ```
 */
export interface MCPToolProblem {
  /** The name of the tool, or its place in the list. */
  tool: string;
  field: "name" | "inputSchema" | "outputSchema" | "accessControl" | "approval" | "tools";
  reason: string;
}

/** A server's list of tools, each as JSON, and what had to be left out of it. */
export interface ListedTools {
  tools: string[];
  problems: MCPToolProblem[];
}

interface Imported {
  /** What the server calls it. */
  tool: string;
  operation: MCPOperation;
  problems: MCPToolProblem[];
  /** What the server said about it. */
  text: string;
}

/** The tools of one server, as operations. Those that do not change stay the same objects. @internal */
export class ToolList {
  #imported = new Map<string, Imported>();
  #listProblems: MCPToolProblem[] = [];
  readonly #rules = new UserRules();
  readonly #schemas = new ForeignSchemas();

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

  /** Takes over a list of tools, in several turns of the event loop. Says what is different now. */
  async update({ tools, problems }: ListedTools, yielder: Yielder): Promise<ToolChanges> {
    this.#schemas.begin();
    const before = this.#imported;
    const unchanged = new Map(Array.from(before.values(), (known) => [known.text, known]));
    const imported = new Map<string, Imported>();
    const listProblems = [...problems];
    const changes: ToolChanges = { added: [], removed: [], changed: [] };
    const { accessControl, approval } = this.client.config;
    const view = (this.client.config.tools ?? {}) as MCPToolView;
    const ids = new Map<string, string>();
    const names: string[] = [];
    const leaveOut = (problem: MCPToolProblem) => {
      listProblems.push(problem);
      report(this.client.name, problem, "It is left out.");
    };
    for (const [index, text] of tools.entries()) {
      if (yielder.isDue) await yielder.yieldNow();
      const known = unchanged.get(text);
      if (known !== undefined && !imported.has(known.tool) && !ids.has(idOf(known.operation))) {
        imported.set(known.tool, known);
        ids.set(idOf(known.operation), known.tool);
        names.push(known.tool);
        continue;
      }
      const tool = read(text);
      if (!isTool(tool)) {
        leaveOut({ tool: `#${index}`, field: "name", reason: "it has no name" });
        continue;
      }
      const { name } = tool;
      if (imported.has(name)) {
        leaveOut({ tool: name, field: "name", reason: "there is another tool of this name" });
        continue;
      }
      names.push(name);
      let made: Omit<Imported, "text" | "tool">;
      try {
        if (!isIncluded(view, tool)) continue;
        made = importTool(this.client, this.version, tool, this.#schemas);
      } catch (error) {
        leaveOut({ tool: name, field: "tools", reason: messageOf(error) });
        continue;
      }
      const { operation, problems } = made;
      const other = ids.get(idOf(operation));
      if (other !== undefined) {
        leaveOut({
          tool: name,
          field: "name",
          reason: `it would be ${idOf(operation)}, which is tool '${other}'`,
        });
        continue;
      }
      ids.set(idOf(operation), name);
      try {
        const rules = importedRules(accessOf(view, tool) ?? accessControl, operation);
        this.#rules.remember(name, before.get(name)?.operation.accessControl);
        operation.accessControl = this.#rules.for(name, rules);
      } catch (error) {
        leaveOut({ tool: name, field: "accessControl", reason: messageOf(error) });
        continue;
      }
      try {
        Object.assign(operation, importedApproval(approval, operation));
      } catch (error) {
        leaveOut({ tool: name, field: "approval", reason: messageOf(error) });
        continue;
      }
      imported.set(name, { tool: name, operation, problems, text });
      (before.has(name) ? changes.changed : changes.added).push(operation);
    }
    for (const [name, { operation }] of before) {
      if (imported.has(name)) continue;
      this.#rules.remember(name, operation.accessControl);
      changes.removed.push(operation);
    }
    for (const pattern of uselessNames(view, names)) {
      const isNew = !this.#listProblems.some(({ tool, field }) => tool === pattern && field === "tools");
      listProblems.push({ tool: pattern, field: "tools", reason: "there is no such tool" });
      if (isNew)
        log.warn(`MCP server '${this.client.name}': '${pattern}' in tools fits no tool, and has no effect`);
    }
    this.#imported = imported;
    this.#listProblems = listProblems;
    return changes;
  }
}

/**
 * The differences between two lists of tools.
 *
 * @example
 * ```ts
 * const report = ({ added, removed }: MCPToolChanges) => console.log(`+${added.length} -${removed.length}`);
 * ```
 */
export interface ToolChanges {
  added: MCPOperation[];
  removed: MCPOperation[];
  /** Tools with a new description or schema. */
  changed: MCPOperation[];
}

/** What a server says about a tool. Nothing, if it is too much for JavaScript. */
function read(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function idOf({ namespace, name }: OperationSpec): string {
  return `${namespace}.${name}`;
}

function isTool(tool: unknown): tool is MCPListedTool {
  const name = typeof tool === "object" && tool !== null && (tool as MCPListedTool).name;
  return typeof name === "string" && name !== "";
}

function importTool(
  client: Client,
  version: string,
  tool: MCPListedTool,
  schemas: ForeignSchemas,
): Omit<Imported, "text" | "tool"> {
  const { name: server, config } = client;
  // Ids and types affect how an operation is treated: only servers that the user trusts may choose them.
  const origin = config.keepIds === true ? originOf(tool._meta) : undefined;
  const problems: MCPToolProblem[] = [];
  const schema = (field: "inputSchema" | "outputSchema", source: unknown): TypeBoxSchema => {
    try {
      return schemas.take(source);
    } catch (error) {
      problems.push({ tool: tool.name, field, reason: messageOf(error) });
      return Type.Unknown() as TypeBoxSchema;
    }
  };
  const inputSchema = schema("inputSchema", origin?.inputSchema ?? tool.inputSchema);
  const declared = origin?.outputSchema ?? tool.outputSchema;
  const outputSchema =
    declared == null ? (Type.Unknown() as TypeBoxSchema) : schema("outputSchema", declared);
  for (const problem of problems) report(server, problem, "Unknown is used instead.");
  const isServed = isServedTool(tool);
  const call = async (
    input: unknown,
    context: OperationContext | undefined,
    spills: Spills | undefined,
  ): Promise<ResponseEnvelope> => {
    const given = origin === undefined ? input : argumentsFor(origin, input);
    const args = argumentsOf(server, tool.name, given);
    const options = () => ({
      ...optionsOf(server, tool.name, context),
      ...(isServed && approvalFor(context)),
    });
    const { result, spill }: SpilledAnswer =
      spills === undefined
        ? { result: await client.callFor<unknown>(context ?? {}, tool.name, args, options) }
        : await client.callFor(context ?? {}, tool.name, args, options, spills);
    const sent = envelopeOfResult(server, tool.name, result, config);
    if (spill !== undefined) return inFile(sent, spill);
    return origin === undefined ? sent : restoreEnvelope(sent, result, outputSchema);
  };
  const title = wordsIn(tool.title) ?? wordsIn(tool.annotations?.title);
  const view = viewOf((config.tools ?? {}) as MCPToolView, tool);
  const name = wordsIn(view.name) ?? origin?.name ?? tool.name;
  const { instructions } = client.client;
  const operation: MCPOperation = {
    name,
    namespace: origin?.namespace ?? server,
    version: origin?.version ?? version,
    type: origin?.type ?? (view.isQuery ? OperationType.QUERY : OperationType.MUTATION),
    ...(origin !== undefined && origin.errors.length > 0 && { errorSchemas: origin.errors }),
    ...(title !== undefined && { title }),
    description:
      wordsIn(view.description) ??
      (origin === undefined
        ? (wordsIn(tool.description) ?? title ?? tool.name)
        : String(tool.description ?? "")),
    inputSchema,
    outputSchema,
    accessControl: origin?.access ?? { requiredScopes: [] },
    _meta: {
      server,
      ...(name !== tool.name && { tool: tool.name }),
      ...(instructions !== undefined && { instructions }),
      ...(title !== undefined && { title }),
      ...(tool.annotations != null && { annotations: tool.annotations }),
      ...(tool._meta != null && { _meta: tool._meta }),
      ...(config.output !== undefined && { output: config.output }),
    },
    handler: (input: unknown, context?: OperationContext) => call(input, context, client.spills),
  };
  addTraits(operation.handler, {
    isImported: true,
    source: { source: "mcp", server, tool: tool.name, url: config.url },
    connection: client.connection,
    limiter: client.limiter,
    endsItself: true,
    spilling: { own: client.spills, call },
    ...(origin === undefined
      ? { nativeWork: client.nativeWork(tool.name) }
      : { idChosenBy: { source: client, name: `MCP server '${server}'` } }),
  });
  return { operation, problems };
}

/** The envelope of a result whose beginning came, and whose whole is in a file. */
function inFile(envelope: ResponseEnvelope, spill: SpilledResult): ResponseEnvelope {
  const [block] = envelope.meta.source === "mcp" ? envelope.meta.content : [];
  const meta = { ...envelope.meta, spill };
  // The beginning of a result is not the declared shape.
  markAsSent(meta);
  return { data: block?.type === "text" ? block.text : "", meta };
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
    invalid(`MCP server '${server}', tool '${tool}': the input cannot be written as JSON: ${reason}`, {
      server,
      tool,
      reason: "invalid-input",
      delivery: "none",
    });
  return jsonOf(input, refuse);
}

/** An approval that was not used here may be one of the server's. */
function approvalFor(context: OperationContext = {}): Pick<CallOptions, "approval"> {
  const approval = approvalIn(context);
  return typeof approval === "string" ? { approval } : {};
}

/** What of an operation's context concerns the request. */
function optionsOf(server: string, tool: string, context: OperationContext = {}): CallOptions {
  const { signal, deadline, onProgress } = context;
  const timeout = steering(context, "timeout");
  const resetTimeoutOnProgress = steering(context, "resetTimeoutOnProgress");
  if (timeout !== undefined && !(typeof timeout === "number" && timeout > 0)) {
    throw invalid(
      `MCP server '${server}', tool '${tool}': 'timeout' in the metadata of the call must be a number of ` +
        "milliseconds above 0",
      { server, tool, reason: "invalid-input", delivery: "none" },
    );
  }
  const left = deadline === undefined ? undefined : deadline - Date.now();
  if (left !== undefined && left <= 0) {
    throw new CallError(
      InfrastructureErrorCode.TIMEOUT,
      `MCP server '${server}', tool '${tool}': the deadline has passed; the call was not sent`,
      { server, tool, deadline, reason: "timeout", delivery: "none" },
    );
  }
  return {
    signal,
    timeout,
    left,
    resetTimeoutOnProgress: typeof resetTimeoutOnProgress === "boolean" ? resetTimeoutOnProgress : undefined,
    onProgress:
      typeof onProgress === "function"
        ? (onProgress as unknown as (progress: MCPProgress) => void)
        : undefined,
  };
}

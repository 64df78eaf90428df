// How an operation appears to MCP clients: what `_meta.mcp` says, and what is wrong with it.

import { nearestName } from "../interop/nearest-name.js";
import { isRecord, optionOf } from "../interop/options.js";
import { logger } from "../logging.js";
import { MCP_META as KNOWN } from "../registry/spec-check.js";
import { native } from "../runtime.js";
import { type OperationSpec, OperationType } from "../types.js";

const log = logger("serve");

/** Specs whose problems have been logged. */
const warned = new WeakSet<OperationSpec>();

/** How an operation appears. What is declared to be a prompt or a resource is a tool only if it says so. Problems are logged
 * once for each spec and what is wrong is left out: an operation with an invalid declaration is a tool. */
export function mcpDescriptor(spec: OperationSpec): { readonly tool: boolean } {
  const problems: string[] = [];
  const given = optionOf(Object(spec._meta), "mcp");
  if (given !== undefined && !isRecord(given)) problems.push("must be an object");
  const mcp: Record<string, unknown> = isRecord(given) ? given : {};
  for (const name of Object.keys(mcp)) {
    if (KNOWN.includes(name)) continue;
    const nearest = nearestName(name, KNOWN, 1);
    const hint = nearest === undefined ? `There are ${KNOWN.join(", ")}` : `Did you mean ${nearest}?`;
    problems.push(`has "${name}", which means nothing. ${hint}`);
  }
  const prompt = optionOf(mcp, "prompt");
  const tool = optionOf(mcp, "tool");
  const isPrompt = prompt !== undefined && prompt !== false;
  const resource = resourceOf(optionOf(mcp, "resource"), spec, problems);
  const descriptor = {
    tool: tool === undefined ? !isPrompt && resource === undefined : tool !== false,
    name: isRecord(tool) && typeof tool.name === "string" ? tool.name : undefined,
    task: taskOf(optionOf(mcp, "task"), problems),
    prompt: isPrompt,
    resource,
    requires: textsIn(optionOf(mcp, "requires"), "requires", problems),
    complete: completionsIn(optionOf(mcp, "complete"), problems),
  };
  warn(spec, problems);
  return descriptor;
}

function warn(spec: OperationSpec, problems: readonly string[]): void {
  if (problems.length === 0 || warned.has(spec)) return;
  warned.add(spec);
  for (const problem of problems) {
    log.warn(`The operation ${spec.namespace}.${spec.name}: _meta.mcp ${problem}`, {});
  }
}

function resourceOf(
  given: unknown,
  spec: OperationSpec,
  problems: string[],
): { uri: string; mimeType: string | undefined } | undefined {
  if (given === undefined || given === false) return undefined;
  const { uri, mimeType } = isRecord(given) ? given : {};
  const problem =
    typeof uri !== "string"
      ? 'has a resource without a uri. Write { uri: "notes://pages/{number}" }'
      : spec.type !== OperationType.QUERY
        ? `has a resource, but the operation is a ${spec.type}. Only a query can be read as a resource`
        : native.isResourceUri(uri)
          ? undefined
          : `has a resource with the uri ${JSON.stringify(uri)}, which cannot be read. Variables are written {name} or {+path}, with something between two of them`;
  if (problem !== undefined) {
    problems.push(problem);
    return undefined;
  }
  return { uri: uri as string, mimeType: typeof mimeType === "string" ? mimeType : undefined };
}

/** Whether and when a call of it is a task. */
function taskOf(given: unknown, problems: string[]): { required: boolean; after?: number } | undefined {
  if (given === undefined || given === false) return undefined;
  if (given === true || given === "optional") return { required: false };
  if (given === "required") return { required: true };
  if (!isRecord(given)) {
    problems.push('has a task that is not true, "optional", "required" or an object');
    return undefined;
  }
  const { required, after } = given;
  const isTime = typeof after === "number" && Number.isFinite(after) && after >= 0;
  if (after !== undefined && !isTime) problems.push("has task.after, which must be a number of milliseconds");
  return { required: required === true, ...(isTime && { after }) };
}

function textsIn(list: unknown, what: string, problems: string[]): string[] {
  if (list === undefined) return [];
  const texts = Array.isArray(list) ? list.filter((each) => typeof each === "string") : [];
  if (!Array.isArray(list) || texts.length < list.length)
    problems.push(`has ${what}, which must be a list of strings`);
  return texts;
}

/** By argument: words, or the id of an operation that has them. */
function completionsIn(given: unknown, problems: string[]): Record<string, string | string[]> {
  if (given === undefined) return {};
  if (!isRecord(given)) {
    problems.push("has complete, which must be an object with a list of words, or an id, for each argument");
    return {};
  }
  return Object.fromEntries(
    Object.entries(given).map(([name, from]) => [
      name,
      typeof from === "string" ? from : textsIn(from, `complete.${name}`, problems),
    ]),
  );
}

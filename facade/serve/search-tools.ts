// The three tools in place of all others, for an MCP door with `catalogue: "search"` or `code`.

import { createCodeRunner } from "../code/runner.js";
import { failed, InfrastructureErrorCode } from "../errors.js";
import { describeOperation } from "../registry/describe-operation.js";
import type { Entry } from "../registry/entry.js";
import { OperationRegistry } from "../registry/registry.js";
import { SearchedRegistry } from "../tools/catalogue.js";
import { operationsOf } from "../tools/catalogue-operations.js";
import { codeOperations } from "../tools/code-operations.js";
import type { OperationSpec } from "../types.js";
import { mcpDescriptor } from "./mcp-descriptor.js";
import { mcpDoors } from "./mcp-door.js";
import type { ServeOptions } from "./options.js";

const NAMESPACE = "catalogue";

/** `undefined` if all operations are tools. */
export interface DoorTools {
  readonly registry: OperationRegistry;
  /** Follows registrations: `code_run` names what is open to everyone. */
  update(): void;
  close(): Promise<void>;
}

/** `search`, `describe` and `call` or `run` over what is served. */
export function searchTools(
  registry: OperationRegistry,
  { doors }: ServeOptions,
  isServed: (id: string) => boolean,
): DoorTools | undefined {
  const { catalogue, code } = mcpDoors(doors.mcp)[0] ?? {};
  if (catalogue !== "search" && !code) return undefined;
  const isOffered = ({ id, spec }: Entry) => isServed(id) && isTool(spec);
  const tools = new OperationRegistry();
  const own = code === true ? createCodeRunner(registry) : undefined;
  const runner = own ?? (typeof code === "object" ? code : undefined);
  const write = () =>
    runner === undefined
      ? operationsOf(new SearchedRegistry(registry), registry, undefined, NAMESPACE, isOffered)
      : codeOperations(registry, { runner, namespace: "code", isOffered });
  tools.registerAll(write());
  let { revision } = registry;
  const update = () => {
    if (runner === undefined || revision === registry.revision) return;
    revision = registry.revision;
    tools.registerAll(write());
  };
  for (const { namespace, name } of tools.list()) {
    const id = `${namespace}.${name}`;
    if (registry.entry(id) === undefined) continue;
    throw failed(
      `${runner === undefined ? 'catalogue: "search"' : "code"} offers a tool ${id}, and the registry has an operation of that name. Rename it`,
      { operationId: id },
    );
  }
  return { registry: tools, update, close: async () => own?.close() };
}

const areTools = new WeakMap<OperationSpec, boolean>();

/** Whether it would be a tool of its own without a catalogue: what is hidden there is hidden here. */
function isTool(spec: OperationSpec): boolean {
  const known = areTools.get(spec) ?? mcpDescriptor(spec).tool;
  areTools.set(spec, known);
  return known;
}

/** What the native side has to know of one. */
export function hostSpec(spec: OperationSpec): string {
  const accessControl = { requiredScopes: [] };
  // Declared, so that a model that misspells an id learns it, and can correct itself.
  const errors = [{ code: InfrastructureErrorCode.OPERATION_NOT_FOUND }];
  return describeOperation(spec, { accessControl, errors, spills: true });
}

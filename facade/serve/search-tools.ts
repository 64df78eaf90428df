// The three tools that find all others, for an MCP door with `catalogue: "search"`.

import { failed, InfrastructureErrorCode } from "../errors.js";
import { OperationRegistry } from "../registry/registry.js";
import { SearchedRegistry } from "../tools/catalogue.js";
import { operationsOf } from "../tools/catalogue-operations.js";
import type { OperationSpec } from "../types.js";
import { lookOf } from "./mcp-look.js";
import type { ServeOptions } from "./options.js";

const NAMESPACE = "catalogue";

/** `search`, `describe` and `call` over what is served; nothing where all operations are tools. */
export function searchTools(
  registry: OperationRegistry,
  { doors }: ServeOptions,
  isServed: (id: string) => boolean,
): OperationRegistry | undefined {
  const door = doors.mcp;
  if (typeof door !== "object" || door.catalogue !== "search") return undefined;
  const tools = new OperationRegistry();
  const searched = new SearchedRegistry(registry);
  tools.registerAll(
    operationsOf(searched, registry, undefined, NAMESPACE, ({ id, spec }) => isServed(id) && isTool(spec)),
  );
  for (const { namespace, name } of tools.list()) {
    const id = `${namespace}.${name}`;
    if (registry.entry(id) === undefined) continue;
    throw failed(
      `catalogue: "search" offers a tool ${id}, and the registry has an operation of that name. Rename it`,
      { operationId: id },
    );
  }
  return tools;
}

const areTools = new WeakMap<OperationSpec, boolean>();

/** Whether it would be a tool of its own without a catalogue: what is hidden there is hidden here. */
function isTool(spec: OperationSpec): boolean {
  const known = areTools.get(spec) ?? lookOf(spec).tool;
  areTools.set(spec, known);
  return known;
}

/** What the native side has to know of one. */
export function hostSpec({ namespace, name, type, description }: OperationSpec): string {
  const accessControl = { requiredScopes: [] };
  // Declared, so that a model that misspells an id is told, and can correct itself.
  const errors = [{ code: InfrastructureErrorCode.OPERATION_NOT_FOUND }];
  return JSON.stringify({ namespace, name, type, description, accessControl, errors, spills: true });
}

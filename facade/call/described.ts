// Operations as peers see them: what they are sent, and how their own descriptions are read.

import { isShownTo } from "../access.js";
import { isRecord, isString } from "../interop/options.js";
import {
  callableEntries,
  describedErrors,
  describeOperation,
  schemaText,
  wellFormed,
} from "../registry/describe-operation.js";
import type { OperationRegistry } from "../registry/registry.js";
import { type EffectiveRules, withoutCustomAuth } from "../registry/rules.js";
import { type ErrorDefinition, type Identity, OperationType } from "../types.js";

/**
 * An operation of another process, as `discover` returns it: the spec without its access rules, which apply where the
 * operation runs.
 *
 * @example
 * ```ts
 * const { operations } = await hub.discover();
 * operations.map(({ namespace, name, description }: DiscoveredOperation) => `${namespace}.${name}: ${description}`);
 * ```
 */
export interface DiscoveredOperation {
  namespace: string;
  name: string;
  version: string;
  type: OperationType;
  title?: string;
  description: string;
  tags?: string[];
  /** JSON Schema. */
  inputSchema: unknown;
  /** JSON Schema. */
  outputSchema: unknown;
  errorSchemas?: ErrorDefinition[];
}

/** An operation as other processes may see it. */
export interface Described {
  readonly id: string;
  readonly handler: object;
  /** Who may call it. */
  readonly access: EffectiveRules;
  /** What they see, as JSON. */
  readonly text: string;
}

/** All operations that can be called from outside. */
export function describeAll(registry: OperationRegistry): Described[] {
  return callableEntries(registry).map(({ id, spec, handler, rules }) => {
    const errors = describedErrors(spec);
    const text = describeOperation(
      spec,
      { errorSchemas: errors.length > 0 ? errors : undefined },
      { inputSchema: schemaText(spec, "inputSchema"), outputSchema: schemaText(spec, "outputSchema") },
    );
    return { id, handler, access: withoutCustomAuth(rules), text };
  });
}

/** All of them for the native side, as a JSON list (`operations_core::listed`). */
export function describedText(described: readonly Described[]): string {
  const all = described.map(({ id, access, text }) => {
    return `${wellFormed(JSON.stringify({ id, access })).slice(0, -1)},"spec":${text}}`;
  });
  return `[${all.join(",")}]`;
}

/** Those that an identity may call. The native side has the same rule (`operations_core::listed`). */
export function shownTo(identity: Identity | undefined, described: readonly Described[]): Described[] {
  return described.filter(({ access }) => isShownTo(identity, () => access));
}

const TYPES: readonly unknown[] = Object.values(OperationType);
/** What a peer may call its namespaces and operations: nothing that breaks a line, hides or turns text around where it is shown. */
const NAME = /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,256}$/u;
const isName = (value: unknown): value is string => isString(value) && NAME.test(value);

/** An operation as an untrusted peer describes it; `undefined` if the description is invalid. */
export function readDescription(given: unknown): DiscoveredOperation | undefined {
  if (!isRecord(given)) return undefined;
  const { namespace, name, version, type, title, description, tags, errorSchemas } = given;
  const { inputSchema = {}, outputSchema = {} } = given;
  if (!isName(namespace) || !isName(name) || !TYPES.includes(type)) return undefined;
  const errors = Array.isArray(errorSchemas)
    ? errorSchemas.filter((error) => isRecord(error) && isString(error.code))
    : [];
  return {
    namespace,
    name,
    version: isString(version) ? version : "0.0.0",
    type: type as OperationType,
    ...(isString(title) && { title }),
    description: isString(description) && description !== "" ? description : name,
    ...(Array.isArray(tags) && { tags: tags.filter(isString) }),
    inputSchema: inputSchema ?? {},
    outputSchema: outputSchema ?? {},
    ...(errors.length > 0 && { errorSchemas: errors as ErrorDefinition[] }),
  };
}

/** A list of them, of which those that are none are left out. */
export function readDescriptions(given: unknown): DiscoveredOperation[] {
  if (!Array.isArray(given)) return [];
  return given.map(readDescription).filter((operation) => operation !== undefined);
}

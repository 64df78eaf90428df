// What peers are told of operations, and what is made of what they tell.

import { isShownTo } from "../access.js";
import { isRecord, isString } from "../border/options.js";
import { errorsOf, schemaText, wellFormed } from "../registry/described.js";
import type { OperationRegistry } from "../registry/registry.js";
import { type EffectiveRules, isWellFormed, withoutCustomAuth } from "../registry/rules.js";
import { type ErrorDefinition, type Identity, type OperationSpec, OperationType } from "../types.js";

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

/** An operation that others may be told of. */
export interface Described {
  readonly id: string;
  readonly handler: object;
  /** Who may call it. */
  readonly access: EffectiveRules;
  /** What they are told, as JSON. */
  readonly text: string;
}

/** All that can be called from outside. */
export function describeAll(registry: OperationRegistry): Described[] {
  return Array.from(registry.entries()).flatMap(({ id, spec, handler, isInternal, rules }) => {
    // Internal ones do not exist. Rules that Rust cannot read are met by no caller there.
    if (handler === undefined || isInternal || !isWellFormed(rules)) return [];
    return [{ id, handler, access: withoutCustomAuth(rules), text: textOf(spec) }];
  });
}

/** All of them for the native side, as a JSON list (`operations_core::listed`). */
export function describedText(described: readonly Described[]): string {
  const all = described.map(({ id, access, text }) => {
    const head = JSON.stringify({ id, access }).slice(0, -1);
    return wellFormed(`${head},"spec":${text}}`);
  });
  return `[${all.join(",")}]`;
}

/** Those that somebody may call. What is told natively follows the same rule (`operations_core::listed`). */
export function shownTo(identity: Identity | undefined, described: readonly Described[]): Described[] {
  return described.filter(({ access }) => isShownTo(identity, () => access));
}

function textOf(spec: OperationSpec): string {
  const { namespace, name, version, type, title, description, tags } = spec;
  const errors = errorsOf(spec);
  const members = JSON.stringify({
    namespace,
    name,
    version: String(version),
    type,
    title: isString(title) ? title : undefined,
    description: String(description),
    tags: Array.isArray(tags) ? tags.filter(isString) : undefined,
    errorSchemas: errors.length > 0 ? errors : undefined,
  }).slice(0, -1);
  const input = schemaText(spec, "inputSchema");
  const output = schemaText(spec, "outputSchema");
  return wellFormed(`${members},"inputSchema":${input},"outputSchema":${output}}`);
}

const TYPES: readonly unknown[] = Object.values(OperationType);
/** What a peer may call its namespaces and operations: nothing that breaks a line, hides or turns text around where it is shown. */
const NAME = /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,256}$/u;
const isName = (value: unknown): value is string => isString(value) && NAME.test(value);

/** An operation as a stranger describes it; nothing where it is no description. */
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

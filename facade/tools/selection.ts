// Which operations become tools.

import { isShownTo } from "../access.js";
import { invalid } from "../errors.js";
import { patternOf } from "../interop/pattern.js";
import { quoted } from "../interop/text.js";
import { logger } from "../logging.js";
import type { Entry } from "../registry/entry.js";
import type { OperationRegistry } from "../registry/registry.js";
import { withoutCustomAuth } from "../registry/rules.js";
import type { CallerIdentity, OperationSpec } from "../types.js";

/** Ids and patterns (`files.*`), or a predicate on specs. */
export type Include = readonly string[] | ((spec: OperationSpec) => boolean);

/** An operation that may become a tool. */
export interface Candidate {
  readonly id: string;
  readonly spec: OperationSpec;
}

/**
 * The operations that a model may be shown, in the order of their ids, so that a prompt stays the same whatever the
 * order of registration. Internal ones are never among them, and those without a handler cannot be called.
 */
export function candidates(
  registry: OperationRegistry,
  include: Include | undefined,
  identity: CallerIdentity | undefined,
): Candidate[] {
  const wanted = includeFilter(include);
  const found: Candidate[] = [];
  const all = registry.list();
  if (Array.isArray(include)) warnOfUnmatched(registry, include, all);
  for (const spec of all) {
    const id = `${spec.namespace}.${spec.name}`;
    if (spec.handler === undefined || isInternal(spec) || !wanted(id, spec)) continue;
    if (identity !== undefined && !mayCall(registry.entry(id) as Entry, identity)) continue;
    found.push({ id, spec });
  }
  return found.sort((one, other) => (one.id < other.id ? -1 : 1));
}

const log = logger("tools");

/** The patterns that were warned about, by registry: tools are made for every turn of a conversation. */
const warned = new WeakMap<OperationRegistry, Set<string>>();

/** A pattern that names nothing is probably misspelt. It is not an error: what it names may be registered later. */
function warnOfUnmatched(
  registry: OperationRegistry,
  include: readonly string[],
  specs: readonly OperationSpec[],
): void {
  const ids = specs.map(({ namespace, name }) => `${namespace}.${name}`);
  if (ids.length === 0) return;
  for (const pattern of include) {
    const expression = patternOf(pattern);
    if (ids.some((id) => expression.test(id))) continue;
    const known = warned.get(registry) ?? new Set();
    if (known.has(pattern)) continue;
    warned.set(registry, known.add(pattern));
    log.warn(`include has ${quoted(pattern)}, which is the id of no operation of the registry`, { pattern });
  }
}

/** Operations that are never shown outside. */
function isInternal(spec: OperationSpec): boolean {
  return (spec as { visibility?: unknown }).visibility === "internal";
}

/** Whether the declared rules let the identity pass. A rule of the application is checked at the call. */
export function mayCall({ rules }: Entry, identity: CallerIdentity | undefined): boolean {
  return isShownTo(identity, () => withoutCustomAuth(rules));
}

export function includeFilter(include: Include | undefined): (id: string, spec: OperationSpec) => boolean {
  if (include === undefined) return () => true;
  if (typeof include === "function") return (_, spec) => include(spec) === true;
  if (Array.isArray(include) && include.every((pattern) => typeof pattern === "string")) {
    const patterns = include.map(patternOf);
    return (id) => patterns.some((pattern) => pattern.test(id));
  }
  throw invalid("include must be a list of ids and patterns (files.*), or a function of the spec");
}

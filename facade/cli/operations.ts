// Operations as the commands show them.

import { InfrastructureErrorCode } from "../errors.js";
import { nearestName } from "../interop/nearest-name.js";
import { patternOf } from "../interop/pattern.js";
import { operationNotFound } from "../registry/nearest.js";
import { type CatalogueOptions, catalogue } from "../tools/catalogue.js";
import { mayCall } from "../tools/selection.js";
import type { AccessControl, Identity, OperationSpec } from "../types.js";
import type { HubConfig } from "./config/hub.js";
import { CommandError, EXIT } from "./exit-codes.js";
import type { Sources } from "./sources.js";

export const idOf = ({ namespace, name }: OperationSpec) => `${namespace}.${name}`;

/** The operations that fit one of the patterns, and that the identity may call, in the order of their ids. */
export function operationsFor(
  { registry }: Sources,
  patterns: readonly string[],
  identity: Identity | undefined,
): OperationSpec[] {
  const expressions = patterns.map(patternOf);
  return Array.from(registry.entries())
    .filter(({ isInternal }) => !isInternal)
    .filter(({ id }) => expressions.length === 0 || expressions.some((one) => one.test(id)))
    .filter((entry) => identity === undefined || mayCall(entry, identity))
    .sort((one, other) => (one.id < other.id ? -1 : 1))
    .map(({ spec }) => spec);
}

/** The first line of its description. */
export function summaryOf({ title, description }: { title?: string; description?: string }): string {
  return (description?.trim() || title?.trim() || "").split("\n", 1)[0] ?? "";
}

/** Who may call, in a few words. */
export function accessOf({
  requiredScopes,
  requiredScopesAny,
  resourceType,
  resourceAction,
  when,
  customAuth,
}: AccessControl): string {
  const parts = [
    requiredScopes.join(" "),
    requiredScopesAny?.length ? `one of ${requiredScopesAny.join(" ")}` : "",
    resourceType === undefined ? "" : `${resourceType}:${resourceAction}`,
    when === undefined ? "" : `when ${JSON.stringify(when)}`,
    customAuth ?? "",
  ].filter((part) => part !== "");
  return parts.length === 0 ? "open" : parts.join(", ");
}

export function catalogueFor({ registry }: Sources, identity: Identity | undefined) {
  const options: CatalogueOptions = identity === undefined ? {} : { identity };
  return catalogue(registry, options);
}

/** The source that an operation comes from, by its id. Throws without one. */
export function sourceOf(id: string, { sources, file }: HubConfig): string {
  const namespaces = sources.map(({ name }) => name);
  // Names of sources may have dots, and so may those of operations.
  const found = namespaces.filter((name) => id.startsWith(`${name}.`)).sort((a, b) => b.length - a.length)[0];
  if (found !== undefined) return found;
  const at = id.indexOf(".");
  if (at < 1 || at === id.length - 1) {
    throw notFound(`${JSON.stringify(id)} is not the id of an operation. An id is <namespace>.<name>`);
  }
  const namespace = id.slice(0, at);
  if (sources.some(({ mayNameOthers }) => mayNameOthers)) return namespace;
  const nearest = nearestName(namespace, namespaces, 1);
  const known = namespaces.length === 0 ? "It has no sources" : `There are ${namespaces.join(", ")}`;
  const hint = nearest === undefined ? known : `Did you mean ${nearest}?`;
  throw notFound(`There is no operation ${id}: ${file} has no source ${namespace}. ${hint}`);
}

function notFound(message: string): CommandError {
  return new CommandError(EXIT.NOT_FOUND, InfrastructureErrorCode.OPERATION_NOT_FOUND, message);
}

/** Why an operation is not there: its source could not be loaded, or has no such operation. */
export function refuseUnknown(
  id: string,
  namespace: string,
  sources: Sources,
  identity: Identity | undefined,
): Error {
  const known = operationsFor(sources, [], identity).map(idOf);
  return sources.failureOf(namespace) ?? operationNotFound(id, known);
}

// Rules that `protect` adds to operations, and a warning when operations are served while some of these rules cover none: a
// misspelt pattern protects nothing.

import { nearestName } from "../interop/nearest-name.js";
import type { IdPattern } from "../interop/pattern.js";
import { logImportant } from "../logging.js";
import type { AccessControl } from "../types.js";

export interface Protection {
  readonly pattern: string;
  readonly expression: IdPattern;
  readonly rules: AccessControl;
}

const warned = new WeakSet<Protection>();

/** Warns once for each pattern whose namespace has operations, or nearly has: those of other namespaces may come later. */
export function warnAboutUnused(protections: Iterable<Protection>, ids: readonly string[]): void {
  const namespaces = Array.from(new Set(ids.map(namespaceOf)));
  for (const protection of protections) {
    const { pattern, expression } = protection;
    if (warned.has(protection) || ids.some((id) => expression.test(id))) continue;
    const namespace = namespaceOf(pattern);
    if (!namespaces.includes(namespace) && nearestName(namespace, namespaces) === undefined) continue;
    warned.add(protection);
    const meant = nearestName(pattern, ids);
    const hint = meant === undefined ? "" : `. Did you mean ${meant}?`;
    const message = `protect: ${pattern} covers no operation, so it protects nothing${hint}`;
    logImportant("warn", "access", message, { pattern });
  }
}

const namespaceOf = (id: string): string => id.split(".", 1)[0] as string;

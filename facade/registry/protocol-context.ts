// Calls that came through the call protocol, told apart from direct ones.

import type { OperationContext } from "../types.js";

const enforced = new WeakSet<OperationContext>();

/** Marks the context of a call that came through the call protocol: no registry lets it skip access control. */
export function alwaysEnforceAccess(context: OperationContext): void {
  enforced.add(context);
}

/** Whether a registry that trusts direct calls may trust this one. */
export function isDirect(context: OperationContext): boolean {
  return !enforced.has(context);
}

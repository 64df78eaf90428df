// The counterpart of `registry/limits.ts` and `registry/call-gate.ts`: limits are counted in native code.

import { unavailable } from "./unavailable.js";

const refuse = /* @__PURE__ */ unavailable(
  "The option limits",
  "calls are counted in native code: limit them where they are served",
) as unknown as () => never;

/** Called for the option of a registry, where it is given. */
export const callLimits = refuse;
export const Limiter = refuse;
export const CallGate = refuse;

export function operationLimiter(_id: string, limits: unknown): undefined {
  if (limits !== undefined) refuse();
}

import { CallError, InfrastructureErrorCode } from "../errors.js";

const NATIVE =
  "it runs in native code, which browsers and edge workers cannot load: use it in Node, Bun or Deno, and call it from here over the call protocol";

/** Stands for a function or a class that cannot work here: calling it says why. */
export function unavailable(name: string, reason = NATIVE): new (...args: never[]) => never {
  return function refuse(): never {
    throw new CallError(
      InfrastructureErrorCode.EXECUTION_ERROR,
      `${name} is not available here, because ${reason}`,
      { reason: "unavailable", name },
    );
  } as never;
}

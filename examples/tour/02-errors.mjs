// A failed call rejects with one class of error: a code to branch on, a sentence, details.

import { CallError, InfrastructureErrorCode, mapError } from "@alkdev/operations";
import { say, show } from "./show.mjs";

export default function errors() {
  say("Codes of the package, and codes that an operation declares:");
  show("InfrastructureErrorCode", Object.keys(InfrastructureErrorCode).join(" "));
  const declared = [{ code: "TASK_NOT_FOUND", description: "There is no task with this id" }];

  say("Whatever a handler throws becomes a CallError:");
  for (const thrown of [
    new CallError("TASK_NOT_FOUND", "No task 7"),
    new Error("TASK_NOT_FOUND: no task 8"),
    new TypeError("cannot read properties of undefined"),
    "a string, of all things",
  ]) {
    const { code, message } = mapError(thrown, declared);
    show(code, message);
  }
}

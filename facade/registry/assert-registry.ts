import { refusal } from "../interop/options.js";
import { kindOf } from "../interop/text.js";
import { VERSION } from "../version.js";
import { OperationRegistry } from "./registry.js";

/** On every registry of every copy of the package in this process: the version of its copy. */
const REGISTRY_VERSION = Symbol.for("@alkdev/operations.OperationRegistry");
Object.defineProperty(OperationRegistry.prototype, REGISTRY_VERSION, { value: VERSION });

/** Throws unless it is a registry of this copy of the package. `by` is the function that was called. */
export function assertRegistry(registry: unknown, by: string): asserts registry is OperationRegistry {
  if (registry instanceof OperationRegistry) return;
  refuseOtherCopy(registry, `${by}: registry`);
  throw refusal(`${by}: registry`, `must be an OperationRegistry, not ${kindOf(registry)}`);
}

/** Throws for a registry of another copy of the package, whose private state cannot be reached from here. */
export function refuseOtherCopy(registry: unknown, path: string): void {
  const version: unknown = Object(registry)[REGISTRY_VERSION];
  if (registry instanceof OperationRegistry || typeof version !== "string") return;
  throw refusal(
    path,
    `is an OperationRegistry of a second copy of @alkdev/operations in this process (version ${version}; this copy is ` +
      `version ${VERSION}). Take the registry and this function from one copy: npm ls @alkdev/operations names both, and ` +
      "npm dedupe or a peer dependency leaves one",
    { versions: [version, VERSION] },
  );
}

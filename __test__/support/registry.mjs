// Registries with nothing but operations.

import { OperationRegistry } from "@alkdev/operations";

export function registryOf(...operations) {
  const registry = new OperationRegistry();
  registry.registerAll(operations);
  return registry;
}

// Whether what operations are called through is usable now, for `GET /ready`.

import { traitsOf } from "./handler-traits.js";
import type { OperationRegistry } from "./registry.js";

/** A connection that operations are called through. */
export interface Connection {
  readonly kind: "mcp" | "nats" | "hub";
  readonly name: string;
  /** `"connected"` if it is usable; `"stopped"` and `"idle"` if the next call connects it. */
  state(): string;
}

/** As `crates/operations-serve/src/ready.rs` reads it. */
interface ConnectionState {
  kind: string;
  name: string;
  state: string;
  isUsable: boolean;
}

const USABLE = new Set(["connected", "stopped", "idle"]);

/** Connections that registries are to have operations of and have none of yet: servers that could not be loaded. */
const missing = new WeakMap<OperationRegistry, Array<() => Connection[]>>();

/** Adds what is missing to the connections that a registry needs. */
export function alsoNeeds(registry: OperationRegistry, connections: () => Connection[]): void {
  missing.set(registry, [...(missing.get(registry) ?? []), connections]);
}

/** The connections that the operations of a registry need, each once. */
export function connectionStates(registry: OperationRegistry): ConnectionState[] {
  const needed = new Set((missing.get(registry) ?? []).flatMap((connections) => connections()));
  for (const { handler } of registry.entries()) {
    const { connection } = traitsOf(handler);
    if (connection !== undefined) needed.add(connection);
  }
  return Array.from(needed, (connection) => {
    const { kind, name } = connection;
    const state = connection.state();
    return { kind, name, state, isUsable: USABLE.has(state) };
  });
}

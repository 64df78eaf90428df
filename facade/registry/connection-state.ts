// Whether what operations are called through is usable now, for `GET /ready`.

import { traitsOf } from "./handler-traits.js";
import type { OperationRegistry } from "./registry.js";

/** A connection that operations are called through. */
export interface Connection {
  readonly kind: "mcp" | "nats" | "hub";
  readonly name: string;
  /** `"connected"` if it is usable. */
  state(): string;
}

/** As `crates/operations-serve/src/ready.rs` reads it. */
interface ConnectionState {
  kind: string;
  name: string;
  state: string;
  isUsable: boolean;
}

/** The connections that the operations of a registry need, each once. */
export function connectionStates(registry: OperationRegistry): ConnectionState[] {
  const needed = new Set<Connection>();
  for (const { handler } of registry.entries()) {
    const { connection } = traitsOf(handler);
    if (connection !== undefined) needed.add(connection);
  }
  return Array.from(needed, (connection) => {
    const { kind, name } = connection;
    const state = connection.state();
    return { kind, name, state, isUsable: state === "connected" };
  });
}

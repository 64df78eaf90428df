// What connections over NATS, WebSockets and ports have in common: the registry that one serves, and what it imports.

import { invalid } from "../errors.js";
import { closedOnce } from "../interop/closing.js";
import { coalesced } from "../interop/event-loop.js";
import { assertRegistry } from "../registry/assert-registry.js";
import { traitsOf } from "../registry/handler-traits.js";
import type { OperationRegistry } from "../registry/registry.js";
import { type Described, describeAll } from "./described.js";
import type { Peer } from "./imported.js";
import { Imports } from "./imports.js";
import type { RemoteCallMap } from "./transport.js";

export abstract class RemoteConnection implements Peer {
  abstract readonly name: string;
  abstract readonly callMap: RemoteCallMap;
  protected readonly imports = new Imports(this);
  /** What is served, if anything is. */
  protected registry: OperationRegistry | undefined;
  protected isClosing = false;
  protected unfollow: () => void = () => {};

  /** Whether this registry is served already. Throws if another one is. */
  protected isServing(registry: OperationRegistry): boolean {
    assertRegistry(registry, "serve");
    if (this.registry !== undefined && this.registry !== registry) {
      throw invalid(
        "serve: this connection already serves another registry. Open a second connection for this one",
      );
    }
    return this.registry === registry;
  }

  /** Serves a registry from now on. `changed` is called soon after its operations have changed. */
  protected begin(registry: OperationRegistry, changed: () => void): void {
    this.registry = registry;
    const unlessClosing = () => {
      if (!this.isClosing) changed();
    };
    this.unfollow = registry.onChange(coalesced(unlessClosing));
  }

  /** What the other side is offered, and what was imported from it, which is not offered back. */
  protected describe(): { own: Described[]; imported: Described[] } {
    const own: Described[] = [];
    const imported: Described[] = [];
    for (const each of this.registry === undefined ? [] : describeAll(this.registry)) {
      (traitsOf(each.handler).peer === this ? imported : own).push(each);
    }
    return { own, imported };
  }

  // Functions of the object and not of its class, so that they can be taken out of it:
  // `const { callMap, serve, close } = await connectNats(...)`.

  readonly close = closedOnce((drain) => {
    this.isClosing = true;
    return this.closeConnection(drain);
  });

  protected abstract closeConnection(drain: number): Promise<void>;

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

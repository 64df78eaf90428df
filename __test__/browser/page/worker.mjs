// The other side of `page.mjs`: a registry that is served in a worker of the page.

import {
  buildCallHandler,
  createPortEventTarget,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { Type } from "@sinclair/typebox";

const registry = new OperationRegistry();
const register = (name, handler, more = {}) =>
  registry.register({
    namespace: "worker",
    name,
    version: "1.0.0",
    type: "query",
    description: name,
    inputSchema: Type.Object({ n: Type.Optional(Type.Number()), to: Type.Optional(Type.Number()) }),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: [] },
    handler,
    ...more,
  });

register("double", ({ n }) => ({ n: n * 2 }));
register("bytes", () => Uint8Array.of(0, 127, 255));
register("secret", () => "never", { accessControl: { requiredScopes: ["admin"] } });
register("sleep", () => new Promise(() => {}));
register(
  "count",
  async function* count({ to }) {
    for (let n = 1; n <= to; n++) yield n;
  },
  { type: "subscription" },
);

const callMap = new PendingRequestMap(createPortEventTarget(globalThis));
callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));

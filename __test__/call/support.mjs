// What the tests of the call protocol share.

import { buildCallHandler, OperationRegistry, PendingRequestMap } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";

const common = { namespace: "t", version: "1", description: "", accessControl: { requiredScopes: [] } };
const anything = Type.Unknown();

/** A query whose input and output are anything. */
export const query = (name, handler, extra = {}) => ({
  ...common,
  name,
  type: "query",
  inputSchema: anything,
  outputSchema: anything,
  handler,
  ...extra,
});

export const subscription = (name, handler, extra = {}) =>
  query(name, handler, { type: "subscription", ...extra });

/** A map that serves a registry with these operations, in the process. */
export function serving(operations, { target, options, mapOptions } = {}) {
  const registry = new OperationRegistry(options);
  registry.registerAll(operations);
  const callMap = new PendingRequestMap(target, mapOptions);
  const stop = callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
  return { registry, callMap, stop };
}

/** Every event of a map, in order, as `[type, payload]`. */
export function record(callMap) {
  const events = [];
  for (const type of ["call.requested", "call.responded", "call.completed", "call.aborted", "call.error"]) {
    callMap[type].subscribe((payload) => events.push([type, payload]));
  }
  return events;
}

export { settled, sleep } from "../support/waiting.mjs";

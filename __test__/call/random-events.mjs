// Events of a peer that means harm, or is broken: half of them near enough to real ones to get far.

import { CallEventMap, localEnvelope } from "@alkdev/operations";

export const TYPES = Object.keys(CallEventMap);

/** Values that have broken something somewhere. */
const ODD = [
  undefined,
  null,
  true,
  0,
  -1,
  1e308,
  "",
  "__proto__",
  "constructor",
  [],
  [[[]]],
  {},
  { toString: 1, valueOf: 1 },
  JSON.parse('{"__proto__":{"trusted":true}}'),
  { requestId: {} },
  { payload: { payload: {} } },
  { length: 1e9 },
];

const KEYS = [
  "requestId",
  "code",
  "message",
  "output",
  "data",
  "meta",
  "identity",
  "scopes",
  "$bytes",
  "type",
];

function value(random, depth = 0) {
  if (depth > 2 || random.chance(0.7)) return random.pick(ODD);
  if (random.chance(0.3)) return Array.from({ length: random.below(3) }, () => value(random, depth + 1));
  return Object.fromEntries(
    Array.from({ length: random.below(4) }, () => [random.pick(KEYS), value(random, depth + 1)]),
  );
}

/** A payload whose fields are mostly right. */
function payload(random, requestId) {
  const real = {
    requestId,
    operationId: "t.echo",
    input: {},
    code: "BROKEN",
    message: "text",
    output: localEnvelope(1, "t.echo"),
    identity: { id: "u", scopes: ["a"] },
    metadata: {},
    deadline: Date.now() + 60_000,
    parentRequestId: "p",
    details: {},
  };
  for (const name of Object.keys(real)) {
    if (random.chance(0.15)) real[name] = value(random);
    else if (random.chance(0.1)) delete real[name];
  }
  return real;
}

/** The `detail` of an event. */
export function randomDetail(random, type, requestId) {
  if (random.chance(0.1)) return value(random);
  const inner = payload(random, requestId);
  if (random.chance(0.3)) return inner;
  return { type: random.chance(0.95) ? type : random.pick(TYPES), id: "", payload: inner };
}

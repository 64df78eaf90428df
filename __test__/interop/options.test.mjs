// Options of the whole package: what is wrong is named, with what was given and what is allowed, and a misspelt name is
// never ignored.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  buildEnv,
  createMCPClient,
  createPortEventTarget,
  createRegistry,
  FromOpenAPI,
  localEnvelope,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { toTools } from "@alkdev/operations/tools";
import { connectNats } from "@alkdev/operations/transport-nats";
import { createRedisEventTarget } from "@alkdev/operations/transport-redis";

const document = { openapi: "3.1.0", info: { title: "t", version: "1" }, paths: {} };
/** Everything that takes options, as something that rejects. */
const places = {
  call: async (options) => new PendingRequestMap().call("t.x", {}, options),
  subscribe: async (options) => new PendingRequestMap().subscribe("t.x", {}, options).next(),
  map: async (options) => new PendingRequestMap(undefined, options),
  registry: async (options) => new OperationRegistry(options),
  redis: async (options) => createRedisEventTarget({ url: "redis://127.0.0.1:1", ...options }),
  nats: (options) => connectNats({ servers: "nats://127.0.0.1:1", name: "n", ...options }),
  mcp: (options) => createMCPClient("m", { command: "x", ...options }),
  openapi: async (options) => FromOpenAPI(document, { namespace: "t", ...options }),
  serve: (options) => serve(new OperationRegistry(), { doors: { http: true }, ...options }),
  env: async (options) => buildEnv({ registry: new OperationRegistry(), context: {}, ...options }),
  target: async (target) => new PendingRequestMap(target),
  port: async (port) => createPortEventTarget(port),
  list: async (operations) => createRegistry(operations),
  tools: async (options) => toTools(new OperationRegistry(), { target: "openai", ...options }),
};

function refusedBy(place, options) {
  return assert.rejects(places[place](options), (error) => {
    assert.equal(error.name, "CallError", String(error));
    assert.equal(error.code, "VALIDATION_ERROR", error.message);
    refusedBy.last = error;
    return true;
  });
}

const IDENTITY = "must have an identity, { id, scopes, resources? }, for each token";
const TIME = "a number of milliseconds since 1970, such as Date.now() + 5_000";
const PLAIN = "Object.fromEntries() makes one of a Headers object or a Map";

describe("an option of the wrong kind", () => {
  for (const [place, options, message] of [
    ["call", { deadline: "soon" }, `deadline must be ${TIME}, not "soon"`],
    ["call", { deadline: Number.NaN }, `deadline must be ${TIME}, not NaN`],
    ["call", { deadline: 5_000 }, `deadline must be ${TIME}, not 5000`],
    ["call", { signal: {} }, "signal must be an AbortSignal, not an object"],
    ["call", { identity: "me" }, 'identity must be an object, not "me"'],
    ["subscribe", { idleTimeout: -1 }, "idleTimeout must be a number of milliseconds above 0, not -1"],
    [
      "map",
      { maxWaitingEvents: 0 },
      "PendingRequestMap: maxWaitingEvents must be a whole number above 0, not 0",
    ],
    ["map", 5, "PendingRequestMap: options must be an object, not a number"],
    [
      "registry",
      { output: "kept" },
      'RegistryOptions.output must be "normalise", "normalize", "keep", "off" or "strict", not "kept"',
    ],
    ["registry", { customAuth: { owner: 5 } }, "RegistryOptions.customAuth.owner must be a function, not 5"],
    ["redis", { prefix: 7 }, "createRedisEventTarget: prefix must be a string, not 7"],
    ["redis", { tls: { ca: 7 } }, "createRedisEventTarget: tls.ca must be a string, not 7"],
    ["nats", { queue: [] }, "connectNats: queue must be a string, not a list"],
    ["nats", { auth: { user: 5 } }, "connectNats: auth.user must be a string, not 5"],
    ["mcp", { args: "one" }, `MCP server 'm': args must be a list of strings, not "one"`],
    ["mcp", { oauth: { onAuthorize: 1 } }, "MCP server 'm': oauth.onAuthorize must be a function, not 1"],
    [
      "mcp",
      { env: "A=B" },
      "MCP server 'm': env must be an object with a string for each name, not a string",
    ],
    ["mcp", { maxTools: 0 }, "MCP server 'm': maxTools must be a whole number above 0, not 0"],
    [
      "mcp",
      { headers: new Map([["x-a", "1"]]) },
      `MCP server 'm': headers must be a plain object with a string for each name; ${PLAIN}`,
    ],
    [
      "openapi",
      { headers: new Headers({ "x-a": "1" }) },
      `config.headers must be a plain object with a string for each header; ${PLAIN}`,
    ],
    [
      "openapi",
      { methods: ["get", "gte"] },
      'config.methods has "gte", which is not an HTTP method. Did you mean get?',
    ],
    [
      "openapi",
      { auth: { type: "sk-a-secret", token: "bearer" } },
      'config.auth.type must be "bearer", "apiKey", "basic" or "oauth2". What was given is not shown, because it may be a secret',
    ],
    [
      "openapi",
      { timeout: "5s" },
      'config.timeout must be a number of milliseconds, 0 or more (0: no limit), not "5s"',
    ],
    [
      "env",
      { allowedNamespaces: "tasks" },
      'buildEnv: allowedNamespaces must be a list of strings, not "tasks"',
    ],
    ["env", { registry: {} }, "buildEnv: registry must be an OperationRegistry, not an object"],
    ["env", { context: undefined }, "buildEnv: context must be an object, not undefined"],
    ["env", { callMap: 5 }, "buildEnv: callMap must be a call map, such as a PendingRequestMap, not 5"],
    ["target", {}, "PendingRequestMap: eventTarget must be an EventTarget, not an object"],
    [
      "port",
      {},
      "createPortEventTarget: port must be a MessagePort or a Worker, with postMessage and addEventListener (or on), not an object",
    ],
    ["list", {}, "createRegistry: operations must be a list of operations, not an object"],
    ["list", new Set(), "createRegistry: operations must be a list of operations: [...operations] makes one"],
    ["serve", { tokens: { "": { id: "ada", scopes: [] } } }, "serve: tokens has an empty token"],
    ["serve", { tokens: { t: "ada" } }, `serve: tokens ${IDENTITY}: one is a string`],
    ["serve", { tokens: { t: { scopes: [] } } }, `serve: tokens ${IDENTITY}: the id of one is missing`],
    ["serve", { tokens: { t: { id: "ada" } } }, `serve: tokens ${IDENTITY}: scopes of "ada" is missing`],
    [
      "serve",
      { tokens: { t: { id: "ada", scopes: "all" } } },
      `serve: tokens ${IDENTITY}: scopes of "ada" is not a list of strings`,
    ],
    [
      "serve",
      { tokens: { t: { id: "ada", scopes: [], resources: [] } } },
      `serve: tokens ${IDENTITY}: resources of "ada" is not an object with a list of actions for each resource`,
    ],
    ["tools", { maxResultBytes: 1 }, "toTools: maxResultBytes must be a whole number of at least 256, not 1"],
  ]) {
    it(`a wrong option is refused: ${message}`, async () => {
      await refusedBy(place, options);
      assert.equal(refusedBy.last.message, message);
      assert.ok(message.includes(refusedBy.last.details.field));
    });
  }
});

describe("a misspelt option is refused with the name that was meant", () => {
  for (const [place, name, nearest] of [
    ["call", "deadLine", "deadline"],
    ["subscribe", "idleTimout", "idleTimeout"],
    ["map", "maxWaitingEvent", "maxWaitingEvents"],
    ["registry", "trustDirectCall", "trustDirectCalls"],
    ["redis", "requireReciever", "requireReceiver"],
    ["nats", "quue", "queue"],
    ["mcp", "header", "headers"],
    ["openapi", "baseURL", "baseUrl"],
    ["serve", "allowedHost", "allowedHosts"],
    ["env", "allowedNamespace", "allowedNamespaces"],
    ["tools", "maxResultByte", "maxResultBytes"],
  ]) {
    it(`a misspelt option is refused with the name that was meant: ${place}, ${name}`, async () => {
      await refusedBy(place, { [name]: undefined });
      assert.match(
        refusedBy.last.message,
        new RegExp(`${name} is not an option. Did you mean ${nearest}\\?`),
      );
      assert.equal(refusedBy.last.details.nearest, nearest);
    });
  }
});

it("a misspelt name explains why one that is needed is missing", async () => {
  await assert.rejects(connectNats({ server: "nats://127.0.0.1:1", name: "n" }), {
    code: "VALIDATION_ERROR",
    message: "connectNats: server is not an option. Did you mean servers?",
    details: { field: "server", nearest: "servers" },
  });
});

it("methods of a document's own are no misspelling", () => {
  assert.deepEqual(FromOpenAPI(document, { namespace: "t", methods: ["GET", "query", "PURGE"] }), []);
});

describe("an option that means nothing here", () => {
  for (const place of ["map", "registry", "redis", "nats", "serve", "tools"]) {
    it(`an unknown option is refused by ${place}, which lists those that exist`, async () => {
      await refusedBy(place, { zebra: 1 });
      assert.match(refusedBy.last.message, /zebra is not an option: there are \w+/);
    });
  }

  it("an unknown option is ignored in calls that pass on a whole context", async () => {
    const map = new PendingRequestMap();
    map["call.requested"].subscribe(({ requestId }) => map.respond(requestId, localEnvelope(1, "t.x")));
    assert.equal((await map.call("t.x", {}, { requestId: "r", zebra: 1 })).data, 1);
  });
});

it("a property of Object.prototype is not read as an option", async () => {
  const polluted = {
    deadline: 1,
    trustDirectCalls: true,
    identity: { id: "root", scopes: ["*"] },
    prefix: "stolen",
  };
  const map = new PendingRequestMap();
  const seen = [];
  map["call.requested"].subscribe((event) => {
    seen.push(Object.hasOwn(event, "identity"), Object.hasOwn(event, "deadline"));
    map.respond(event.requestId, localEnvelope(1, "t.x"));
  });
  const registry = await withPolluted(polluted, async () => {
    await map.call("t.x", {});
    await map.call("t.x", {}, {});
    return new OperationRegistry({});
  });
  assert.deepEqual(seen, [false, false, false, false]);
  const { query } = await import("../call/support.mjs");
  registry.register(query("secret", () => 1, { accessControl: { requiredScopes: ["a"] } }));
  await assert.rejects(registry.execute("t.secret", {}), { code: "ACCESS_DENIED" });
});

async function withPolluted(properties, work) {
  for (const [name, value] of Object.entries(properties)) {
    Object.defineProperty(Object.prototype, name, { value, configurable: true, writable: true });
  }
  try {
    return await work();
  } finally {
    for (const name of Object.keys(properties)) delete Object.prototype[name];
  }
}

// Imported operations can be closed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildCallHandler, FromOpenAPI, OperationRegistry, PendingRequestMap } from "@alkdev/operations";
import { configure, reset } from "@logtape/logtape";
import { documentOf } from "./support/documents.mjs";

const document = documentOf({
  paths: {
    "/pets": { get: { operationId: "list" }, post: { operationId: "create" } },
    "/admin": { delete: { operationId: "purge" } },
  },
});
const fetch = async () => new Response("{}", { headers: { "content-type": "application/json" } });
const base = { namespace: "t", baseUrl: "https://api.example.com", fetch };

const registryOf = (config) => {
  const registry = new OperationRegistry();
  registry.registerAll(FromOpenAPI(document, { ...base, ...config }));
  return registry;
};
const as = (...scopes) => ({ identity: { id: "u", scopes } });

describe("accessControl of an imported source", () => {
  it("accessControl of an imported source closes every operation of it", async () => {
    const registry = registryOf({ accessControl: { requiredScopes: ["pets"] } });
    for (const id of ["t.list", "t.create", "t.purge"]) {
      await assert.rejects(registry.execute(id, {}, {}), { code: "ACCESS_DENIED" });
      await assert.rejects(registry.execute(id, {}, as("other")), { code: "ACCESS_DENIED" });
      assert.equal((await registry.execute(id, {}, as("pets"))).meta.statusCode, 200);
    }
  });

  it("accessControl of an imported source may be a function of each operation", async () => {
    const seen = [];
    const accessControl = (spec) => {
      seen.push([spec.namespace, spec.name, spec.type, spec._meta.method]);
      return spec.name === "purge" ? { requiredScopes: ["admin"] } : undefined;
    };
    const registry = registryOf({ accessControl });
    assert.deepEqual(seen, [
      ["t", "list", "query", "GET"],
      ["t", "create", "mutation", "POST"],
      ["t", "purge", "mutation", "DELETE"],
    ]);
    await registry.execute("t.list", {}, {});
    await assert.rejects(registry.execute("t.purge", {}, as("pets")), { code: "ACCESS_DENIED" });
  });

  it("accessControl of an imported source is an object of its own for each operation", () => {
    const accessControl = { requiredScopes: ["pets"] };
    const [list, create] = FromOpenAPI(document, { ...base, accessControl });
    list.accessControl.requiredScopes = [];
    assert.deepEqual(create.accessControl, { requiredScopes: ["pets"] });
    assert.deepEqual(accessControl, { requiredScopes: ["pets"] });
  });

  it("an invalid accessControl of an imported source is refused by name", () => {
    assert.throws(() => FromOpenAPI(document, { ...base, accessControl: "pets" }), {
      code: "VALIDATION_ERROR",
      message: /config\.accessControl must be an object/,
    });
    const broken = { ...base, accessControl: () => ({ requiredScopes: "pets" }) };
    assert.throws(() => FromOpenAPI(document, broken), /t\.list.*requiredScopes/s);
  });

  it("accessControl with a misspelt or unknown name is refused, because it would close nothing", () => {
    const misspelt = { requiredScopes: [], requiredScopeAny: ["pets"] };
    for (const [accessControl, path, hint] of [
      [misspelt, "config.accessControl.requiredScopeAny", "Did you mean requiredScopesAny?"],
      [() => misspelt, "t.list: accessControl.requiredScopeAny", "Did you mean requiredScopesAny?"],
      [{ requiredScopes: [], roles: ["pets"] }, "config.accessControl.roles", "there are requiredScopes, "],
    ]) {
      assert.throws(
        () => FromOpenAPI(document, { ...base, accessControl }),
        ({ code, message, details }) =>
          code === "VALIDATION_ERROR" &&
          message.startsWith(`${path} is not an access rule`) &&
          message.includes(hint) &&
          details.field === path.replace("t.list: ", ""),
      );
    }
  });
});

describe("a source that carries credentials while everybody may call it", () => {
  const warnings = async (t, ...configs) => {
    const lines = [];
    await configure({
      sinks: { lines: (record) => lines.push(record) },
      loggers: [{ category: ["operations", "access"], sinks: ["lines"], lowestLevel: "warning" }],
      reset: true,
    });
    t.after(() => reset());
    for (const config of configs) {
      const registry = registryOf(config);
      const callMap = new PendingRequestMap();
      for (let i = 0; i < 2; i++) buildCallHandler({ registry, callMap });
    }
    return lines.map(({ message }) => message.join(""));
  };
  const auth = { type: "bearer", token: "open-sesame" };

  it("a source with credentials that is open to everyone is named once when it is served", async (t) => {
    const [line, ...others] = await warnings(t, { auth });
    assert.match(line, /^t is called with your credentials, and t\.list is open/);
    assert.doesNotMatch(line, /open-sesame/);
    assert.deepEqual(others, []);
  });

  it("a source without credentials, or with a rule, is not warned about", async (t) => {
    assert.deepEqual(await warnings(t, {}, { auth, accessControl: { requiredScopes: ["pets"] } }), []);
  });
});

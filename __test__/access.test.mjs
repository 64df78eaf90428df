// What JSON cannot express; the rules themselves are in the shared table.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError, checkAccess, enforceAccess } from "@alkdev/operations";

const needsAdmin = { requiredScopes: ["admin"] };
const needsResource = { requiredScopes: [], resourceType: "project", resourceAction: "read" };

describe("inherited properties grant nothing", () => {
  it("inherited scopes grant nothing", () => {
    const identity = Object.create({ id: "u", scopes: ["admin"] });
    assert.equal(checkAccess(needsAdmin, identity), false);
    assert.throws(() => enforceAccess(needsAdmin, identity, "a.b"), CallError);
  });

  it("scopes of a class's prototype grant nothing", () => {
    class Identity {
      id = "u";
      get scopes() {
        return ["admin"];
      }
    }
    assert.equal(checkAccess(needsAdmin, new Identity()), false);
  });

  it("an inherited resource map grants nothing", () => {
    const identity = Object.create({ resources: { "project:1": ["read"] } });
    identity.scopes = [];
    assert.equal(checkAccess(needsResource, identity), false);
  });

  it("inherited keys of the resource map grant nothing", () => {
    const resources = Object.create({ "project:1": ["read"] });
    assert.equal(checkAccess(needsResource, { id: "u", scopes: [], resources }), false);
  });

  it("a polluted Object.prototype grants nothing", () => {
    try {
      Object.prototype["project:9"] = ["read"];
      Object.prototype.scopes = ["admin"];
      assert.equal(checkAccess(needsResource, { id: "u", scopes: [], resources: {} }), false);
      assert.equal(checkAccess(needsAdmin, { id: "u" }), false);
    } finally {
      delete Object.prototype["project:9"];
      delete Object.prototype.scopes;
    }
  });
});

describe("it fails closed", () => {
  it("scopes that are a string which contains the scope grant nothing", () => {
    assert.equal(checkAccess(needsAdmin, { id: "u", scopes: "administrators" }), false);
    assert.equal(checkAccess(needsAdmin, { id: "u", scopes: new Set(["admin"]) }), false);
    assert.equal(checkAccess(needsAdmin, { id: "u" }), false);
    assert.equal(checkAccess(needsAdmin, null), false);
  });

  it("malformed access rules grant nothing", () => {
    const admin = { id: "u", scopes: ["admin"], resources: {} };
    for (const rules of [
      undefined,
      null,
      {},
      "open",
      { requiredScopes: "admin" },
      { requiredScopes: [], requiredScopesAny: "admin" },
    ]) {
      assert.equal(checkAccess(rules, admin), false);
      assert.throws(
        () => enforceAccess(rules, admin, "a.b"),
        (error) => error.code === "ACCESS_DENIED" && error.message.includes("malformed accessControl"),
      );
    }
  });

  it("only true itself is trust", () => {
    for (const trusted of [undefined, false, null, 1, "true", {}]) {
      assert.throws(() => enforceAccess(needsAdmin, undefined, "a.b", trusted), CallError);
    }
    assert.doesNotThrow(() => enforceAccess(needsAdmin, undefined, "a.b", true));
  });
});

describe("the denial", () => {
  it("a denial names what was missing and nothing that the caller holds", () => {
    const identity = { id: "user-17", scopes: ["held-scope"], resources: { "held:1": ["held-action"] } };
    assert.throws(
      () => enforceAccess({ requiredScopes: ["wanted", "held-scope"] }, identity, "ns.op"),
      (error) => {
        const text = JSON.stringify([error.message, error.details]);
        return text.includes("wanted") && !text.includes("held") && !text.includes("user-17");
      },
    );
  });
});

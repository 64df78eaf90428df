// What the owner of a hub decides about the operations of spokes holds, whatever they offer.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError } from "@alkdev/operations";
import { collectLog } from "../registry/support/warnings.mjs";
import { bareSocket, eventually, hubOf, operation, registryOf, spokeOf } from "./support.mjs";

const ADMIN = { requiredScopes: ["admin"] };
const byName = { hub: { accept: (spoke) => ({ namespace: spoke.name }) } };
const run = operation({ namespace: "tools", name: "run", handler: () => "ran" });
const hidden = operation({ namespace: "tools", name: "hidden", handler: () => "ran" });

const post = (url, name, headers = {}) =>
  fetch(`${url}/api/laptop/${name}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: "{}",
  });
const statusOf = async (url, name) => (await post(url, name)).status;

/** Tokens that `identify` takes, for a moment at a time. */
function revocable(...valid) {
  const known = new Set(valid.map((token) => `Bearer ${token}`));
  const identify = ({ headers }) => {
    const token = headers.get("authorization");
    if (!known.has(token)) throw new CallError("ACCESS_DENIED", "revoked");
    return { identity: { id: token, scopes: ["read"], accessToken: "hush" }, maxAge: 1 };
  };
  return { identify, tokens: undefined, revoke: (token) => known.delete(`Bearer ${token}`) };
}
const bearer = (token) => ({ headers: { authorization: `Bearer ${token}` } });

describe("the owner of a hub", { timeout: 60_000 }, () => {
  const logged = collectLog();

  it("the owner of a hub protects and hides operations of a spoke, whatever it offers next and however often it returns", async () => {
    const { registry, address, url } = await hubOf([], byName);
    const theirs = registryOf(run, hidden);
    const spoke = await spokeOf(address, { name: "laptop" });
    await spoke.serve(theirs);
    assert.deepEqual([await statusOf(url, "run"), await statusOf(url, "hidden")], [200, 200]);
    registry.register({ ...registry.get("laptop.run"), accessControl: ADMIN });
    registry.register({ ...registry.get("laptop.hidden"), visibility: "internal" });
    assert.deepEqual([await statusOf(url, "run"), await statusOf(url, "hidden")], [401, 404]);
    theirs.register({ ...run, description: "changed" });
    await eventually(() => registry.getSpec("laptop.run")?.description === "changed");
    assert.deepEqual([await statusOf(url, "run"), await statusOf(url, "hidden")], [401, 404]);
    await spoke.close({ drain: 0 });
    await eventually(() => registry.get("laptop.run") === undefined);
    const back = await spokeOf(address, { name: "laptop" });
    await back.serve(theirs);
    assert.deepEqual([await statusOf(url, "run"), await statusOf(url, "hidden")], [401, 404]);
  });

  it("the owner of a hub protects an operation of a spoke that first agrees to that and then offers it to everyone again", async () => {
    // The rules of an import may follow what a spoke says about an operation.
    const accessControl = ({ description }) => (description === "guarded" ? ADMIN : { requiredScopes: [] });
    const accept = (spoke) => ({ namespace: spoke.name, accessControl });
    const { registry, address, url } = await hubOf([], { hub: { accept } });
    const theirs = registryOf(run);
    const spoke = await spokeOf(address, { name: "laptop" });
    await spoke.serve(theirs);
    assert.equal(await statusOf(url, "run"), 200);
    registry.register({ ...registry.get("laptop.run"), accessControl: ADMIN });
    for (const description of ["guarded", "open", "guarded", "open again"]) {
      theirs.register({ ...run, description });
      await eventually(() => registry.getSpec("laptop.run")?.description === description);
      assert.equal(await statusOf(url, "run"), 401, description);
    }
    registry.register({ ...registry.get("laptop.run"), accessControl: { requiredScopes: [] } });
    theirs.register({ ...run, description: "guarded" });
    await eventually(() => registry.getSpec("laptop.run")?.description === "guarded");
    assert.equal(await statusOf(url, "run"), 200, "what the owner decided last holds");
  });

  it("the owner of a hub keeps a handler put around an operation of a spoke", async () => {
    const { registry, address } = await hubOf([], byName);
    const theirs = registryOf(run, hidden);
    const spoke = await spokeOf(address, { name: "laptop" });
    await spoke.serve(theirs);
    const guarded = () => "guarded";
    registry.registerHandler("laptop.run", guarded);
    theirs.registerAll([{ ...run, description: "changed" }, operation({ namespace: "tools", name: "late" })]);
    await eventually(() => registry.get("laptop.late") !== undefined);
    assert.equal((await registry.execute("laptop.run", {})).data, "guarded");
    assert.equal((await registry.execute("laptop.hidden", {})).data, "ran");
    await spoke.close({ drain: 0 });
    await eventually(() => registry.get("laptop.late") === undefined);
    assert.equal(registry.getHandler("laptop.run"), guarded);
  });

  it("a spoke returns with its other operations although the owner has put a handler around one of them", async () => {
    const { registry, address } = await hubOf([], byName);
    const theirs = registryOf(run, hidden);
    const spoke = await spokeOf(address, { name: "laptop" });
    await spoke.serve(theirs);
    registry.registerHandler("laptop.run", () => "guarded");
    await spoke.close({ drain: 0 });
    await eventually(() => registry.get("laptop.hidden") === undefined);
    registry.registerHandler("laptop.run", () => "guarded anew");
    const back = await spokeOf(address, { name: "laptop" });
    await back.serve(theirs);
    assert.equal((await registry.execute("laptop.run", {})).data, "guarded anew");
    assert.equal((await registry.execute("laptop.hidden", {})).data, "ran");
    const named = logged.filter(({ properties }) => properties.operationId === "laptop.run");
    assert.deepEqual(
      named.map(({ properties }) => properties.reason),
      ["collision"],
    );
  });

  it("an operation of a spoke that the owner has unregistered stays out, whatever the spoke offers and however often it returns", async () => {
    const { registry, address } = await hubOf([], byName);
    const theirs = registryOf(run, hidden);
    const spoke = await spokeOf(address, { name: "laptop" });
    await spoke.serve(theirs);
    registry.unregister("laptop.run");
    for (const description of ["changed", "changed again"]) {
      theirs.registerAll([
        { ...run, description },
        { ...hidden, description },
      ]);
      await eventually(() => registry.getSpec("laptop.hidden")?.description === description);
      assert.equal(registry.get("laptop.run"), undefined);
    }
    await spoke.close({ drain: 0 });
    await eventually(() => registry.get("laptop.hidden") === undefined);
    const back = await spokeOf(address, { name: "laptop" });
    await back.serve(theirs);
    assert.notEqual(registry.get("laptop.hidden"), undefined);
    assert.equal(registry.get("laptop.run"), undefined);
  });

  it("the hub ends the connection of a spoke whose token was revoked, and no other", async () => {
    const { revoke, ...options } = revocable("good", "bad");
    const { address, spokes } = await hubOf([run], options);
    const good = await bareSocket(`${address}?name=good`, bearer("good"));
    const bad = await bareSocket(`${address}?name=bad`, bearer("bad"));
    assert.equal((await bad.call("tools.run", {})).payload.output.data, "ran");
    revoke("bad");
    const { code, reason } = await bad.closed;
    assert.equal(code, 1008);
    assert.match(reason, /identity/);
    await eventually(() => spokes.list().length === 1);
    assert.equal((await good.call("tools.run", {})).payload.output.data, "ran");
  });

  it("the owner of a hub closes the connection of a spoke", async () => {
    const { registry, address, spokes } = await hubOf([], byName);
    const spoke = await spokeOf(address, { name: "laptop", reconnect: false });
    await spoke.serve(registryOf(run));
    assert.notEqual(registry.get("laptop.run"), undefined);
    const gone = new Promise((resolve) => spoke.on("disconnected", resolve));
    spokes.list()[0].close();
    await gone;
    await eventually(() => spokes.list().length === 0);
    assert.equal(registry.get("laptop.run"), undefined);
    assert.match(spoke.status().problem, /the hub has closed it/);
  });
});

describe("a spoke", { timeout: 60_000 }, () => {
  it("a spoke is sent the declared fields of the caller's identity, and no other", async () => {
    const { identify } = revocable("ada");
    const { registry, address, url, spokes } = await hubOf([], { ...byName, identify, tokens: undefined });
    const seen = [];
    const who = operation({
      namespace: "tools",
      name: "who",
      handler: (_, { identity }) => void seen.push(identity),
    });
    const spoke = await spokeOf(address, { name: "laptop", token: "ada" });
    await spoke.serve(registryOf(who));
    const identity = { id: "Bearer ada", scopes: ["read"], resources: { "file:1": ["read"] } };
    const more = { ...identity, accessToken: "hush" };
    await post(url, "who", bearer("ada").headers);
    await registry.execute("laptop.who", {}, { identity: more });
    await spokes.list()[0].callMap.call("tools.who", {}, { identity: more });
    const { resources: _, ...served } = identity;
    assert.deepEqual(seen, [served, identity, identity]);
  });

  it("a spoke cannot make the hub hold more than some bytes of calls that wait", async () => {
    let go;
    const gate = new Promise((resolve) => {
      go = resolve;
    });
    const wait = operation({ namespace: "demo", name: "wait", handler: () => gate });
    const { address } = await hubOf([wait], { concurrency: 1 });
    const mallory = await bareSocket(`${address}?name=mallory`);
    // 32 MiB hold nine of them, so that three are refused while the others wait.
    const refused = [];
    const calls = Array.from({ length: 12 }, async () => {
      const frame = await mallory.call("demo.wait", "x".repeat(3_500_000));
      if (frame.type === "call.error") refused.push(frame.payload);
      if (refused.length === 3) go("done");
      return frame.type;
    });
    const types = await Promise.all(calls);
    assert.equal(types.filter((type) => type === "call.responded").length, 9);
    for (const { code, details } of refused) {
      assert.deepEqual([code, details.reason, details.delivery], ["EXECUTION_ERROR", "overloaded", "none"]);
    }
    const later = await mallory.call("demo.wait", "x".repeat(3_500_000));
    assert.equal(later.payload.output.data, "done");
  });
});

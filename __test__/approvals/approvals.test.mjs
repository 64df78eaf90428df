import assert from "node:assert/strict";
import { test } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";

const ADA = { id: "ada", scopes: [] };
const BOB = { id: "bob", scopes: ["approvals:decide"] };

/** A registry with an operation that needs an approval, and what it was called with. */
function guarded(options = {}, spec = {}) {
  const calls = [];
  const registry = new OperationRegistry(options);
  registry.register({
    namespace: "files",
    name: "remove",
    version: "1.0.0",
    type: "mutation",
    description: "Removes a file",
    inputSchema: Type.Unknown(),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: [] },
    approval: "always",
    handler: async (input) => {
      calls.push(structuredClone(input));
      return "removed";
    },
    ...spec,
  });
  return { registry, calls };
}

/** The approval that a call was refused for. */
async function requestOf(call) {
  const error = await call.then(
    () => assert.fail("the call was made"),
    (thrown) => thrown,
  );
  assert.equal(error.code, "APPROVAL_REQUIRED", error.message);
  return error.details.approval;
}

const isNotApproved = ({ code, details }) => code === "ACCESS_DENIED" && details.reason === "not-approved";

test("a call that needs an approval does nothing, and runs once when it is repeated with the approval", async () => {
  const { registry, calls } = guarded();
  const input = { path: "/a", depth: 1 };
  const { id, operationId, expires } = await requestOf(
    registry.execute("files.remove", input, { identity: ADA }),
  );
  assert.equal(operationId, "files.remove");
  assert.ok(expires > Date.now());
  const [listed] = await registry.approvals.list({ status: "pending", identityId: "ada" });
  assert.deepEqual(listed.input, input);
  assert.equal(
    (await requestOf(registry.execute("files.remove", input, { identity: ADA, approval: id }))).id,
    id,
  );
  const decided = await registry.approvals.decide(id, { approve: true, by: BOB, reason: "fine" });
  assert.equal(decided.status, "approved");
  assert.deepEqual(decided.by, BOB);
  const { data } = await registry.execute("files.remove", input, { identity: ADA, approval: id });
  assert.equal(data, "removed");
  assert.equal((await registry.approvals.get(id)).status, "used");
  const again = await requestOf(registry.execute("files.remove", input, { identity: ADA, approval: id }));
  assert.notEqual(again.id, id);
  assert.equal(calls.length, 1);
});

test("an approval travels as metadata, whatever the caller may steer with", async () => {
  const { registry, calls } = guarded();
  const { id } = await requestOf(registry.execute("files.remove", {}, { identity: ADA }));
  await registry.approvals.decide(id, { approve: true });
  await registry.execute("files.remove", {}, { identity: ADA, metadata: { "operations/approval": id } });
  assert.equal(calls.length, 1);
});

test("a denied call is refused with who denied it and why", async () => {
  const { registry, calls } = guarded();
  const { id } = await requestOf(registry.execute("files.remove", {}, { identity: ADA }));
  await registry.approvals.decide(id, { approve: false, by: BOB, reason: "not today" });
  const call = registry.execute("files.remove", {}, { identity: ADA, approval: id });
  await assert.rejects(
    call,
    (error) => isNotApproved(error) && /bob denied it: not today/.test(error.message),
  );
  await assert.rejects(registry.approvals.decide(id, { approve: true }), /cannot be decided: it is denied/);
  assert.equal(calls.length, 0);
});

test("an approval is for one input, in whatever order its keys and forms its numbers are", async () => {
  const { registry, calls } = guarded();
  const input = JSON.parse('{"b":1.0,"a":{"y":1e2,"x":"\\u00e9"}}');
  const { id } = await requestOf(registry.execute("files.remove", input, { identity: ADA }));
  await registry.approvals.decide(id, { approve: true });
  const others = [
    '{"b":1,"a":{"y":100,"x":"e\\u0301"}}',
    '{"b":1,"a":{"y":101,"x":"\\u00e9"}}',
    '{"b":"1","a":{"y":100,"x":"\\u00e9"}}',
    '{"b":1,"a":{"y":100,"x":"\\u00e9"},"c":null}',
    '{"b":1,"a":{"y":100,"x":"\\u00e9"},"b":2}',
    '{"b":1,"a":[{"y":100,"x":"\\u00e9"}]}',
    "null",
  ];
  for (const other of others) {
    const asked = await requestOf(
      registry.execute("files.remove", JSON.parse(other), { identity: ADA, approval: id }),
    );
    assert.notEqual(asked.id, id, other);
  }
  assert.equal((await registry.approvals.get(id)).status, "approved");
  const same = JSON.parse('{"a":{"x":"é","y":100},"b":1}');
  await registry.execute("files.remove", same, { identity: ADA, approval: id });
  assert.equal(calls.length, 1);
});

test("an approval is for one identity and one operation; a guessed id is worth nothing", async () => {
  const { registry, calls } = guarded();
  registry.register({ ...registry.get("files.remove"), name: "purge" });
  const { id } = await requestOf(registry.execute("files.remove", {}, { identity: ADA }));
  await registry.approvals.decide(id, { approve: true });
  for (const [operation, context] of [
    ["files.remove", { identity: BOB, approval: id }],
    ["files.remove", { approval: id }],
    ["files.purge", { identity: ADA, approval: id }],
    ["files.remove", { identity: ADA, approval: `${id.slice(0, -1)}x` }],
    ["files.remove", { identity: ADA, approval: "../../etc/passwd" }],
    ["files.remove", { identity: ADA, approval: { toString: () => id } }],
  ]) {
    assert.notEqual((await requestOf(registry.execute(operation, {}, context))).id, id);
  }
  assert.equal(calls.length, 0);
  assert.equal((await registry.approvals.get(id)).status, "approved");
});

test("an input that is changed while it waits is not run", async () => {
  const { registry, calls } = guarded();
  const input = { path: "/a" };
  const { id } = await requestOf(registry.execute("files.remove", input, { identity: ADA }));
  await registry.approvals.decide(id, { approve: true });
  const call = registry.execute("files.remove", input, { identity: ADA, approval: id });
  // After the first comparison, before the handler.
  queueMicrotask(() => queueMicrotask(() => Object.assign(input, { path: "/" })));
  await call.then(
    () => assert.fail("the changed call was made"),
    ({ code }) => assert.match(code, /ACCESS_DENIED|APPROVAL_REQUIRED/),
  );
  const asked = { path: "/a" };
  const approve = async () => {
    asked.path = "/";
    return true;
  };
  await assert.rejects(registry.execute("files.remove", asked, { approve }), isNotApproved);
  assert.equal(calls.length, 0);
});

test("an input is compared again after the call has waited for a permit", async () => {
  let release;
  const first = new Promise((resolve) => {
    release = resolve;
  });
  const seen = [];
  const { registry } = guarded(
    {},
    {
      limits: { concurrency: 1 },
      handler: async (input) => {
        seen.push(input.path);
        if (input.path === "first") await first;
      },
    },
  );
  const approve = () => true;
  const one = registry.execute("files.remove", { path: "first" }, { approve });
  while (seen.length === 0) await new Promise(setImmediate);
  const input = { path: "second" };
  const two = registry.execute("files.remove", input, { approve });
  for (let i = 0; i < 20; i++) await new Promise(setImmediate);
  input.path = "third";
  release();
  await one;
  await assert.rejects(two, isNotApproved);
  assert.deepEqual(seen, ["first"]);
});

test("a value that JSON cannot hold is refused before anyone is asked", async () => {
  const { registry } = guarded();
  const circular = {};
  circular.self = circular;
  const values = [
    1n,
    Number.NaN,
    new Date(),
    new Map(),
    () => 1,
    [undefined],
    circular,
    { [Symbol("s")]: 1 },
  ];
  for (const value of [
    ...values,
    {
      get now() {
        return Date.now();
      },
    },
    new Uint8Array(1),
  ]) {
    await assert.rejects(registry.execute("files.remove", value), { code: "VALIDATION_ERROR" });
  }
  assert.deepEqual(await registry.approvals.list(), []);
});

test("context.approve is asked for direct and nested calls, trusted ones too, and only true approves", async () => {
  const { registry, calls } = guarded();
  registry.register({
    ...registry.get("files.remove"),
    name: "tidy",
    approval: "never",
    handler: (input, context) => context.env.files.remove(input),
  });
  const { buildEnv } = await import("@alkdev/operations");
  const asked = [];
  for (const answer of [true, false, "true", undefined]) {
    const context = {
      identity: ADA,
      trusted: true,
      approve: async ({ operationId, input }) => {
        asked.push([operationId, input]);
        return answer;
      },
    };
    context.env = buildEnv({ registry, context });
    const call = registry.execute("files.tidy", { answer: String(answer) }, context);
    if (answer === true) await call;
    else await assert.rejects(call, isNotApproved);
  }
  assert.equal(calls.length, 1);
  assert.deepEqual(asked[0], ["files.remove", { answer: "true" }]);
  assert.equal(asked.length, 4);
});

test("decide overrides the spec, sees the call, and refuses when it fails", async () => {
  const seen = [];
  const decide = async (call) => {
    seen.push(call);
    if (call.input.verdict === "throw") throw new Error("broken");
    return call.input.verdict;
  };
  const { registry, calls } = guarded({ approvals: { decide } });
  await registry.execute("files.remove", { verdict: "allow" }, { identity: ADA });
  for (const verdict of ["deny", "throw", "maybe", undefined]) {
    await assert.rejects(registry.execute("files.remove", { verdict }), isNotApproved);
  }
  await requestOf(registry.execute("files.remove", { verdict: "ask" }));
  assert.equal(calls.length, 1);
  assert.equal(seen[0].operation.name, "remove");
  assert.equal(seen[0].origin, "direct");
  assert.deepEqual(seen[0].identity, ADA);
});

test("access and input are checked before anyone is asked", async () => {
  const { registry } = guarded(
    {},
    {
      accessControl: { requiredScopes: ["files:write"] },
      inputSchema: Type.Object({ path: Type.String() }),
    },
  );
  await assert.rejects(registry.execute("files.remove", { path: "/" }, { identity: ADA }), {
    code: "ACCESS_DENIED",
  });
  const writer = { id: "ada", scopes: ["files:write"] };
  await assert.rejects(registry.execute("files.remove", {}, { identity: writer }), {
    code: "VALIDATION_ERROR",
  });
  assert.deepEqual(await registry.approvals.list(), []);
});

test("a call waits for an answer no longer than its deadline, and does not run afterwards", async () => {
  const { registry, calls } = guarded();
  let answer;
  const approve = () =>
    new Promise((resolve) => {
      answer = resolve;
    });
  const call = registry.execute("files.remove", {}, { approve, deadline: Date.now() + 1_000 });
  await assert.rejects(call, { code: "TIMEOUT" });
  answer(true);
  await new Promise(setImmediate);
  assert.equal(calls.length, 0);
});

test("a call that waits for a person holds no permit of the operation's limits", async () => {
  const { registry, calls } = guarded({}, { limits: { concurrency: 1, queue: 0 } });
  let answer;
  const waiting = registry.execute(
    "files.remove",
    { nr: 1 },
    {
      approve: () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    },
  );
  await registry.execute("files.remove", { nr: 2 }, { approve: () => true });
  answer(true);
  await waiting;
  assert.equal(calls.length, 2);
});

test("a subscription asks too, when its first event is requested", async () => {
  const { registry } = guarded(
    {},
    {
      type: "subscription",
      handler: async function* () {
        yield 1;
      },
    },
  );
  const { id } = await requestOf(registry.subscribe("files.remove", {}, { identity: ADA }).next());
  await registry.approvals.decide(id, { approve: true });
  const events = [];
  for await (const { data } of registry.subscribe("files.remove", {}, { identity: ADA, approval: id }))
    events.push(data);
  assert.deepEqual(events, [1]);
});

test("what was approved is the operation as it was: rules that were added meanwhile are not passed by", async () => {
  const { registry, calls } = guarded();
  const approve = () => {
    registry.protect("files.*", { requiredScopes: ["root"] });
    return true;
  };
  await assert.rejects(registry.execute("files.remove", {}, { approve }), { code: "EXECUTION_ERROR" });
  assert.equal(calls.length, 0);
});

test("requests, decisions and expiry are events, and every decision is in the audit", async () => {
  const { registry } = guarded({ approvals: { expires: 2_000 } });
  const events = [];
  const audit = [];
  const expired = new Promise((resolve) => {
    registry.approvals.on("expired", resolve);
  });
  registry.approvals.on("requested", ({ id }) => events.push(["requested", id]));
  registry.approvals.on("decided", ({ id, status }) => events.push([status, id]));
  registry.audit(({ rule, isGranted, approvalId, decidedBy }) =>
    audit.push({ rule, isGranted, approvalId, decidedBy }),
  );
  const { id } = await requestOf(registry.execute("files.remove", {}, { identity: ADA }));
  await registry.approvals.decide(id, { approve: true, by: BOB });
  assert.deepEqual(events, [
    ["requested", id],
    ["approved", id],
  ]);
  assert.deepEqual(audit.at(-1), { rule: "approval", isGranted: true, approvalId: id, decidedBy: "bob" });
  await assert.rejects(registry.execute("files.remove", {}, { approve: () => false }), isNotApproved);
  assert.deepEqual([audit.at(-1).rule, audit.at(-1).isGranted], ["approval", false]);
  const keepAlive = setInterval(() => {}, 1000);
  assert.equal((await expired).id, id);
  clearInterval(keepAlive);
  assert.notEqual(
    (await requestOf(registry.execute("files.remove", {}, { identity: ADA, approval: id }))).id,
    id,
  );
  await assert.rejects(registry.approvals.decide(id, { approve: true }), /it is expired/);
});

test("who may decide through a door: the scope, and never about their own request, unless may says so", async () => {
  const { registry } = guarded();
  const { id } = await requestOf(registry.execute("files.remove", {}, { identity: BOB }));
  const own = await registry.approvals.get(id);
  const eve = { id: "eve", scopes: ["approvals:decide"] };
  assert.equal(await registry.approvals.mayDecide(BOB, own), false);
  assert.equal(await registry.approvals.mayDecide(ADA, own), false);
  assert.equal(await registry.approvals.mayDecide(undefined, own), false);
  assert.equal(await registry.approvals.mayDecide(eve, own), true);
  const lax = new OperationRegistry({ approvals: { may: (identity) => identity?.id === "bob" } });
  assert.equal(await lax.approvals.mayDecide(BOB, own), true);
  assert.equal(await lax.approvals.mayDecide(eve, own), false);
});

test("a caller with very many requests is refused more, leaves room for those of others, and can use those that are there", async () => {
  const { registry, calls } = guarded();
  const { id } = await requestOf(registry.execute("files.remove", 0, { identity: ADA }));
  const ask = (identity, i) => requestOf(registry.execute("files.remove", i, { identity }));
  const isRefused = (error) => error.details.reason === "overloaded" && error.details.delivery === "none";
  for (let i = 1; i < 500; i++) await ask(ADA, i);
  await assert.rejects(registry.execute("files.remove", 1000, { identity: ADA }), isRefused);
  assert.equal(
    (await requestOf(registry.execute("files.remove", 0, { identity: ADA }))).id,
    id,
    "asked already",
  );
  for (let i = 0; i < 100; i++) await ask(BOB, i);
  for (let i = 0; i < 100; i++) await ask(undefined, i);
  await registry.approvals.decide(id, { approve: true });
  await registry.execute("files.remove", 0, { identity: ADA, approval: id });
  assert.equal(calls.length, 1);
  await assert.rejects(registry.execute("files.remove", 1001, { identity: ADA }), isRefused);
  await ask(BOB, 101);
  await assert.rejects(registry.execute("files.remove", "x".repeat(300_000)), { code: "VALIDATION_ERROR" });
});

test("malformed options and words are refused by name", () => {
  assert.throws(() => new OperationRegistry({ approvals: { store: "disk" } }), /approvals\.store must be/);
  assert.throws(() => new OperationRegistry({ approvals: { store: {} } }), /approvals\.store must be/);
  assert.throws(
    () => new OperationRegistry({ approvals: { decide: "ask" } }),
    /approvals\.decide must be a function/,
  );
  assert.throws(() => guarded({}, { approval: "sometimes" }), /approval: Expected "never" or "always"/);
});

// Operations that are not there, or not for everyone: what callers are told.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inspect } from "node:util";
import {
  buildCallHandler,
  buildEnv,
  CallError,
  createRegistry,
  OperationRegistry,
  PendingRequestMap,
} from "@alkdev/operations";
import { failureOf as failure } from "../support/waiting.mjs";
import { callError, operation, subscription } from "./support/operations.mjs";

const names = (...list) => list.map((name) => operation({ namespace: "tasks", name }));

/** A map whose calls the registry serves. */
function served(registry) {
  const callMap = new PendingRequestMap();
  callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
  return callMap;
}

describe("the nearest id", () => {
  const registry = createRegistry([
    ...names("create", "list", "remove"),
    subscription({ namespace: "clock", name: "ticks" }),
  ]);

  for (const [wanted, nearest] of [
    ["tasks.crate", "tasks.create"],
    ["tasks.craete", "tasks.create"],
    ["tasks.Create", "tasks.create"],
    ["TASKS/LIST", "tasks.list"],
    ["tasks_remove", "tasks.remove"],
    ["task.list", "tasks.list"],
    ["create", "tasks.create"],
    ["clock.tick", "clock.ticks"],
  ]) {
    it(`an unknown id ${wanted} gets the suggestion ${nearest}`, async () => {
      const error = await failure(registry.execute(wanted, {}));
      assert.equal(error.code, "OPERATION_NOT_FOUND");
      assert.equal(error.message, `Operation not found: ${wanted}. Did you mean ${nearest}?`);
      assert.deepEqual(error.details, { operationId: wanted, nearest });
      assert.equal((await failure(registry.subscribe(wanted, {}).next())).message, error.message);
    });
  }

  for (const wanted of [
    "books.find",
    "tasks.archive",
    "x",
    "",
    "tasks.",
    "a".repeat(5000),
    undefined,
    Symbol("s"),
  ]) {
    it(`an unknown id gets no suggestion if none is near: ${String(wanted).slice(0, 20) || "nothing"}`, async () => {
      const error = await failure(registry.execute(wanted, {}));
      assert.equal(error.code, "OPERATION_NOT_FOUND");
      assert.doesNotMatch(error.message, /Did you mean/);
      assert.deepEqual(error.details, { operationId: wanted });
    });
  }

  it("an id without a namespace fails with how an id is written", async () => {
    const error = await failure(registry.execute("stock", {}));
    assert.equal(error.message, "Operation not found: stock. An id is <namespace>.<name>");
    const other = await failure(registry.execute("books.find", {}));
    assert.equal(other.message, "Operation not found: books.find");
  });

  it("suggestions for callers from outside name only what they may call", async () => {
    const guarded = createRegistry([
      operation({ namespace: "vault", name: "open", accessControl: { requiredScopes: ["keys"] } }),
      operation({ namespace: "vault", name: "oper", visibility: "internal" }),
    ]);
    const callMap = served(guarded);
    const stranger = await failure(callMap.call("vault.opem", {}));
    assert.equal(stranger.message, "Operation not found: vault.opem");
    const insider = await failure(
      callMap.call("vault.opem", {}, { identity: { id: "ada", scopes: ["keys"] } }),
    );
    assert.match(insider.message, /Did you mean vault\.open\?$/);
  });
});

describe("a function that the environment lacks", () => {
  const env = buildEnv({
    registry: createRegistry([
      ...names("create", "list"),
      operation({ namespace: "secret", name: "create" }),
      subscription({ namespace: "tasks", name: "changes" }),
    ]),
    context: {},
    allowedNamespaces: ["tasks"],
  });

  it("a missing function of the environment is an error that names the nearest one", async () => {
    assert.throws(
      () => env.tasks.crate({}),
      callError("OPERATION_NOT_FOUND", "Operation not found: tasks.crate. Did you mean tasks.create?"),
    );
    assert.throws(() => env.tasks.lsit, callError("OPERATION_NOT_FOUND", "Did you mean tasks.list?"));
    assert.equal((await env.tasks.create(1)).data, 1);
  });

  it("a missing function of the environment is undefined if none is near, so that values can be printed and compared", async () => {
    assert.equal(env.tasks.archive, undefined);
    assert.equal(env.tasks.changes, undefined);
    assert.equal("crate" in env.tasks, false);
    assert.equal("create" in env.tasks, true);
    assert.deepEqual(Object.keys(env.tasks), ["create", "list"]);
    assert.equal(env.secret, undefined);
    assert.match(inspect(env), /create/);
    assert.equal(JSON.stringify(env), '{"tasks":{}}');
    assert.equal(await env.tasks, env.tasks);
  });

  it("a misspelt namespace of the environment is an error that names the nearest function", async () => {
    assert.throws(() => env.taks.create({}), {
      name: "CallError",
      code: "OPERATION_NOT_FOUND",
      message: "There is no namespace taks in env. Did you mean tasks?",
      details: { namespace: "taks", nearest: "tasks" },
    });
    assert.throws(() => env.Tasks, callError("OPERATION_NOT_FOUND", "Did you mean tasks?"));
    assert.throws(() => env.task, callError("OPERATION_NOT_FOUND", "Did you mean tasks?"));
    // What is near, but not for this caller, is not told of; and what is asked of every object is not misspelt.
    assert.equal(env.secrets, undefined);
    assert.equal(env.fs, undefined);
    assert.equal("taks" in env, false);
    assert.equal(await env, env);
    for (const name of ["toJSON", "then", "constructor", "inspect", Symbol.iterator, Symbol.toStringTag]) {
      assert.equal(env[name], undefined);
    }
    assert.equal(`${inspect(structuredClone(Object.keys(env)))}`, "[ 'tasks' ]");
    assert.deepEqual({ ...env }, { tasks: env.tasks });
    env.mine = { greet: async () => "hello" };
    assert.equal(await env.mine.greet(), "hello");
    delete env.mine;
  });

  it("a short misspelt name gets a suggestion if letters were swapped, doubled or left out", () => {
    const short = buildEnv({
      registry: createRegistry(
        ["demo", "git", "db"].map((namespace) => operation({ namespace, name: "run" })),
      ),
      context: {},
    });
    for (const [wanted, nearest] of Object.entries({
      dmo: "demo",
      gti: "git",
      gitt: "git",
      ddb: "db",
      bd: "db",
    })) {
      const message = `There is no namespace ${wanted} in env. Did you mean ${nearest}?`;
      assert.throws(() => short[wanted].run({}), callError("OPERATION_NOT_FOUND", message));
    }
    for (const wanted of ["fs", "s3", "gpt", "app", "d"]) assert.equal(short[wanted], undefined);
  });

  it("a missing function of the environment can be assigned", async () => {
    env.tasks.mocked = async () => "mock";
    assert.equal(await env.tasks.mocked(), "mock");
  });
});

describe("internal operations", () => {
  const registry = new OperationRegistry();
  registry.registerAll([
    operation({ namespace: "jobs", name: "sweep", visibility: "internal" }),
    subscription({ namespace: "jobs", name: "log", visibility: "internal" }),
    operation({ namespace: "jobs", name: "open", visibility: "external" }),
  ]);

  it("internal operations are called directly and through the environment", async () => {
    assert.equal((await registry.execute("jobs.sweep", 1)).data, 1);
    assert.equal((await registry.subscribe("jobs.log", [2]).next()).value.data, 2);
    assert.equal((await buildEnv({ registry, context: {} }).jobs.sweep(3)).data, 3);
  });

  it("internal operations do not exist for the call protocol", async () => {
    const callMap = served(registry);
    const sweep = await failure(callMap.call("jobs.sweep", 1));
    assert.ok(sweep instanceof CallError);
    assert.equal(sweep.code, "OPERATION_NOT_FOUND");
    assert.equal(sweep.message, "Operation not found: jobs.sweep");
    const log = await failure(callMap.subscribe("jobs.log", [1]).next());
    assert.equal(log.message, "Operation not found: jobs.log");
    assert.equal((await callMap.call("jobs.open", 4)).data, 4);
  });

  it("internal operations are called directly, without trust, where the environment uses a call map", async () => {
    const guarded = new OperationRegistry();
    guarded.registerAll([
      operation({ namespace: "jobs", name: "sweep", visibility: "internal", handler: () => "swept" }),
      operation({
        namespace: "jobs",
        name: "purge",
        visibility: "internal",
        accessControl: { requiredScopes: ["admin"] },
      }),
    ]);
    const env = buildEnv({ registry: guarded, context: { trusted: true }, callMap: served(guarded) });
    assert.equal((await env.jobs.sweep({})).data, "swept");
    await assert.rejects(env.jobs.purge({}), callError("ACCESS_DENIED"));
  });

  it("the visibility of an internal operation is part of its spec", () => {
    assert.equal(registry.getSpec("jobs.sweep").visibility, "internal");
    assert.equal(registry.getSpec("jobs.open").visibility, "external");
  });
});

// A runner as operations: run, watched, and described over HTTP.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { subscribe } from "@alkdev/operations";
import { createCodeRunner } from "@alkdev/operations/code";
import { programs } from "./support.mjs";

const registry = programs();
const runner = createCodeRunner(registry);
registry.registerAll(runner.operations());
after(() => runner.close());
const ada = { identity: { id: "ada", scopes: [] } };

async function watched(input, context = ada) {
  const all = [];
  for await (const { data } of subscribe(registry, "code.watch", input, context)) all.push(data);
  return all;
}

describe("runner.operations()", () => {
  it("code.run runs a program for its caller, and resumes only what is the caller's own", async () => {
    const code = "return (await demo.context({})).id";
    assert.equal((await registry.execute("code.run", { code }, ada)).data.data, "ada");
    const waits = await registry.execute("code.run", { code: "return await pay.send({ key: 'a' })" }, ada);
    const { id, status } = waits.data;
    assert.equal(status, "waiting");
    const eve = { identity: { id: "eve", scopes: [] } };
    await assert.rejects(registry.execute("code.run", { resume: id }, eve), /There is no run/);
    assert.equal((await registry.execute("code.run", { resume: id }, ada)).data.data, "sent a");
    await assert.rejects(registry.execute("code.run", {}, ada), /either code or resume/);
  });

  it("code.watch reports each call, each line and the end, and goes on counting after a wait", async () => {
    const code = "console.log('hi'); await demo.double({ n: 1 }); return await pay.send({ key: 'b' })";
    const events = await watched({ code });
    const kinds = events.map(({ call, log, run }) => call?.status ?? log?.text ?? run.status);
    assert.deepEqual(kinds, ["hi", "running", "completed", "running", "waiting", "waiting"]);
    assert.deepEqual(
      events.flatMap(({ call }) => (call ? [call.index] : [])),
      [0, 0, 1, 1],
    );
    const { id, approvals } = events.at(-1).run;
    assert.deepEqual(approvals[0].input, { key: "b" });
    const rest = await watched({ resume: id });
    assert.deepEqual(
      rest.flatMap(({ call }) => (call ? [call.index] : [])),
      [2, 2],
    );
    assert.equal(rest.at(-1).run.data, "sent b");
  });

  it("a watcher that leaves ends the run", async () => {
    const own = programs();
    let signal;
    own.register({
      ...own.getSpec("demo.never"),
      name: "held",
      handler: (_, context) => {
        signal = context.signal;
        return new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
    });
    const other = createCodeRunner(own);
    own.registerAll(other.operations());
    for await (const { data } of subscribe(own, "code.watch", { code: "await demo.held({})" }, ada)) {
      assert.equal(data.call.status, "running");
      break;
    }
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    await other.close();
  });

  it("code.signatures has what the caller may call, and programs cannot run programs", async () => {
    const { data } = await registry.execute("code.signatures", {}, ada);
    assert.match(data, /double/);
    assert.doesNotMatch(data, /wipe|secret|watch/);
    const code = "return [Object.keys(operations).filter((id) => id.startsWith('code.')), typeof code]";
    assert.deepEqual((await registry.execute("code.run", { code }, ada)).data.data, [[], "undefined"]);
  });

  it("accessControl says who may run programs", async () => {
    const own = programs();
    const other = createCodeRunner(own);
    own.registerAll(other.operations({ accessControl: { requiredScopes: ["code"] } }));
    await assert.rejects(own.execute("code.run", { code: "return 1" }, ada), { code: "ACCESS_DENIED" });
    await other.close();
  });
});

// What servers ask of us: the user's answer, a model's words.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startHTTPServer } from "./support/http-server.mjs";
import { connected, stdio } from "./support/servers.mjs";

describe("elicitation", () => {
  it("an elicitation reaches the callback, and the server gets its result", async (t) => {
    const asked = [];
    const onElicitation = async (params) => {
      asked.push(params);
      return { action: "accept", content: { name: "Ada" } };
    };
    const { ask } = await connected(t, stdio([], { onElicitation }));
    const { result } = await ask("elicit");
    assert.deepEqual(result, { action: "accept", content: { name: "Ada" } });
    assert.equal(asked[0].message, "What is your name?");
    assert.deepEqual(asked[0].requestedSchema, { type: "object", properties: { name: { type: "string" } } });
  });

  it("an elicitation result has the form's defaults for what the user omitted", async (t) => {
    const form = {
      type: "object",
      properties: { name: { type: "string", default: "Ada" }, age: { type: "integer", default: 36 } },
    };
    const onElicitation = () => ({ action: "accept", content: { age: 37 } });
    const { ask } = await connected(t, stdio([], { onElicitation }));
    const { result } = await ask("elicit", { form });
    assert.deepEqual(result, { action: "accept", content: { age: 37, name: "Ada" } });
  });

  it("elicitation is announced only when there is a callback", async (t) => {
    const without = await connected(t, stdio());
    const [, initialize] = await without.ask("received");
    assert.deepEqual(Object.keys(initialize.params.capabilities), []);
    const callbacks = { onElicitation: () => ({ action: "cancel" }), onSampling: () => ({}) };
    const withThem = await connected(t, stdio([], callbacks));
    const [, other] = await withThem.ask("received");
    assert.deepEqual(Object.keys(other.params.capabilities).sort(), ["elicitation", "sampling"]);
  });

  it("an elicitation without a callback is refused with an error", async (t) => {
    const { ask, call } = await connected(t, stdio());
    const { result, error } = await ask("elicit");
    assert.ok(result?.action === "decline" || error?.code === -32601, JSON.stringify({ result, error }));
    assert.equal((await call("echo", { text: "still friends" })).data[0].text, "still friends");
  });

  it("an elicitation callback that fails, or returns nonsense, is an error for the server only", async (t) => {
    for (const onElicitation of [
      () => {
        throw new Error("the user is asleep");
      },
      async () => Promise.reject(new Error("the user is asleep")),
      () => undefined,
      () => ({ action: "dance" }),
      () => 7n,
    ]) {
      const { ask, call } = await connected(t, stdio([], { onElicitation }));
      const { error } = await ask("elicit");
      assert.equal(typeof error?.code, "number", String(onElicitation));
      assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
    }
  });

  it("elicitation works over HTTP", async (t) => {
    const { url } = await startHTTPServer(t, { answers: "sse" });
    const onElicitation = () => ({ action: "accept", content: { name: "Ada" } });
    const { ask } = await connected(t, { url, onElicitation });
    assert.deepEqual((await ask("elicit")).result, { action: "accept", content: { name: "Ada" } });
  });
});

describe("sampling", () => {
  it("a sampling request reaches the callback, and the server gets its result", async (t) => {
    const asked = [];
    const onSampling = (params) => {
      asked.push(params);
      return { role: "assistant", content: { type: "text", text: "Knock, knock" }, model: "none" };
    };
    const { ask } = await connected(t, stdio([], { onSampling }));
    const { result } = await ask("sample");
    assert.equal(result.content.text, "Knock, knock");
    assert.equal(result.model, "none");
    assert.equal(asked[0].messages[0].content.text, "Tell a joke");
    assert.equal(asked[0].maxTokens, 100);
  });

  it("a sampling request without a callback is refused with an error", async (t) => {
    const { ask } = await connected(t, stdio());
    assert.equal((await ask("sample")).error.code, -32601);
  });
});

describe("other questions", () => {
  it("unknown requests of a server are refused with an error", async (t) => {
    const { ask } = await connected(t, stdio());
    assert.equal((await ask("ask-nonsense")).error.code, -32601);
  });

  it("many requests of a server do not exhaust memory, and calls go on", async (t) => {
    const onElicitation = () => new Promise(() => {});
    const { call } = await connected(t, stdio(["nosy"], { onElicitation }));
    assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
  });

  it("a server that asks without a pause is refused beyond a number of questions, and calls go on", async (t) => {
    let asked = 0;
    const onElicitation = () => {
      asked += 1;
      return { action: "decline" };
    };
    const { call, ask } = await connected(t, stdio([], { onElicitation }));
    const { declined, refused } = await ask("elicit-often", { times: 2_000 });
    assert.equal(declined, asked);
    assert.equal(declined + refused.length, 2_000);
    assert.ok(asked >= 100 && asked < 1_000, `${asked} were put to the user`);
    for (const message of refused) assert.match(message, /too many questions/);
    assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
  });

  it("a callback that is no function is refused", async () => {
    for (const field of ["onElicitation", "onSampling"]) {
      await assert.rejects(connected({ after() {} }, stdio([], { [field]: "ask me" })), {
        code: "VALIDATION_ERROR",
        message: new RegExp(field),
      });
    }
  });
});

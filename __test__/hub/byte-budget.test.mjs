// What a hub holds in memory for its connections counts together with what its other doors hold.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bareSocket, deferred, eventually, hubOf, operation } from "./support.mjs";

const MB = 1024 * 1024;
const refusal = ({ type, payload }) =>
  type === "call.error" ? [payload.details.reason, payload.details.delivery] : undefined;

const as = (token) => ({ headers: { authorization: `Bearer ${token}` } });

describe("calls of a caller that wait", () => {
  it("large calls of a hub are refused beyond a number of bytes, however many connections they come over", async () => {
    const go = deferred();
    const wait = operation({ namespace: "demo", name: "wait", handler: () => go.promise });
    const { address } = await hubOf([wait], { concurrency: 1, maxBufferedBytes: 8 * MB });
    const sockets = [];
    for (let i = 0; i < 3; i++) sockets.push(await bareSocket(`${address}?name=ada${i}`, as("ada")));
    const refused = [];
    const input = "x".repeat(MB);
    const calls = sockets.flatMap((socket) =>
      Array.from({ length: 4 }, async () => {
        const frame = await socket.call("demo.wait", input);
        if (frame.type === "call.error") refused.push(refusal(frame));
        return frame;
      }),
    );
    // Half of the bytes, so that something is left for others.
    await eventually(() => refused.length === 8, "eight calls are refused");
    const bob = await bareSocket(`${address}?name=bob`, as("bob"));
    const other = bob.call("demo.wait", input);
    for (const each of refused) assert.deepEqual(each, ["overloaded", "none"]);
    go.resolve("done");
    const types = (await Promise.all(calls)).map(({ type }) => type);
    assert.equal(types.filter((type) => type === "call.responded").length, 4);
    assert.equal((await other).type, "call.responded");
    assert.equal((await sockets[0].call("demo.wait", input)).type, "call.responded");
  });
});

describe("answers that a connection does not read", () => {
  it("unread answers of a hub are refused beyond a number of bytes, and leave others alone", async () => {
    let ran = 0;
    const large = operation({
      namespace: "demo",
      name: "large",
      handler: () => {
        ran += 1;
        return "x".repeat(3 * MB);
      },
    });
    const { address, url } = await hubOf([large], { maxBufferedBytes: 24 * MB });
    const ada = await bareSocket(`${address}?name=ada`, as("ada"));
    ada.socket.pause();
    const count = 60;
    const calls = Array.from({ length: count }, () => ada.call("demo.large", {}));
    const post = (token) =>
      fetch(`${url}/api/demo/large`, {
        method: "POST",
        headers: { "content-type": "application/json", ...as(token).headers },
        body: "{}",
      });
    await eventually(async () => (await post("ada")).status === 503, "the share of the caller is used up");
    assert.equal((await post("bob")).status, 200);
    ada.socket.resume();
    const frames = await Promise.all(calls);
    const refused = frames.filter(({ type }) => type === "call.error");
    assert.ok(refused.length > 0 && refused.length < count, `${refused.length} are refused`);
    for (const each of refused) assert.equal(refusal(each)[0], "overloaded");
    assert.ok(ran > 0);
  });
});

// Tools that come and go while a client is connected.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startHTTPServer } from "./support/http-server.mjs";
import { until } from "./support/processes.mjs";
import { connected, stdio } from "./support/servers.mjs";

describe("notifications/tools/list_changed", () => {
  it("tools/list_changed refreshes the tools and notifies the listeners", async (t) => {
    const { wrapper, call, registry } = await connected(t, stdio());
    const before = wrapper.tools.length;
    const told = [];
    wrapper.onToolsChanged((tools) => told.push(tools));
    await call("learn", { name: "juggle" });
    await until(() => told.length > 0, "the listener is told");
    assert.equal(wrapper.tools.length, before + 1);
    assert.equal(told[0], wrapper.tools);
    registry.registerAll(wrapper.tools);
    assert.equal((await call("juggle")).data[0].text, "juggle works");
  });

  it("many list changes in a row end with the newest list", async (t) => {
    const { wrapper, call } = await connected(t, stdio());
    const before = wrapper.tools.length;
    await Promise.all(Array.from({ length: 20 }, (_, i) => call("learn", { name: `trick-${i}` })));
    await until(() => wrapper.tools.length === before + 20, "all are there");
  });

  it("a listener that was removed is not notified, and one that throws harms no other", async (t) => {
    const { wrapper, call } = await connected(t, stdio());
    let gone = 0;
    let there = 0;
    const stop = wrapper.onToolsChanged(() => gone++);
    wrapper.onToolsChanged(() => {
      throw new Error("not now");
    });
    wrapper.onToolsChanged(() => there++);
    stop();
    stop();
    await call("learn", { name: "juggle" });
    await until(() => there > 0, "the last listener is told");
    assert.equal(gone, 0);
  });

  it("tools/list_changed arrives over HTTP, on the standing stream", async (t) => {
    const { url } = await startHTTPServer(t, { standingStream: true });
    const { wrapper, call } = await connected(t, { url });
    let told = 0;
    wrapper.onToolsChanged(() => told++);
    await call("learn", { name: "juggle" });
    await until(() => told > 0, "the listener is told");
    assert.ok(wrapper.tools.some(({ name }) => name === "juggle"));
  });

  it("tools/list_changed arrives over HTTP, on the stream of the call", async (t) => {
    const { url } = await startHTTPServer(t, { answers: "sse" });
    const { wrapper, call } = await connected(t, { url });
    await call("learn", { name: "juggle" });
    await until(() => wrapper.tools.some(({ name }) => name === "juggle"), "the tool is there");
  });
});

// Servers over streamable HTTP.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError, closeMCPClient, createMCPClient } from "@alkdev/operations";
import { withTimeEnough } from "../support/time-enough.mjs";
import { startHost } from "./support/hosts.mjs";
import { startHTTPServer } from "./support/http-server.mjs";
import { until } from "./support/processes.mjs";
import { connected, failure } from "./support/servers.mjs";

describe("calls over HTTP", () => {
  for (const options of [
    { answers: "json" },
    { answers: "sse" },
    { answers: "json", sessions: false },
    { answers: "sse", sessions: false },
    { answers: "json", standingStream: true },
    { answers: "json", traits: ["old"] },
    { answers: "json", traits: ["odd-discover"] },
    { answers: "sse", traits: ["odd-discover"] },
  ]) {
    it(`calls over HTTP get responses: ${JSON.stringify(options)}`, async (t) => {
      const { url } = await startHTTPServer(t, options);
      const { call, wrapper } = await connected(t, { url });
      assert.ok(wrapper.tools.length > 10);
      const texts = Array.from({ length: 40 }, (_, i) => `call ${i}`);
      const answers = await Promise.all(texts.map((text) => call("echo", { text })));
      assert.deepEqual(
        answers.map(({ data }) => data[0].text),
        texts,
      );
      assert.deepEqual((await call("sloppy-person")).data, { name: "Ada", age: 36, role: "guest" });
      assert.equal((await call("fail")).meta.isError, true);
    });
  }

  it("calls over HTTP carry the configured headers, which are not shown anywhere", async (t) => {
    const secret = "sk-live-0123456789abcdef";
    const requires = { Authorization: `Bearer ${secret}`, "X-Team": "blue" };
    const server = await startHTTPServer(t, { requires });
    const { call } = await connected(t, { url: server.url, headers: requires });
    await call("echo", { text: "hello" });
    for (const { headers } of server.requests) assert.equal(headers["x-team"], "blue");
    const wrong = { ...requires, "X-Team": "red" };
    const error = await failure(createMCPClient("refused", { url: server.url, headers: wrong }));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /403/);
    assert.ok(!JSON.stringify([error.message, error.details]).includes(secret));
  });

  it("calls over HTTP get progress on the stream of the call", async (t) => {
    const { url } = await startHTTPServer(t, { answers: "sse" });
    const { call } = await connected(t, { url });
    const seen = [];
    await call("wait", { steps: 4 }, { onProgress: ({ progress }) => seen.push(progress) });
    assert.deepEqual(seen, [1, 2, 3, 4]);
  });

  it("calls over HTTP time out and are aborted, and are cancelled at the server", async (t) => {
    const server = await startHTTPServer(t);
    const { call } = await connected(t, { url: server.url });
    const calls = () => server.requests.filter(({ message }) => message?.params?.name === "never").length;
    await withTimeEnough(async (timeout) => {
      const late = await failure(call("never", {}, { metadata: { timeout } }));
      assert.equal(late.code, "TIMEOUT");
      return calls() === 1;
    });
    const controller = new AbortController();
    const pending = failure(call("never", {}, { signal: controller.signal }));
    await until(() => calls() === 2);
    controller.abort();
    assert.equal((await pending).code, "ABORTED");
    await until(
      () => server.methods().filter((method) => method === "notifications/cancelled").length === 2,
      "the server is told twice",
    );
  });
});

describe("a session", () => {
  it("an HTTP session is used, and ended when the client is closed", async (t) => {
    const server = await startHTTPServer(t);
    const { wrapper, call } = await connected(t, { url: server.url });
    assert.equal(server.sessions.size, 1);
    await call("echo", { text: "hello" });
    await closeMCPClient(wrapper);
    assert.equal(server.sessions.size, 0);
  });

  it("an HTTP session that is gone is opened anew, once, and the call gets its response", async (t) => {
    const server = await startHTTPServer(t);
    const { call } = await connected(t, { url: server.url });
    server.forgetSessions();
    assert.equal((await call("echo", { text: "hello" })).data[0].text, "hello");
    assert.equal(server.methods().filter((method) => method === "initialize").length, 2);
    server.forgetSessions();
    const answers = await Promise.all(Array.from({ length: 10 }, (_, i) => call("echo", { text: `${i}` })));
    assert.deepEqual(
      answers.map(({ data }) => data[0].text),
      Array.from({ length: 10 }, (_, i) => `${i}`),
    );
  });

  it("an HTTP session that is gone again and again ends in an error, not in a loop", async (t) => {
    const server = await startHTTPServer(t, {
      before(_, response, message) {
        if (message?.method !== "tools/call") return false;
        response.writeHead(404).end("Session not found");
        return true;
      },
    });
    const { call } = await connected(t, { url: server.url });
    const error = await failure(call("echo", { text: "hello" }));
    assert.ok(error instanceof CallError);
    assert.equal(error.code, "EXECUTION_ERROR");
    const calls = server.methods().filter((method) => method === "tools/call");
    assert.ok(calls.length <= 3, String(calls.length));
  });
});

describe("trouble on the line", { concurrency: true }, () => {
  it("connecting to a port without a server is an error that says so", async (t) => {
    const server = await startHTTPServer(t);
    await server.close();
    const error = await failure(createMCPClient("gone", { url: server.url }));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /gone/);
    assert.match(error.message, /refused|could not be made/i);
  });

  it("a connection that drops in mid-call fails the call", async (t) => {
    const server = await startHTTPServer(t);
    const { call } = await connected(t, { url: server.url });
    const error = await failure(call("die"));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.equal(error.details.delivery, "unknown");
    assert.equal((await call("echo", { text: "back again" })).data[0].text, "back again");
  });

  it("a connection that drops in the middle of an event stream fails the call, and the client stays usable", async (t) => {
    const server = await startHTTPServer(t, { answers: "sse" });
    const { call } = await connected(t, { url: server.url });
    const error = await failure(call("die", {}, { metadata: { timeout: 20_000 } }));
    assert.ok(["EXECUTION_ERROR", "TIMEOUT"].includes(error.code));
    assert.equal(error.details.delivery, "unknown");
    // Another connection that the server has closed may look open for a moment longer; a call on it is lost, and says so.
    const again = () => call("echo", { text: "back again" });
    const answered = await again().catch((error) => {
      assert.equal(error.details.delivery, "unknown");
      return again();
    });
    assert.equal(answered.data[0].text, "back again");
  });

  it("a server that never responds ends at the time limit", async (t) => {
    const { url } = await startHTTPServer(t, { before: () => true });
    const error = await failure(createMCPClient("mute", { url, connectTimeout: 500 }));
    assert.equal(error.code, "TIMEOUT");
    assert.match(error.message, /500 ms/);
  });

  for (const [what, status, type, body] of [
    ["a web page", 200, "text/html", "<h1>Welcome</h1>"],
    ["an error page", 500, "text/html", "<h1>Oops</h1>"],
    ["nothing at all", 200, "application/json", ""],
    ["JSON that is no message", 200, "application/json", '{"hello":"world"}'],
    ["broken JSON", 200, "application/json", '{"jsonrpc":'],
    ["an empty stream", 200, "text/event-stream", ""],
    ["a stream of nonsense", 200, "text/event-stream", "data: nonsense\n\ndata: {}\n\n"],
    ["not found", 404, "text/plain", "no such page"],
  ]) {
    it(`a server that returns ${what} instead of MCP is an error that says so`, async (t) => {
      const { url } = await startHTTPServer(t, {
        before(_, response) {
          response.writeHead(status, { "Content-Type": type }).end(body);
          return true;
        },
      });
      const error = await failure(createMCPClient("other", { url, connectTimeout: 5_000 }));
      assert.ok(error instanceof CallError);
      assert.ok(["EXECUTION_ERROR", "TIMEOUT"].includes(error.code), error.code);
      assert.match(error.message, /other/);
      if (status !== 200) assert.match(error.message, new RegExp(String(status)));
    });
  }

  it("redirects do not carry headers to another origin", async (t) => {
    const other = await startHTTPServer(t);
    const { url } = await startHTTPServer(t, {
      before(_, response) {
        response.writeHead(307, { Location: other.url }).end();
        return true;
      },
    });
    const headers = { Authorization: "Bearer secret-token", "X-Api-Key": "secret-key" };
    await createMCPClient("moved", { url, headers, connectTimeout: 5_000 }).then(
      (wrapper) => closeMCPClient(wrapper),
      () => {},
    );
    for (const { headers: seen } of other.requests) {
      assert.ok(!JSON.stringify(seen).includes("secret"), JSON.stringify(seen));
    }
  });
});

describe("a host that talks HTTP", () => {
  for (const standingStream of [false, true]) {
    it(`a process with an HTTP client ends by itself after closing (${standingStream ? "with" : "without"} a standing stream)`, async (t) => {
      const { url } = await startHTTPServer(t, { standingStream });
      const host = startHost(
        t,
        { url },
        `const wrapper = await createMCPClient("a", config);
         await wrapper.tools.find(({ name }) => name === "echo").handler({ text: "x" }, {});
         await closeMCPClient(wrapper);`,
      );
      assert.deepEqual(await host.ended, { code: 0, signal: null, stderr: "" });
    });
  }
});

// From a configuration to a client with tools, or to an error that says why there is none.

import assert from "node:assert/strict";
import { delimiter, dirname } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { CallError, closeMCPClient, createMCPClient } from "@alkdev/operations";
import * as fromMcp from "@alkdev/operations/from-mcp";
import { collectLog } from "../registry/support/warnings.mjs";
import { notOn } from "../support/skips.mjs";
import { startsFile, untilDead } from "./support/processes.mjs";
import { connected, failure, stdio } from "./support/servers.mjs";

describe("a configuration with two ways to a server", () => {
  const log = collectLog();

  it("a configuration with a URL and a command uses the URL, and says so", async () => {
    const config = { ...stdio(), url: "http://127.0.0.1:9/mcp", reconnect: false, connectTimeout: 2_000 };
    await failure(createMCPClient("both", config));
    const told = log.filter(({ text }) => text.includes("url is used, and command is ignored"));
    assert.equal(told.length, 1);
    assert.match(told[0].text, /MCP server 'both'/);
  });
});

describe("a configuration", () => {
  it("a configuration without a server says what is missing", async () => {
    const error = await failure(createMCPClient("nowhere", {}));
    assert.ok(error instanceof CallError);
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /must have either 'url' or 'command'/);
    assert.match(error.message, /nowhere/);
  });

  for (const [field, config] of [
    ["timeout", { command: "x", timeout: 0 }],
    ["timeout", { command: "x", timeout: Number.NaN }],
    ["connectTimeout", { command: "x", connectTimeout: -1 }],
    ["maxResultBytes", { command: "x", maxResultBytes: 3 }],
    ["args", { command: "x", args: "one" }],
    ["env", { command: "x", env: { A: 1 } }],
    ["command", { command: "" }],
    ["url", { url: "nowhere" }],
    ["url", { url: "file:///etc/hosts" }],
    ["headers", { url: "http://127.0.0.1:1/", headers: { a: 1 } }],
  ]) {
    it(`a configuration with a wrong ${field} (${JSON.stringify(config)}) names it`, async () => {
      const error = await failure(createMCPClient("wrong", config));
      assert.ok(error instanceof CallError, String(error));
      assert.equal(error.code, "VALIDATION_ERROR", error.message);
      assert.match(error.message, new RegExp(field));
      assert.match(error.message, /wrong/);
    });
  }

  it("a configuration that is no object, or a name that is no string, is refused", async () => {
    for (const config of [undefined, null, 7, "node server.js"]) {
      assert.equal((await failure(createMCPClient("wrong", config))).code, "VALIDATION_ERROR");
    }
    for (const name of [undefined, "", 7]) {
      assert.equal((await failure(createMCPClient(name, stdio()))).code, "VALIDATION_ERROR");
    }
  });
});

describe("a stdio server", { concurrency: true }, () => {
  it("createMCPClient gives a wrapper with its name, a client and the tools of a stdio server", async (t) => {
    const { wrapper, call } = await connected(t, stdio());
    assert.equal(wrapper.name, "test");
    assert.ok(wrapper.client);
    assert.ok(wrapper.tools.length > 10);
    assert.equal((await call("echo", { text: "hello" })).data[0].text, "hello");
  });

  it("the command of a stdio server is found in PATH", async (t) => {
    const { command, ...config } = stdio();
    const env = { PATH: `${dirname(command)}${delimiter}${process.env.PATH}` };
    const { call } = await connected(t, { ...config, command: "node", env });
    assert.equal((await call("echo", { text: "hello" })).data[0].text, "hello");
  });

  it("a stdio server that only speaks an old revision, or ignores what it does not know, is connected", async (t) => {
    for (const traits of [
      ["old"],
      ["ignores-discover"],
      ["odd-discover"],
      ["old", "ignores-discover"],
      ["crlf"],
    ]) {
      const { call } = await connected(t, stdio(traits));
      assert.equal((await call("echo", { text: "hello" })).data[0].text, "hello");
    }
  });

  it("a stdio server whose program does not exist is an error that names it", async () => {
    const error = await failure(createMCPClient("missing", { command: "no-such-program-at-all" }));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /no-such-program-at-all/);
    assert.match(error.message, /missing/);
  });

  it("a stdio server in a folder that does not exist is an error that names the folder", async () => {
    const error = await failure(createMCPClient("missing", stdio([], { cwd: "/no/such/folder" })));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /its folder '\/no\/such\/folder' does not exist/);
  });

  it("a stdio server in a folder that is a file is an error that names the file", async () => {
    const cwd = fileURLToPath(import.meta.url);
    const error = await failure(createMCPClient("missing", stdio([], { cwd })));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.ok(error.message.includes(`its folder '${cwd}' is not a folder`), error.message);
  });

  it("a stdio server that crashes at start is an error with its exit code and last output", async (t) => {
    const starts = startsFile(t);
    const config = stdio(["crash"], { env: { STARTS_FILE: starts.path } });
    const error = await failure(createMCPClient("broken", config));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /cannot open the database: no such file/);
    assert.match(error.message, /exit(ed)? .*\b3\b/);
    assert.equal(error.details.exitCode, 3);
    assert.match(error.details.stderr, /cannot open the database/);
    await untilDead(starts.all());
  });

  it("a stdio server that is killed at start is an error with the signal", {
    skip: notOn("win32"),
  }, async () => {
    const error = await failure(createMCPClient("broken", stdio(["crash-by-signal"])));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /signal 9|SIGKILL/);
  });

  it("a stdio server that closes its output without ending is an error, and leaves no process", async (t) => {
    const starts = startsFile(t);
    const env = { STARTS_FILE: starts.path };
    const error = await failure(createMCPClient("mute", stdio(["closes-stdout", "stubborn"], { env })));
    assert.equal(error.code, "EXECUTION_ERROR");
    await untilDead(starts.all());
  });

  for (const trait of ["silent", "silent-list", "deaf"]) {
    it(`a stdio server that is ${trait} fails with TIMEOUT, and leaves no process`, async (t) => {
      const starts = startsFile(t);
      const env = { STARTS_FILE: starts.path };
      const config = stdio([trait, "family"], { connectTimeout: 1_000, env });
      const error = await failure(createMCPClient("silent", config));
      assert.equal(error.code, "TIMEOUT");
      assert.match(error.message, /1000 ms/);
      assert.match(error.message, /connectTimeout/);
      await untilDead(starts.all());
    });
  }

  it("a stdio server that refuses to start a session is an error with its own message", async () => {
    const error = await failure(createMCPClient("closed", stdio(["refuses"])));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /we are closed on Mondays/);
    assert.equal(error.details.rpcCode, -32000);
  });

  it("a stdio server that responds to the handshake with nonsense is an error", async () => {
    const error = await failure(createMCPClient("odd", stdio(["odd-handshake"])));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /odd/);
  });
});

describe("garbage on stdout", () => {
  const log = collectLog();

  it("garbage on stdout is skipped, and logged as a warning", async (t) => {
    const { call } = await connected(t, stdio(["garbage"]), "noisy");
    assert.equal((await call("echo", { text: "hello" })).data[0].text, "hello");
    const warnings = log.filter(({ level, text }) => level === "warning" && text.includes("noisy"));
    assert.ok(
      warnings.some(({ text }) => text.includes("npm warn deprecated")),
      JSON.stringify(log),
    );
    assert.deepEqual(warnings[0].category, ["operations", "mcp"]);
  });

  it("endless garbage on stdout does not flood the log", async (t) => {
    const { call } = await connected(t, stdio(["garbage"]), "noisy");
    for (let i = 0; i < 60; i++) await call("echo", { text: "again" });
    const warnings = log.filter(({ level }) => level === "warning");
    assert.ok(warnings.length > 5 && warnings.length < 40, String(warnings.length));
  });
});

describe("closing", () => {
  it("closing a client twice, and concurrently, is harmless", async (t) => {
    const { wrapper } = await connected(t, stdio());
    await Promise.all([closeMCPClient(wrapper), closeMCPClient(wrapper)]);
    await closeMCPClient(wrapper);
  });

  it("calls after closing a client fail, and say why", async (t) => {
    const { wrapper, call } = await connected(t, stdio());
    await closeMCPClient(wrapper);
    const error = await failure(call("echo", { text: "too late" }));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /closed/);
    assert.equal(error.details.delivery, "none");
  });

  it("closing a client ends running calls", async (t) => {
    const { wrapper, call, ask } = await connected(t, stdio());
    const pending = failure(call("never"));
    await ask("received");
    await closeMCPClient(wrapper);
    const error = await pending;
    assert.ok(["ABORTED", "EXECUTION_ERROR"].includes(error.code), error.code);
    assert.equal(error.details.delivery, "unknown");
  });
});

it("the sub-path from-mcp exports the same functions", () => {
  assert.equal(fromMcp.createMCPClient, createMCPClient);
  assert.equal(fromMcp.closeMCPClient, closeMCPClient);
  assert.equal(typeof fromMcp.MCPClientLoader, "function");
});

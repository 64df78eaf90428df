// What a child process is given, and what it says on its standard error.

import assert from "node:assert/strict";
import { realpathSync } from "node:fs";
import { describe, it } from "node:test";
import { createMCPClient } from "@alkdev/operations";
import { collectLog } from "../registry/support/warnings.mjs";
import { notOn } from "../support/skips.mjs";
import { temporaryFolder, until } from "./support/processes.mjs";
import { connected, failure, stdio } from "./support/servers.mjs";

describe("the environment of a child", { skip: notOn("win32") }, () => {
  // The last is ours: what has it ends with the server.
  const SAFE = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "ALKDEV_OPERATIONS_SERVER"];

  it("the environment of a child is a safe part of ours, and `env`", async (t) => {
    process.env.OPERATIONS_TEST_SECRET = "hush";
    t.after(() => delete process.env.OPERATIONS_TEST_SECRET);
    const { ask } = await connected(t, stdio([], { env: { TOKEN: "abc", EMPTY: "" } }));
    const { env } = await ask("about-me");
    assert.equal(env.TOKEN, "abc");
    assert.equal(env.EMPTY, "");
    assert.equal(env.PATH, process.env.PATH);
    assert.equal("OPERATIONS_TEST_SECRET" in env, false);
    for (const name of Object.keys(env)) assert.ok([...SAFE, "TOKEN", "EMPTY"].includes(name), name);
  });

  it("the environment of a child is all of ours with inheritEnv, and `env` goes first", async (t) => {
    process.env.OPERATIONS_TEST_SECRET = "hush";
    process.env.OPERATIONS_TEST_OTHER = "ours";
    t.after(() => {
      delete process.env.OPERATIONS_TEST_SECRET;
      delete process.env.OPERATIONS_TEST_OTHER;
    });
    const config = stdio([], { inheritEnv: true, env: { OPERATIONS_TEST_OTHER: "theirs" } });
    const { ask } = await connected(t, config);
    const { env } = await ask("about-me");
    assert.equal(env.OPERATIONS_TEST_SECRET, "hush");
    assert.equal(env.OPERATIONS_TEST_OTHER, "theirs");
  });

  it("the environment of a child may override what is inherited", async (t) => {
    const { ask } = await connected(t, stdio([], { env: { HOME: "/nowhere" } }));
    assert.equal((await ask("about-me")).env.HOME, "/nowhere");
  });
});

it("a child runs in `cwd`, else in our folder", async (t) => {
  const cwd = realpathSync(temporaryFolder(t));
  const there = await connected(t, stdio([], { cwd }));
  assert.equal((await there.ask("about-me")).cwd, cwd);
  const here = await connected(t, stdio());
  assert.equal((await here.ask("about-me")).cwd, process.cwd());
});

describe("standard error", () => {
  const log = collectLog();

  it("standard error of a child is logged", async (t) => {
    const { call } = await connected(t, stdio([], { reconnect: false }), "loud");
    await failure(call("die", { words: "I am leaving" }));
    await until(
      () => log.some(({ text, category }) => text.includes("I am leaving") && category[1] === "mcp"),
      "the line is logged",
    );
  });

  it("the end of a child's standard error is quoted in errors", async (t) => {
    const { call } = await connected(t, stdio(["talks-on-stderr"], { reconnect: false }), "loud");
    const error = await failure(call("die", { words: "goodbye" }));
    assert.match(error.message, /the last word\ngoodbye/);
    assert.ok(error.message.length < 8_192, String(error.message.length));
    assert.ok(error.details.stderr.length <= 65_536, String(error.details.stderr.length));
    assert.ok(error.details.stderr.length > 60_000, String(error.details.stderr.length));
    assert.match(error.details.stderr, /goodbye\n?$/);
  });

  it("endless standard error does not stop the server", async (t) => {
    const { call } = await connected(t, stdio(["talks-on-stderr"]));
    assert.equal((await call("echo", { text: "still here" })).data[0].text, "still here");
  });

  it("standard error in logs and errors shows no values of `env` and `headers`", async (t) => {
    const secret = "sk-live-0123456789abcdef";
    const env = { TOKEN: secret };
    const { call } = await connected(t, stdio(["tells-token"], { env, reconnect: false }), "leaky");
    const error = await failure(call("die", { words: `once more: ${secret}` }));
    await until(() => log.some(({ text }) => text.includes("once more")));
    assert.ok(!JSON.stringify([error.message, error.details]).includes(secret));
    assert.ok(!JSON.stringify(log).includes(secret));
    const early = await failure(createMCPClient("leaky", stdio(["tells-token", "crash"], { env })));
    assert.ok(!JSON.stringify([early.message, early.details]).includes(secret));
  });
});

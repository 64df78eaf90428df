import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { configure, reset } from "@logtape/logtape";
import { hooks } from "./support/internals.mjs";
import { runModule } from "./support/run-node.mjs";

async function collect(write, count = 1) {
  const lines = [];
  let enough;
  const done = new Promise((resolve) => {
    enough = resolve;
  });
  await configure({
    sinks: {
      memory: (record) => {
        lines.push(record);
        if (lines.length === count) enough();
      },
    },
    loggers: [
      { category: ["operations"], sinks: ["memory"], lowestLevel: "debug" },
      { category: ["logtape", "meta"], sinks: [] },
    ],
  });
  // Waiting log lines keep no process alive, so the test does.
  const alive = setInterval(() => {}, 1000);
  write();
  await done;
  clearInterval(alive);
  return lines;
}

describe("logging", () => {
  afterEach(() => reset());

  it("native log entries arrive under the package's category, with their properties", {
    timeout: 10_000,
  }, async () => {
    const [line] = await collect(() => hooks.logFromThread("server is slow"));
    assert.deepEqual(line.category, ["operations", "native"]);
    assert.equal(line.level, "warning");
    assert.equal(line.message.join(""), "server is slow");
    assert.deepEqual(line.properties, { thread: "other" });
  });

  it("braces in a native log entry are text, not placeholders", { timeout: 10_000 }, async () => {
    const [line] = await collect(() => hooks.logFromThread('got {thread} and {"a": {}} from it'));
    assert.equal(line.message.join(""), 'got {thread} and {"a": {}} from it');
  });

  it("native log entries of many threads all arrive", { timeout: 10_000 }, async () => {
    const lines = await collect(() => {
      for (let i = 0; i < 50; i++) hooks.logFromThread(`line ${i}`);
    }, 50);
    assert.equal(new Set(lines.map((line) => line.message.join(""))).size, 50);
  });

  it("logging is silent until the application configures a sink, and keeps no process alive", async () => {
    const { code, stdout, stderr } = await runModule(
      `import { hooks } from "./internals.mjs";
       for (let i = 0; i < 10_000; i++) hooks.logFromThread("nobody listens");`,
      { cwd: new URL("./support/", import.meta.url) },
    );
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: "", stderr: "" });
  });

  it("a log sink that throws does not end the process", async () => {
    const { code, stderr } = await runModule(
      `import { configure } from "@logtape/logtape";
       import { hooks } from "./internals.mjs";
       await configure({
         sinks: { broken: () => { throw new Error("broken sink") } },
         loggers: [{ category: ["operations"], sinks: ["broken"] }, { category: ["logtape", "meta"], sinks: [] }],
       });
       hooks.logFromThread("a line");
       await new Promise((resolve) => setTimeout(resolve, 200));`,
      { cwd: new URL("./support/", import.meta.url) },
    );
    assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  });
});

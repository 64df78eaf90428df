// Loading and leaving: worker threads, short scripts, a missing binary.

import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { runModule, runNode } from "./support/run-node.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const worker = new URL("./support/worker.mjs", import.meta.url);

const message = (thread) =>
  new Promise((resolve, reject) => {
    thread.once("message", resolve);
    thread.once("error", reject);
  });

describe("a plain script", () => {
  it("a script that imports the package ends by itself, with exit code 0 and nothing printed", async () => {
    const outcome = await runModule('import "@alkdev/operations";');
    assert.deepEqual(outcome, { code: 0, signal: null, stdout: "", stderr: "" });
  });

  it("a CommonJS script that requires the package ends by itself", async () => {
    const outcome = await runNode(["--eval", 'require("@alkdev/operations")'], { cwd: root });
    assert.deepEqual(outcome, { code: 0, signal: null, stdout: "", stderr: "" });
  });

  it("a script that exits while native work is going on does not hang", async () => {
    const outcome = await runModule(
      `import { hooks } from "./internals.mjs";
       hooks.work(300); hooks.work(600).then(() => console.log("too late"));
       process.exit(0);`,
      { cwd: new URL("./support/", import.meta.url) },
    );
    assert.deepEqual(outcome, { code: 0, signal: null, stdout: "", stderr: "" });
  });
});

describe("worker threads", () => {
  it("four worker threads at once load the package, each with classes and errors of its own", async () => {
    const threads = Array.from({ length: 4 }, (_, id) => new Worker(worker, { workerData: { id } }));
    const answers = await Promise.all(threads.map(message));
    for (const [id, answer] of answers.entries()) {
      assert.deepEqual(answer, { id, data: { id }, code: "UNKNOWN_ERROR", sameClass: true });
    }
    await Promise.all(threads.map((thread) => thread.terminate()));
  });

  it("worker threads can be terminated in mid-work, again and again", async () => {
    const outcome = await runModule(
      `import { Worker } from "node:worker_threads";
       for (let round = 0; round < 5; round++) {
         const threads = Array.from({ length: 4 }, (_, id) => new Worker(${JSON.stringify(fileURLToPath(worker))}, { execArgv: [], workerData: { id, work: 50 * id } }));
         await Promise.all(threads.map((thread) => new Promise((resolve) => thread.once("message", resolve))));
         await Promise.all(threads.map((thread) => thread.terminate()));
       }
       console.log("done");`,
      { timeout: 60_000 },
    );
    assert.deepEqual(outcome, { code: 0, signal: null, stdout: "done\n", stderr: "" });
  });
});

describe("one instance", () => {
  it("the package has one instance, whichever way it is loaded", async () => {
    const esm = await import("@alkdev/operations");
    const cjs = createRequire(import.meta.url)("@alkdev/operations");
    assert.deepEqual(Object.keys(esm).sort(), Object.keys(cjs).sort());
    for (const name of Object.keys(cjs)) assert.equal(esm[name], cjs[name], name);
    for (const path of ["from-openapi", "from-mcp", "from-typemap"]) {
      const sub = await import(`@alkdev/operations/${path}`);
      assert.ok(Object.keys(sub).length > 0, path);
      for (const name of Object.keys(sub)) assert.equal(sub[name], cjs[name], `${path}: ${name}`);
    }
  });
});

describe("loading", () => {
  it("loading the package takes few files, because each takes time", async () => {
    const script = `require("@alkdev/operations"); console.log(Object.keys(require.cache).length)`;
    const { stdout } = await runNode(["--eval", script], { cwd: root });
    assert.ok(Number(stdout) > 1 && Number(stdout) < 30, stdout);
  });

  const check = `
    FormatRegistry.Set("even", (text) => text.length % 2 === 0);
    const schema = Type.String({ format: "even" });
    console.log(collectErrors(schema, "ab").length, collectErrors(schema, "abc").length);`;
  const ways = {
    "after it": `import { collectErrors } from "@alkdev/operations";
      import { FormatRegistry, Type } from "@sinclair/typebox"; ${check}`,
    "at the same time": `const [{ collectErrors }, { FormatRegistry, Type }] = await Promise.all([
      import("@alkdev/operations"), import("@sinclair/typebox")]); ${check}`,
    "long after it": `import { collectErrors } from "@alkdev/operations";
      const { FormatRegistry, Type } = await import("@sinclair/typebox"); ${check}`,
  };
  for (const [when, script] of Object.entries(ways)) {
    it(`loading the package knows the formats of TypeBox's ES modules, imported ${when}`, async () => {
      const { stdout } = await runNode(["--input-type=module", "--eval", script], { cwd: root });
      assert.equal(stdout.trim(), "0 1");
    });
  }
});

describe("a missing binary", () => {
  /** The package without any addon. */
  function withoutAddon(test) {
    const directory = mkdtempSync(join(tmpdir(), "operations-"));
    try {
      cpSync(join(root, "dist"), join(directory, "dist"), { recursive: true });
      cpSync(join(root, "package.json"), join(directory, "package.json"));
      for (const name of ["@logtape/logtape", "@sinclair/typebox"]) {
        cpSync(join(root, "node_modules", name), join(directory, "node_modules", name), { recursive: true });
      }
      return test(directory);
    } finally {
      process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
    }
  }

  it("a missing binary is an error that names the platform, the package and how to build", () =>
    withoutAddon(async (directory) => {
      const { code, stderr } = await runNode(["--eval", 'require("./dist/index.js")'], { cwd: directory });
      assert.equal(code, 1);
      assert.match(stderr, new RegExp(`${process.platform}-${process.arch}`));
      assert.match(stderr, new RegExp(`@alkdev/operations-${process.platform}-${process.arch}`));
      assert.match(stderr, /pack:local/);
      assert.match(stderr, /optional/);
    }));

  it("a missing binary is distinguished from a platform without builds", () =>
    withoutAddon(async (directory) => {
      const script = `Object.defineProperty(process, "platform", { value: "plan9" }); require("./dist/index.js")`;
      const { stderr } = await runNode(["--eval", script], { cwd: directory });
      assert.match(stderr, /plan9/);
      assert.match(stderr, /no prebuilt package/);
      assert.match(stderr, /darwin-arm64/);
    }));

  it("a binary that did not load is an error that says why", () =>
    withoutAddon(async (directory) => {
      const script = `
        const fs = require("node:fs");
        for (const libc of ["gnu", "musl"]) fs.writeFileSync(\`operations.linux-\${process.arch}-\${libc}.node\`, "not a library");
        Object.defineProperty(process, "platform", { value: "linux" });
        require("./dist/index.js")`;
      const { stderr } = await runNode(["--eval", script], { cwd: directory });
      assert.match(stderr, /cannot load its native binary .*\n {2}.*\.node: /);
      assert.doesNotMatch(stderr, /no native binary for this platform/);
    }));
});

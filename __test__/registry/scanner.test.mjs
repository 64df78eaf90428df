// The scanner: which files it imports, what it keeps, and that nothing stops it.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";
import { after, before, describe, it } from "node:test";
import { CallError, nodeScannerFS, OperationRegistry, scanOperations } from "@alkdev/operations";
import { runModule } from "../support/run-node.mjs";
import { collectLog } from "./support/warnings.mjs";

const RUNS_TYPESCRIPT = Boolean(process.features.typescript);

/** The source of a spec, as an expression. */
const spec = (name, changes = "") => `{
  name: ${JSON.stringify(name)}, namespace: "scanned", version: "1", type: "query", description: "",
  inputSchema: {}, outputSchema: {}, accessControl: { requiredScopes: [] }, handler: (input) => input, ${changes}
}`;

let root;
before(() => {
  root = mkdtempSync(join(tmpdir(), "operations-scanner-"));
});
after(() => rmSync(root, { recursive: true, force: true }));

let folders = 0;

/** Writes files, by path and source, into a new folder. */
function folderOf(files) {
  const folder = join(root, `folder ${++folders} #%`);
  mkdirSync(folder);
  for (const [path, source] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), source);
  }
  return folder;
}

const names = (operations) => operations.map(({ name }) => name).sort();

describe("scanOperations on this machine's files", () => {
  const log = collectLog();

  it("scanOperations imports .mjs, .cjs and .js, in nested folders", async () => {
    const folder = folderOf({
      "a.mjs": `export default ${spec("a")}`,
      "b.cjs": `module.exports = ${spec("b")}`,
      "c.js": `module.exports = ${spec("c")}`,
      "deep/er/d.mjs": `export default ${spec("d")}`,
      "module/package.json": '{"type":"module"}',
      "module/e.js": `export default ${spec("e")}`,
    });
    const found = await scanOperations(folder, nodeScannerFS);
    assert.deepEqual(names(found), ["a", "b", "c", "d", "e"]);
    assert.deepEqual(log, []);
  });

  it("scanOperations takes schemas that are functions, as ArkType's are", async () => {
    const schema =
      'Object.assign(() => 1, { "~standard": { version: 1, vendor: "x", validate: (value) => ({ value }) } })';
    const folder = folderOf({
      "good.mjs": `export default ${spec("good", `inputSchema: ${schema}`)}`,
      "bad.mjs": `export default ${spec("bad", "inputSchema: () => 1")}`,
    });
    assert.deepEqual(names(await scanOperations(folder, nodeScannerFS)), ["good"]);
    assert.match(log.map(({ text }) => text).join("\n"), /bad\.mjs.*inputSchema/s);
  });

  it("scanOperations uses this machine's files when no file system is given", async () => {
    const folder = folderOf({ "a.mjs": `export default ${spec("a")}` });
    assert.deepEqual(names(await scanOperations(folder)), ["a"]);
  });

  it("scanOperations resolves a relative path from the current folder", async () => {
    const folder = folderOf({ "a.mjs": `export default ${spec("a")}` });
    assert.deepEqual(names(await scanOperations(relative(process.cwd(), folder))), ["a"]);
    const elsewhere = { ...nodeScannerFS, cwd: () => dirname(folder) };
    assert.deepEqual(names(await scanOperations(basename(folder), elsewhere)), ["a"]);
  });

  it("scanOperations keeps the exported object itself, handler included", async () => {
    const folder = folderOf({ "a.mjs": `export default globalThis.scannedOperation = ${spec("a")}` });
    const [found] = await scanOperations(folder);
    assert.equal(found, globalThis.scannedOperation);
    assert.equal(typeof found.handler, "function");
    delete globalThis.scannedOperation;
  });

  it("scanOperations keeps a spec without a handler", async () => {
    const folder = folderOf({ "a.mjs": `const { handler, ...rest } = ${spec("a")}; export default rest` });
    const [found] = await scanOperations(folder);
    assert.equal("handler" in found, false);
  });

  it("operations that scanOperations finds can be registered and called", async () => {
    const typebox = JSON.stringify(import.meta.resolve("@sinclair/typebox"));
    const folder = folderOf({
      "a.mjs": `import { Type } from ${typebox};
        export default ${spec("a", "inputSchema: Type.Number(), outputSchema: Type.Number(),")}`,
    });
    const registry = new OperationRegistry();
    registry.registerAll(await scanOperations(folder));
    assert.equal((await registry.execute("scanned.a", 7)).data, 7);
    await assert.rejects(registry.execute("scanned.a", "7"));
  });

  it("scanOperations takes the default export of a module that was compiled to CommonJS", async () => {
    const folder = folderOf({
      "a.cjs": `Object.defineProperty(exports, "__esModule", { value: true }); exports.default = ${spec("a")}`,
    });
    assert.deepEqual(names(await scanOperations(folder)), ["a"]);
  });

  it("scanOperations ignores declarations and everything that is no module", async () => {
    const boom = "throw new Error('imported')";
    const folder = folderOf({
      "a.d.ts": boom,
      "a.d.mts": boom,
      "a.d.cts": boom,
      "a.json": "{",
      "README.md": boom,
      "a.js.map": boom,
      "a.jsx": boom,
      mjs: boom,
      "a.mjs.bak": boom,
    });
    assert.deepEqual(await scanOperations(folder), []);
    assert.deepEqual(log, []);
  });

  it("scanOperations imports .ts if Node can, and says what to do if it cannot", async () => {
    const source = (name) => `const named: string = "x"; void named; export default ${spec(name)} as object`;
    const folder = folderOf({
      "package.json": '{"type":"module"}',
      "a.ts": source("a"),
      "b.mts": source("b"),
      "c.mjs": `export default ${spec("c")}`,
    });
    const found = await scanOperations(folder);
    if (RUNS_TYPESCRIPT) {
      assert.deepEqual(names(found), ["a", "b", "c"]);
      return;
    }
    assert.deepEqual(names(found), ["c"]);
    assert.equal(log.length, 2);
    for (const { level, text } of log) {
      assert.equal(level, "warning");
      assert.match(text, /[ab]\.m?ts/);
      assert.ok(text.includes(process.versions.node));
      assert.match(text, /22\.18/);
      assert.match(text, /loader/);
      assert.match(text, /compile/);
    }
  });

  it("scanOperations imports .ts with a loader", async () => {
    const folder = folderOf({ "a.ts": `export default ${spec("a")}` });
    const load = `export const load = (url, context, next) =>
      next(url, url.endsWith(".ts") ? { ...context, format: "module" } : context);`;
    const { stdout, stderr } = await runModule(
      `import { register } from "node:module";
       register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(load)}`)});
       const { scanOperations } = await import("@alkdev/operations");
       console.log((await scanOperations(${JSON.stringify(folder)})).map(({ name }) => name).join());`,
    );
    assert.equal(stdout.trim(), "a", stderr);
  });
});

describe("files that are broken are skipped with a warning, and the scan goes on", () => {
  const log = collectLog();

  async function skips(path, source, ...fragments) {
    const files = { "0.mjs": `export default ${spec("before")}`, "z.mjs": `export default ${spec("after")}` };
    const folder = folderOf({ ...files, [path]: source });
    const found = await scanOperations(folder);
    assert.deepEqual(names(found), ["after", "before"]);
    assert.equal(log.length, 1);
    const [{ category, level, text, properties }] = log;
    assert.deepEqual(category, ["operations", "scanner"]);
    assert.equal(level, "warning");
    assert.equal(properties.path, join(folder, path));
    for (const fragment of [path, ...fragments]) assert.ok(text.includes(fragment), text);
  }

  const cases = {
    "a syntax error": ["m.mjs", "export default {", "could not be imported"],
    "a module that throws": ["m.mjs", "throw new Error('on purpose')", "on purpose"],
    "a module that throws no error": ["m.mjs", "throw 'just text'", "just text"],
    "a module that throws what cannot be shown": [
      "m.mjs",
      "throw Object.create(null)",
      "could not be imported",
    ],
    "an import that is missing": ["m.mjs", "import 'no-such-package-here'", "no-such-package-here"],
    "no default export": ["m.mjs", "export const a = 1", "no default export"],
    "an empty file": ["m.mjs", "", "no default export"],
    "a default export that is null": ["m.mjs", "export default null", "not an operation"],
    "a default export that is a function": ["m.mjs", "export default () => {}", "not an operation"],
    "a list of operations": ["m.mjs", `export default [${spec("a")}]`, "not an operation"],
    "an unknown type": ["m.mjs", `export default ${spec("a", 'type: "QUERY",')}`, "/type"],
    "an empty name": ["m.mjs", `export default ${spec("")}`, "/name"],
    "no scopes": [
      "m.mjs",
      `export default ${spec("a", "accessControl: {},")}`,
      "/accessControl/requiredScopes",
    ],
    "a CommonJS module without exports": ["m.cjs", "", "not an operation"],
    "a getter that throws": [
      "m.mjs",
      `export default { ...${spec("a")}, get name() { throw new Error("getter") } }`,
      "getter",
    ],
    "a proxy that throws": [
      "m.mjs",
      `const refuse = () => { throw new Error("trap") };
       export default new Proxy({}, { get: refuse, has: refuse, ownKeys: refuse })`,
      "trap",
    ],
    "a broken file in a nested folder": [
      join("deep", "er", "m.mjs"),
      "export default {",
      "could not be imported",
    ],
  };
  for (const [what, [path, source, ...fragments]] of Object.entries(cases)) {
    it(`scanOperations skips ${what} with a warning, and goes on`, () => skips(path, source, ...fragments));
  }
});

describe("an injected ScannerFS", () => {
  const log = collectLog();

  it("an injected ScannerFS is used for every folder, and decides which files there are", async () => {
    const folder = folderOf({
      "a.mjs": `export default ${spec("a")}`,
      "hidden.mjs": `export default ${spec("hidden")}`,
      "sub/b.mjs": `export default ${spec("b")}`,
    });
    const asked = [];
    const fs = {
      cwd: () => "/nowhere",
      async *readdir(path) {
        asked.push(relative(folder, path));
        if (path === folder) {
          yield { name: "a.mjs", isFile: true, isDirectory: false };
          yield { name: "sub", isFile: false, isDirectory: true };
          yield { name: "socket.mjs", isFile: false, isDirectory: false };
          return;
        }
        yield { name: "b.mjs", isFile: true, isDirectory: false };
      },
    };
    assert.deepEqual(names(await scanOperations(folder, fs)), ["a", "b"]);
    assert.deepEqual(asked, ["", "sub"]);
    assert.deepEqual(log, []);
  });

  it("scanOperations skips a folder that cannot be read, with a warning", async () => {
    const folder = folderOf({ "z.mjs": `export default ${spec("z")}` });
    const fs = {
      cwd: () => folder,
      async *readdir(path) {
        if (path !== folder) throw new Error("no permission");
        yield { name: "closed", isFile: false, isDirectory: true };
        yield { name: "z.mjs", isFile: true, isDirectory: false };
      },
    };
    assert.deepEqual(names(await scanOperations(".", fs)), ["z"]);
    assert.equal(log.length, 1);
    assert.ok(log[0].text.includes("closed") && log[0].text.includes("no permission"));
  });

  it("scanOperations fails if the folder itself is missing", async () => {
    const path = join(root, "not there");
    await assert.rejects(scanOperations(path), (error) => {
      assert.ok(error instanceof CallError);
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.equal(error.message, `scanOperations: cannot read the folder ${path}: there is no such folder`);
      return true;
    });
  });

  it("scanOperations ends on a loop of folders", async () => {
    let read = 0;
    const loop = {
      cwd: () => "/",
      async *readdir() {
        read++;
        yield { name: "again", isFile: false, isDirectory: true };
      },
    };
    assert.deepEqual(await scanOperations("/", loop), []);
    assert.ok(read < 1000);
    assert.equal(log.length, 1);
    assert.ok(log[0].text.includes("deep"));
  });

  it("scanOperations ends on loops of folders that multiply", { timeout: 20_000 }, async () => {
    const loops = {
      cwd: () => "/",
      async *readdir() {
        for (const name of ["one", "two", "three"]) yield { name, isFile: false, isDirectory: true };
      },
    };
    assert.deepEqual(await scanOperations("/", loops), []);
    assert.ok(log.some(({ text }) => text.includes("more than 20000 folders")));
  });

  it("scanOperations does not follow links to a parent folder", async () => {
    const folder = folderOf({
      "a.mjs": `export default ${spec("a")}`,
      "sub/b.mjs": `export default ${spec("b")}`,
    });
    symlinkSync(folder, join(folder, "sub", "up"), "junction");
    assert.deepEqual(names(await scanOperations(folder)), ["a", "b"]);
  });
});

describe("nodeScannerFS", () => {
  it("nodeScannerFS lists files and folders, and knows the current folder", async () => {
    const folder = folderOf({ "a.mjs": "", "sub/b.mjs": "" });
    const entries = [];
    for await (const entry of nodeScannerFS.readdir(folder)) entries.push(entry);
    assert.deepEqual(
      entries.sort((a, b) => a.name.localeCompare(b.name)),
      [
        { name: "a.mjs", isFile: true, isDirectory: false },
        { name: "sub", isFile: false, isDirectory: true },
      ],
    );
    assert.equal(nodeScannerFS.cwd(), process.cwd());
  });
});

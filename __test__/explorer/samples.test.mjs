// The samples of the explorer are run: against a server, with inputs that a shell, TypeScript or Python could misread.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { promisify } from "node:util";
import { createRegistry, defineOperation } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";
import { curl, python, typescript } from "../../dist/explorer/samples.mjs";
import { problemsIn } from "../support/compile.mjs";
import { runModule } from "../support/run-node.mjs";
import { withoutProgram } from "../support/skips.mjs";

const run = promisify(execFile);
const TOKEN = "a-token-for-samples";
const ODD = {
  text: "it's $HOME `id` \\ \" \n ! %s {x} é 日本 😀",
  truth: [true, false, null],
  "a b": { constructor: 1.5, long: "x".repeat(90) },
  nothing: {},
};
const base = { namespace: "demo", version: "1.0.0", accessControl: { requiredScopes: ["demo"] } };
const registry = createRegistry([
  defineOperation({
    ...base,
    name: "echo",
    type: "mutation",
    description: "Gives its input back",
    inputSchema: Type.Unknown(),
    outputSchema: Type.Unknown(),
    handler: (input) => ({ input }),
  }),
  defineOperation({
    ...base,
    name: "upload",
    type: "mutation",
    description: "Says how large a file is",
    inputSchema: Type.Object({
      file: Type.Uint8Array(),
      title: Type.String(),
      tags: Type.Array(Type.String()),
    }),
    outputSchema: Type.Unknown(),
    handler: ({ file, title, tags }) => ({ size: file.length, title, tags }),
  }),
  defineOperation({
    ...base,
    name: "count",
    type: "subscription",
    description: "Counts",
    inputSchema: Type.Object({ to: Type.Integer() }),
    outputSchema: Type.Unknown(),
    async *handler({ to }) {
      for (let at = 1; at <= to; at++) yield { at };
    },
  }),
]);
const served = await serve(registry, {
  doors: { http: { path: "/v1/api" } },
  tokens: { [TOKEN]: { id: "ada", scopes: ["demo"] } },
});
const folder = mkdtempSync(join(tmpdir(), "operations-samples-"));
const file = join(folder, "photo.png");
writeFileSync(file, "12345");
after(async () => {
  rmSync(folder, { recursive: true });
  await served.close({ drain: 0 });
});

const sampleOf = (name, input, more = {}) => ({
  namespace: "demo",
  name,
  url: `${served.url}/v1/api/demo/${name}`,
  door: `${served.url}/v1/api/`,
  body: input === undefined ? undefined : JSON.stringify(input),
  isStream: false,
  hasToken: true,
  ...more,
});
const upload = { file: { $bytes: "MTIzNDU=" }, title: "@/etc/passwd; $(id)", tags: ["a", "b"] };
const env = { ...process.env, TOKEN };
const withFile = (text) => text.replaceAll("path/to/file", file);

describe("a sample in curl", { skip: withoutProgram("curl") }, () => {
  const output = async (sample) => (await run("sh", ["-c", `${withFile(curl(sample))} -s`], { env })).stdout;

  it("a sample in curl sends what is in the form, whatever a shell makes of it", async () => {
    assert.deepEqual(JSON.parse(await output(sampleOf("echo", ODD))), { input: ODD });
  });

  it("a sample in curl sends files as a form", async () => {
    assert.deepEqual(JSON.parse(await output(sampleOf("upload", upload))), {
      size: 5,
      title: upload.title,
      tags: ["a", "b"],
    });
    // What a form cannot hold stays JSON.
    for (const more of [{ note: null }, { list: [] }, { "a=b": 1 }, { list: [[1]] }])
      assert.match(curl(sampleOf("upload", { ...upload, ...more })), /Content-Type: application\/json/);
  });

  it("a sample in curl reads a stream", async () => {
    assert.match(await output(sampleOf("count", { to: 2 }, { isStream: true })), /"at":1[\s\S]*"at":2/);
  });
});

describe("a sample in Python", { skip: withoutProgram("python3") }, () => {
  const output = async (sample) =>
    (await run("python3", ["-c", withFile(python(sample))], { env: { ...env, PYTHONIOENCODING: "utf-8" } }))
      .stdout;

  it("a sample in Python sends what is in the form", async () => {
    assert.deepEqual(JSON.parse(await output(sampleOf("echo", ODD))), { input: ODD });
    assert.deepEqual(JSON.parse(await output(sampleOf("echo", undefined))), {});
  });

  it("a sample in Python sends files", async () => {
    assert.equal(JSON.parse(await output(sampleOf("upload", upload))).size, 5);
  });

  it("a sample in Python reads a stream", async () => {
    assert.match(await output(sampleOf("count", { to: 2 }, { isStream: true })), /'at': 1[\s\S]*'at': 2/);
  });
});

describe("a sample in TypeScript", () => {
  const without = (text) =>
    withFile(text)
      .replace(/^import type .*$/m, "")
      .replace("<typeof registry>", "");
  const output = async (sample) => (await runModule(without(typescript(sample)), { env })).stdout;

  it("a sample in TypeScript sends what is in the form", async () => {
    const text = typescript(sampleOf("echo", ODD)).replace(
      "console.log(data)",
      "console.log(JSON.stringify(data))",
    );
    const { stdout } = await runModule(without(text), { env });
    assert.deepEqual(JSON.parse(stdout), { input: ODD });
  });

  it("a sample in TypeScript sends files, and reads a stream", async () => {
    assert.match(await output(sampleOf("upload", upload)), /size: 5/);
    assert.match(await output(sampleOf("count", { to: 2 }, { isStream: true })), /at: 1[\s\S]*at: 2/);
  });

  it("a sample in TypeScript compiles with the types of the registry, in a strict project", () => {
    const server = `
      import { createRegistry, defineOperation } from "@alkdev/operations";
      import { Type } from "@sinclair/typebox";
      const base = { version: "1.0.0", description: "", accessControl: { requiredScopes: [] } };
      export const registry = createRegistry([
        defineOperation({
          ...base, namespace: "demo", name: "upload", type: "mutation",
          inputSchema: Type.Object({ file: Type.Uint8Array(), title: Type.String(), tags: Type.Array(Type.String()) }),
          outputSchema: Type.Unknown(), handler: () => undefined,
        }),
        defineOperation({
          ...base, namespace: "a-b", name: "c", type: "query",
          inputSchema: Type.Object({ limit: Type.Integer() }), outputSchema: Type.Unknown(), handler: () => undefined,
        }),
        defineOperation({
          ...base, namespace: "demo", name: "count", type: "subscription",
          inputSchema: Type.Object({ to: Type.Integer() }), outputSchema: Type.Unknown(),
          handler: async function* () { yield 1; },
        }),
      ]);`;
    const samples = [
      sampleOf("upload", upload),
      { ...sampleOf("c", { limit: 1 }), namespace: "a-b" },
      sampleOf("count", { to: 1 }, { isStream: true, hasToken: false }),
    ];
    const modules = new Map(samples.map((sample, index) => [`sample${index}`, typescript(sample)]));
    assert.deepEqual(problemsIn(modules.set("server", server)), []);
    const wrong = new Map([
      ["server", server],
      ["wrong", typescript(sampleOf("upload", { file: 1 }))],
    ]);
    assert.notDeepEqual(problemsIn(wrong), []);
  });
});

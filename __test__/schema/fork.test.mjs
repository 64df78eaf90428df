// Users of `@alkdev/typebox`, a fork of TypeBox that is not on npm: a copy of TypeBox stands in for it.

import assert from "node:assert/strict";
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { runNode } from "../support/run-node.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const typebox = join(root, "node_modules", "@sinclair", "typebox");
let project;

before(() => {
  project = realpathSync(mkdtempSync(join(tmpdir(), "operations-fork-")));
  const scope = join(project, "node_modules", "@alkdev");
  mkdirSync(scope, { recursive: true });
  symlinkSync(root, join(scope, "operations"), "junction");
  for (const fork of ["typebox", "other-fork"]) {
    cpSync(typebox, join(scope, fork), { recursive: true });
    const file = join(scope, fork, "package.json");
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file)), name: `@alkdev/${fork}` }));
  }
});

after(() => rmSync(project, { recursive: true, force: true }));

/** Runs a program of a user of a fork. */
async function run(name, imports, body) {
  const program = join(project, name);
  writeFileSync(
    program,
    `${imports}
     FormatRegistry.Set("shout", (text) => text === text.toUpperCase());
     TypeRegistry.Set("Even", (_, value) => value % 2 === 0);
     const schema = Type.Object({
       text: Type.String({ format: "shout" }),
       number: Type.Unsafe({ [Kind]: "Even" }),
     });
     ${body}`,
  );
  return runNode([program], { cwd: root });
}

const CHECKS = `
  const say = (value) => console.log(JSON.stringify(collectErrors(schema, value).map(({ path }) => path)));
  say({ text: "HELLO", number: 2 });
  say({ text: "hello", number: 3 });`;
const NAMES = "FormatRegistry, Kind, Type, TypeRegistry";

describe("formats and kinds that are registered with a fork", () => {
  it("formats and kinds of a fork are checked if ES modules import it", async () => {
    const imports = `import { ${NAMES} } from "@alkdev/typebox";
      import { collectErrors } from "@alkdev/operations";`;
    const { stdout, stderr } = await run("program.mjs", imports, CHECKS);
    assert.equal(stdout, '[]\n["/text","/number"]\n');
    assert.equal(stderr, "");
  });

  it("formats and kinds of a fork are checked if CommonJS requires it", async () => {
    const imports = `const { ${NAMES} } = require("@alkdev/typebox");
      const { collectErrors } = require("@alkdev/operations");`;
    const { stdout, stderr } = await run("program.cjs", imports, CHECKS);
    assert.equal(stdout, '[]\n["/text","/number"]\n');
    assert.equal(stderr, "");
  });

  it("formats and kinds of a fork under another name are checked after useTypeBox, which one warning for each recommends", async () => {
    const imports = `import * as fork from "@alkdev/other-fork";
      import { collectErrors, useTypeBox } from "@alkdev/operations";
      const { ${NAMES} } = fork;`;
    const { stdout, stderr } = await run(
      "other.mjs",
      imports,
      `${CHECKS} useTypeBox(fork); ${CHECKS.replace("const say", "const again").replaceAll("say(", "again(")}`,
    );
    assert.deepEqual(stdout.split("\n").slice(2), ["[]", '["/text","/number"]', ""]);
    assert.equal(stderr.match(/OperationsWarning/g)?.length, 2);
    assert.match(stderr, /the format "shout", .* call useTypeBox\(fork\)/);
    assert.match(stderr, /the kind "Even", .* call useTypeBox\(fork\)/);
  });

  it("formats that are known, or come from a JSON Schema, are no reason for a warning", async () => {
    const imports = `import { ${NAMES} } from "@alkdev/other-fork";
      import { collectErrors, FromSchema } from "@alkdev/operations";`;
    const { stderr } = await run(
      "quiet.mjs",
      imports,
      `collectErrors(Type.String({ format: "password" }), "x");
       collectErrors(Type.String({ format: "date" }), "2026-01-01");
       collectErrors(FromSchema({ type: "string", format: "colour" }), "red");`,
    );
    assert.equal(stderr, "");
  });
});

describe("types, where no optional peer is installed", () => {
  const CHECKED = (typebox) => `
    import { CallEventMap, FromSchema, OperationSpecSchema, ResponseEnvelopeSchema } from "@alkdev/operations";
    import { instrument } from "@alkdev/operations/otel";
    import { type Static, Type } from "${typebox}";
    import { Value } from "${typebox}/value";
    void instrument;
    void Value.Check(OperationSpecSchema, {});
    void Value.Check(CallEventMap["call.requested"], {});
    void Type.Object({ a: FromSchema({}) });
    const envelope: unknown = {};
    if (Value.Check(ResponseEnvelopeSchema, envelope)) void envelope.meta.source;
    const meta = { source: "local", operationId: "a.b", timestamp: 1 } as const;
    const typed: Static<typeof ResponseEnvelopeSchema> = { data: 1, meta };
    // @ts-expect-error no such property
    void typed.nope;`;

  for (const [name, typeboxes] of [
    ["types of the package fit TypeBox without the optional peers", ["@sinclair/typebox"]],
    [
      "types of the package fit the fork and TypeBox without the optional peers",
      ["@alkdev/typebox", "@sinclair/typebox"],
    ],
  ]) {
    it(name, async (t) => {
      const folder = realpathSync(mkdtempSync(join(tmpdir(), "operations-types-")));
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      const modules = join(folder, "node_modules");
      const operations = join(modules, "@alkdev", "operations");
      mkdirSync(join(modules, "@sinclair"), { recursive: true });
      cpSync(join(root, "package.json"), join(operations, "package.json"));
      cpSync(join(root, "index.d.ts"), join(operations, "index.d.ts"));
      cpSync(join(root, "dist"), join(operations, "dist"), {
        recursive: true,
        filter: (path) => !/\.(js|mjs|cjs|map)$/.test(path),
      });
      for (const each of typeboxes) cpSync(typebox, join(modules, each), { recursive: true });
      symlinkSync(join(root, "node_modules", "@types"), join(modules, "@types"), "junction");
      const files = typeboxes.map((each, i) => {
        writeFileSync(join(folder, `${i}.mts`), CHECKED(each));
        return `${i}.mts`;
      });
      const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
      const options = "--noEmit --strict --target es2022 --module nodenext --lib ES2023 --types node".split(
        " ",
      );
      const { stdout, code } = await runNode([tsc, ...options, ...files], { cwd: folder, timeout: 120_000 });
      assert.equal(stdout, "");
      assert.equal(code, 0);
    });
  }
});

// TypeScript declarations for a prompt: they compile, fit, and say what the schemas say.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FromOpenAPI, OperationRegistry, OperationType } from "@alkdev/operations";
import { catalogue } from "@alkdev/operations/tools";
import { Type } from "@sinclair/typebox";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import ts from "typescript";
import { realDocuments } from "../openapi/support/documents.mjs";

const operation = (id, rest = {}) => ({
  namespace: id.split(".")[0],
  name: id.split(".")[1],
  version: "1.0.0",
  type: OperationType.QUERY,
  description: "Does something",
  inputSchema: Type.Object({}),
  outputSchema: Type.Unknown(),
  accessControl: { requiredScopes: [] },
  handler: () => "done",
  ...rest,
});

function catalogueOf(...operations) {
  const registry = new OperationRegistry();
  registry.registerAll(operations);
  return catalogue(registry);
}

/** What the compiler has to say about a text. */
function problemsOf(text) {
  const file = ts.createSourceFile("signatures.ts", text, ts.ScriptTarget.ES2022, true);
  const host = ts.createCompilerHost({});
  const { getSourceFile } = host;
  host.getSourceFile = (name, ...rest) => (name === file.fileName ? file : getSourceFile(name, ...rest));
  const program = ts.createProgram(
    [file.fileName],
    { strict: true, noEmit: true, lib: ["lib.es2022.d.ts"], types: [] },
    host,
  );
  return ts
    .getPreEmitDiagnostics(program, file)
    .map(
      ({ messageText, start }) =>
        `${ts.flattenDiagnosticMessageText(messageText, "\n")} at ${text.slice(start, start + 80)}`,
    );
}

describe("signatures", () => {
  it("signatures say what schemas say", () => {
    const text = catalogueOf(
      operation("a.all", {
        title: "Everything",
        inputSchema: Type.Object({
          id: Type.Integer(),
          name: Type.Optional(Type.String()),
          kind: Type.Union([Type.Literal("x"), Type.Literal(2), Type.Null()]),
          list: Type.Array(Type.Union([Type.String(), Type.Boolean()])),
          pair: Type.Tuple([Type.String(), Type.Number()]),
          map: Type.Record(Type.String(), Type.Number()),
          "odd-name": Type.Object({ deep: Type.Boolean() }),
          both: Type.Intersect([Type.Object({ a: Type.String() }), Type.Object({ b: Type.String() })]),
        }),
        outputSchema: Type.Array(Type.Object({ ok: Type.Boolean() })),
      }),
    ).signatures({ budget: 2_000 });
    assert.match(text, /\/\*\* Everything \*\/\n {2}"a\.all"\(input: \{/);
    for (const part of [
      "id: number;",
      "name?: string;",
      'kind: "x" | 2 | null;',
      "list: (string | boolean)[];",
      "pair: [string, number];",
      "map: Record<string, number>;",
      '"odd-name": { deep: boolean; };',
      "both: { a: string; } & { b: string; };",
      "): Promise<{ ok: boolean; }[]>;",
    ]) {
      assert.ok(text.includes(part), `${part} in ${text}`);
    }
    assert.deepEqual(problemsOf(text), []);
  });

  it("signatures omit an input that does not exist, and mark an optional one", () => {
    const text = catalogueOf(
      operation("a.nothing"),
      operation("a.maybe", { inputSchema: Type.Object({ page: Type.Optional(Type.Number()) }) }),
      operation("a.anything", { inputSchema: Type.Unknown() }),
      operation("a.ticks", {
        type: OperationType.SUBSCRIPTION,
        outputSchema: Type.Number(),
        handler: async function* () {},
      }),
    ).signatures({ budget: 1_000 });
    assert.match(text, /"a\.nothing"\(\): Promise<unknown>/);
    assert.match(text, /"a\.maybe"\(input\?: \{ page\?: number; \}\)/);
    assert.match(text, /"a\.anything"\(input\?: unknown\)/);
    assert.match(text, /"a\.ticks"\(\): AsyncIterable<number>/);
    assert.deepEqual(problemsOf(text), []);
  });

  it("signatures declare a shared type once, also one that contains itself", () => {
    const schema = { $ref: "#/components/schemas/Node" };
    const answer = { 200: { description: "", content: { "application/json": { schema } } } };
    const document = {
      openapi: "3.1.0",
      info: { title: "", version: "1" },
      paths: {
        "/one": { get: { operationId: "one", responses: answer } },
        "/two": { get: { operationId: "two", responses: answer } },
      },
      components: {
        schemas: {
          Node: {
            type: "object",
            required: ["value"],
            properties: {
              value: { type: "string", nullable: true },
              description: { type: "string" },
              children: { type: "array", items: schema },
            },
          },
        },
      },
    };
    const text = catalogueOf(
      ...FromOpenAPI(document, { namespace: "t", baseUrl: "http://localhost" }),
    ).signatures({
      budget: 1_000,
    });
    assert.equal(text.match(/type Node =/g).length, 1, text);
    assert.equal(text.match(/Promise<Node>/g).length, 2, text);
    assert.match(text, /children\?: Node\[\]/);
    assert.deepEqual(problemsOf(text), []);
  });

  it("signatures begin with the best matches, and say how many are missing", () => {
    const many = Array.from({ length: 200 }, (_, i) =>
      operation(`many.thing${i}`, { description: `Thing number ${i}` }),
    );
    const { signatures } = catalogueOf(...many, operation("z.special", { description: "Bakes a cake" }));
    const text = signatures({ budget: 300, query: "bake a cake or a thing" });
    assert.ok(text.indexOf("z.special") < text.indexOf("many.thing"), text);
    const shown = text.match(/Promise</g).length;
    assert.match(text, new RegExp(`// ${201 - shown} more operations are not shown`));
    assert.doesNotMatch(signatures({ budget: 300, query: "cake" }), /many\.thing/);
    assert.doesNotMatch(signatures({ budget: 100_000 }), /not shown/);
  });

  it("signatures cannot be injected into through a comment or a name", () => {
    const text = catalogueOf(
      operation("a.x", {
        description: "*/ evil(); /*",
        inputSchema: Type.Object({
          '"]; evil(); //': Type.String({ description: "*/ evil()" }),
          __proto__: Type.String(),
        }),
      }),
    );
    for (const each of [text.signatures({ budget: 500 }), text.describe("a.x").signature]) {
      assert.deepEqual(problemsOf(each), []);
      const file = ts.createSourceFile("x.ts", each, ts.ScriptTarget.ES2022, true);
      assert.ok(file.statements.every(({ kind }) => kind === ts.SyntaxKind.InterfaceDeclaration));
    }
  });

  it("signatures refuse an invalid budget", () => {
    const { signatures } = catalogueOf();
    for (const budget of [undefined, 0, 1.5, "100", Number.NaN]) {
      assert.throws(() => signatures({ budget }), { code: "VALIDATION_ERROR", message: /budget/ });
    }
  });
});

describe("signatures of real documents", { timeout: 300_000 }, () => {
  for (const name of [
    "@octokit/openapi api.github.com.json",
    "kubernetes-client",
    "@figma/rest-api-spec",
    "@gitbook/api openapi.json",
  ]) {
    it(`signatures of ${name} compile, and fit the budget in OpenAI's tokens`, (t) => {
      const document = realDocuments.find((each) => each.name === name);
      const registry = new OperationRegistry();
      registry.registerAll(FromOpenAPI(document.text(), { namespace: "d", baseUrl: "http://localhost" }));
      const { signatures } = catalogue(registry);
      for (const budget of [200, 1_000, 4_000, 20_000]) {
        for (const query of [undefined, "create or update something", "list"]) {
          const text = signatures({ budget, ...(query && { query }) });
          const tokens = countTokens(text);
          t.diagnostic(
            `${budget} tokens, ${query ?? "everything"}: ${tokens} used, ${text.match(/>;\n/g)?.length ?? 0} operations`,
          );
          assert.ok(tokens <= budget, `${tokens} tokens`);
          assert.match(text, />;\n/);
          if (budget >= 4_000) assert.deepEqual(problemsOf(text), []);
        }
      }
    });
  }
});

// What an editor shows of each exported name: a text, an example that compiles, and types without `any`.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import ts from "typescript";
import { options, problemsIn, root, shownTypes } from "./support/compile.mjs";

const entries = Object.entries(JSON.parse(readFileSync(`${root}package.json`, "utf8")).exports).filter(
  ([, conditions]) => typeof conditions !== "string",
);
/** Every exported name once, with what it stands for and where it is imported from. */
function exportedNames() {
  const files = entries.map(([, conditions]) => `${root}${conditions.types.import.slice(2)}`);
  const program = ts.createProgram(files, options);
  const checker = program.getTypeChecker();
  const found = new Map();
  files.forEach((file, index) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file));
    for (const symbol of checker.getExportsOfModule(module)) {
      const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      if (found.has(symbol.name)) continue;
      found.set(symbol.name, {
        from: entries[index][0].replace(".", "@alkdev/operations"),
        isValue: (target.flags & ts.SymbolFlags.Value) !== 0,
        text: ts.displayPartsToString(target.getDocumentationComment(checker)),
        examples: target
          .getJsDocTags(checker)
          .filter(({ name }) => name === "example")
          .map(({ text }) => ts.displayPartsToString(text).replace(/^```ts\n|\n```$/g, "")),
        deprecated: target
          .getJsDocTags(checker)
          .find(({ name }) => name === "deprecated")
          ?.text?.map(({ text }) => text)
          .join(""),
        declarations: target.declarations,
      });
    }
  });
  return found;
}

const names = exportedNames();

/** What examples take for granted. */
const SCENE = `
declare const identity: import("@alkdev/operations").Identity;
declare const text: string;
declare const message: unknown;
declare const value: unknown;
declare const error: unknown;
declare const config: unknown;
declare const document: import("@alkdev/operations").OpenAPISpec;
declare const response: Response;
declare const chunks: AsyncIterable<string>;
declare const port: import("node:worker_threads").MessagePort;
declare const worker: import("node:worker_threads").Worker;
`;
const VALUES = {
  registry: 'declare const registry: import("@alkdev/operations").OperationRegistry;',
  envelope: 'declare const envelope: import("@alkdev/operations").ResponseEnvelope;',
  nats: 'declare const nats: import("@alkdev/operations/transport-nats").NatsTransport;',
  redis: 'declare const redis: import("@alkdev/operations/transport-redis").RedisTransport;',
  hub: 'declare const hub: import("@alkdev/operations/transport-websocket").HubTransport;',
  callMap: 'declare const callMap: import("@alkdev/operations").PendingRequestMap;',
  served: 'declare const served: import("@alkdev/operations/serve").Served;',
  wrapper: 'declare const wrapper: import("@alkdev/operations").MCPClientWrapper;',
  greet: `const greet = defineOperation({ namespace: "demo", name: "greet", version: "1", type: "query", description: "",
    inputSchema: Type.Object({ name: Type.String() }), outputSchema: Type.Object({ greeting: Type.String() }),
    accessControl: { requiredScopes: [] }, handler: ({ name }) => ({ greeting: name }) });`,
};

/** An example as a module: what it names is imported or declared, as a reader would. */
function moduleOf(example) {
  const declares = (name) => new RegExp(`(?:const|let) (?:${name}\\b|\\{[^}]*\\b${name}\\b)`).test(example);
  // What belongs to the module, and what may stand in a block.
  const ofModule = /^import .*$|^declare module [\s\S]*?^\}$/gm;
  const uses = (name, where = example) => new RegExp(`\\b${name}\\b`).test(where);
  const scene = Object.entries(VALUES)
    .filter(([name]) => uses(name) && !declares(name))
    .map(([, declaration]) => declaration)
    .join("\n");
  const imports = Array.from(names)
    .filter(([name]) => (uses(name) || uses(name, scene)) && !declares(name))
    .map(([name, { from, isValue }]) => `import ${isValue ? "" : "type "}{ ${name} } from "${from}";`);
  return `${imports.join("\n")}
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
${SCENE}${scene}
{
${example.replace(ofModule, "").replace(/^export default /gm, "void ")}
}
${(example.match(ofModule) ?? []).join("\n")}
export {};
`;
}

describe("what an editor shows", () => {
  it("each exported name has a description in an editor", () => {
    const silent = Array.from(names).filter(
      ([, { text, deprecated = "" }]) => text === "" && deprecated === "",
    );
    assert.deepEqual(
      silent.map(([name]) => name),
      [],
    );
  });

  it("each exported name has an example in an editor", () => {
    // A deprecated name says which one to use: the example is there.
    const without = Array.from(names).filter(
      ([, { examples, deprecated = "" }]) => examples.length === 0 && !/^Use `/.test(deprecated),
    );
    assert.deepEqual(
      without.map(([name]) => name),
      [],
    );
  });

  it("every example that an editor shows compiles", () => {
    const sources = new Map();
    for (const [name, { examples }] of names) {
      examples.forEach((example, i) => {
        // With a number, because names may differ by a capital only.
        sources.set(`example-${sources.size}-${name}-${i}`, moduleOf(example));
      });
    }
    assert.ok(sources.size > 0);
    assert.deepEqual(problemsIn(sources), []);
  });
});

describe("the types that an editor shows of a typed registry", () => {
  const shown = shownTypes(`
import { buildEnv, createRegistry, defineOperation } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { z } from "zod";
const rest = { version: "1", description: "", accessControl: { requiredScopes: [] } };
export const greet = defineOperation({
  ...rest, namespace: "demo", name: "greet", type: "query",
  inputSchema: Type.Object({ name: Type.String(), loud: Type.Optional(Type.Boolean()) }),
  outputSchema: Type.Object({ greeting: Type.String() }),
  handler: ({ name }) => ({ greeting: name }),
});
export const add = defineOperation({
  ...rest, namespace: "tasks", name: "add", type: "mutation",
  inputSchema: z.object({ title: z.string().trim().default("Untitled") }),
  outputSchema: z.object({ id: z.number() }),
  handler: ({ title }) => ({ id: title.length }),
});
export const ticks = defineOperation({
  ...rest, namespace: "demo", name: "ticks", type: "subscription",
  inputSchema: Type.Object({}), outputSchema: Type.Number(),
  handler: async function* () { yield 1; },
});
export const registry = createRegistry([greet, add, ticks]);
export const called = registry.execute("demo.greet", { name: "Ada" });
export const stream = registry.subscribe("demo.ticks", {});
export const env = buildEnv({ registry, context: {} });
`);

  it("the types that an editor shows of a typed registry are what one would write by hand", () => {
    const greeting = "{ loud?: boolean; name: string; }";
    const task = "{ title?: string | undefined; }";
    assert.equal(
      shown.registry,
      `OperationRegistry<{ demo: { greet: Query<${greeting}, { greeting: string; }>; ticks: Subscription<{}, number>; }; ` +
        `tasks: { add: Mutation<${task}, { id: number; }>; }; }>`,
    );
    assert.equal(shown.called, "Promise<ResponseEnvelope<{ greeting: string; }, ResponseMeta>>");
    assert.equal(shown.stream, "AsyncGenerator<ResponseEnvelope<number, ResponseMeta>, void, unknown>");
    assert.equal(
      shown.env,
      `{ readonly demo: { readonly greet: (input: ${greeting}) => Promise<ResponseEnvelope<{ greeting: string; }, ResponseMeta>>; }; ` +
        `readonly tasks: { readonly add: (input: ${task}) => Promise<ResponseEnvelope<{ id: number; }, ResponseMeta>>; }; }`,
    );
  });

  it("the types that an editor shows name the schemas of an operation", () => {
    assert.equal(
      shown.greet,
      'DefinedOperation<"demo", "greet", "query", TObject<{ name: TString; loud: TOptional<TBoolean>; }>, ' +
        "TObject<{ greeting: TString; }>, OperationContext, unknown>",
    );
  });
});

describe("`any` in what users see", () => {
  const REGISTRY = "the type argument of a registry that knows nothing: as loose as the original's";
  const ORIGINAL = "the original has it: code that leaves the type out must compile";
  const DOCUMENT = "the original has it: a document may have any field";
  const allowed = {
    buildEnv: REGISTRY,
    EnvOptions: REGISTRY,
    OperationRegistry: REGISTRY,
    subscribe: REGISTRY,
    IOperationDefinition: ORIGINAL,
    OperationEnv: ORIGINAL,
    OperationHandler: ORIGINAL,
    OperationSpec: ORIGINAL,
    SubscriptionHandler: ORIGINAL,
    OpenAPIOperation: DOCUMENT,
    OpenAPIParameter: DOCUMENT,
    OpenAPISpec: DOCUMENT,
  };

  it("`any` is visible to users where the original had it, and not elsewhere", () => {
    const found = new Set();
    for (const [name, { declarations }] of names) {
      for (const declaration of declarations) {
        if (!declaration.getSourceFile().fileName.startsWith(`${root}dist/`)) continue;
        const visit = (node) => {
          if (node.kind === ts.SyntaxKind.AnyKeyword) found.add(name);
          ts.forEachChild(node, visit);
        };
        visit(declaration);
      }
    }
    assert.deepEqual([...found].sort(), Object.keys(allowed).sort());
  });
});

// Every piece of code in the README and in docs/ compiles in a strict project.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import ts from "typescript";
import { problemsIn, root } from "./support/compile.mjs";

/** What a page takes for granted: values that readers have themselves. */
const SCENE = `
declare const identity: import("@alkdev/operations").Identity;
declare const document: import("@alkdev/operations").OpenAPISpec;
declare const operations: import("@alkdev/operations").OpenAPIImportedOperation[];
declare const target: EventTarget;
declare const controller: AbortController;
declare const signal: AbortSignal;
declare const schema: import("@sinclair/typebox").TSchema;
declare const input: unknown;
declare const value: unknown;
declare const baseUrl: string;
declare const station: string;
declare const servers: string;
declare function work(): Promise<void>;
declare function retryLater(): void;
declare function insert(title: string): Promise<number>;
declare function askUser(message: string, form: unknown): Promise<Record<string, unknown>>;
declare function runModel(messages: unknown, maxTokens: number): Promise<never>;
declare function openBrowser(url: string): void;
declare function read(name: string): Promise<unknown>;
declare function write(name: string, tokens: unknown): Promise<void>;
declare function remove(name: string): Promise<void>;
`;
const REGISTRY = 'declare const registry: import("@alkdev/operations").OperationRegistry;';

/** A page as a module. Readers know what was imported and declared further up, so each piece lies within the one before. */
function moduleOf(page) {
  const pieces = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, text]) => text);
  const imports = new Set(pieces.flatMap((text) => text.match(/^import [^;]+;$/gm) ?? []));
  const extensions = pieces.flatMap((text) => text.match(/^declare module [\s\S]*?^}$/gm) ?? []);
  const bodies = pieces.map((text) =>
    text
      .replace(/^import [^;]+;$/gm, "")
      .replace(/^declare module [\s\S]*?^}$/gm, "")
      // Within a block nothing can be exported.
      .replace(/^export (?=const |type )/gm, ""),
  );
  return `${merged(imports)}\n${extensions.join("\n")}\n${SCENE}\n${REGISTRY}\n{ ${bodies.join("\n{ ")} ${"}".repeat(bodies.length)}\nexport {};\n`;
}

/** Pieces import one name more than once; a module must not. */
function merged(imports) {
  const names = new Map();
  for (const line of imports) {
    const [, only, list = `default as ${only}`, from] = /^import (?:(\w+)|\{([^}]+)\}) from "(.*)";$/.exec(
      line,
    );
    const found = names.get(from) ?? names.set(from, new Set()).get(from);
    for (const name of list.split(",")) if (name.trim() !== "") found.add(name.trim());
  }
  return Array.from(names, ([from, list]) => `import { ${[...list].join(", ")} } from "${from}";`).join("\n");
}

/** Every `x as T`, except `as const`. */
function castsIn(code) {
  const found = [];
  const visit = (node) => {
    const isCast = ts.isAsExpression(node) && !ts.isConstTypeReference(node.type);
    if (isCast || ts.isTypeAssertionExpression(node)) found.push(node.getText());
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("page.ts", code, ts.ScriptTarget.Latest, true));
  return found;
}

const paths = [
  "README.md",
  ...readdirSync(`${root}docs`, { recursive: true })
    .map((path) => `docs/${path.replaceAll("\\", "/")}`)
    // `npm run docs` installs its generator there.
    .filter((path) => path.endsWith(".md") && !path.includes("/node_modules/")),
];

describe("the code in the README and in docs/", () => {
  it("the code in the README and in docs/ compiles", () => {
    const pages = paths.map((path) => [path, readFileSync(root + path, "utf8")]);
    const modules = new Map(
      pages
        .filter(([, text]) => text.includes("```ts\n"))
        .map(([path, text]) => [path.replace(/\.md$/, "").replaceAll("/", "-"), moduleOf(text)]),
    );
    assert.ok(modules.size > 25, `only ${modules.size} pages have code`);
    assert.deepEqual(problemsIn(modules), []);
  });

  it("the code in the README and in the guides needs no casts", () => {
    const pages = paths.filter((path) => path === "README.md" || path.startsWith("docs/guides/"));
    const casts = pages.flatMap((path) =>
      [...readFileSync(root + path, "utf8").matchAll(/^```ts\n([\s\S]*?)^```$/gm)].flatMap(([, code]) =>
        castsIn(code).map((cast) => `${path}: ${cast}`),
      ),
    );
    // The SDK's own type for what it takes; ours is that of no SDK.
    assert.deepEqual(casts, [
      'docs/guides/tools.md: result.content as NonNullable<Anthropic.ToolResultBlockParam["content"]>',
    ]);
  });
});

// Every recipe of docs/recipes/ runs, and prints what its page says. guides.test.mjs compiles them.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { missingBroker, startNats } from "./support/brokers.mjs";
import { runNode } from "./support/run-node.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "docs", "recipes");
/** Within the repository, so that programs find its packages, and below it, so that they find no other's. */
mkdirSync(join(root, "target"), { recursive: true });
const work = mkdtempSync(join(root, "target", "recipes-"));
after(() => rmSync(work, { recursive: true, force: true }));

const blocks = (page, language) =>
  [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(([, text]) => text);

/** All code of a page as one program. */
function programOf(page) {
  const { outputText } = ts.transpileModule(blocks(page, "ts").join("\n"), {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
  });
  return outputText;
}

describe("recipes", () => {
  for (const name of readdirSync(folder).filter((name) => name.endsWith(".md"))) {
    const page = readFileSync(join(folder, name), "utf8");
    const usesNats = page.includes("nats://127.0.0.1:4222");
    const skip = usesNats ? missingBroker("nats-server") : false;
    it(`the recipe ${name} runs, and prints what it says`, { skip, timeout: 120_000 }, async () => {
      const nats = usesNats ? await startNats() : undefined;
      try {
        const file = join(work, name.replace(/\.md$/, ".mjs"));
        writeFileSync(file, programOf(page).replaceAll("nats://127.0.0.1:4222", nats?.url ?? ""));
        const { code, stdout, stderr } = await runNode([file], { cwd: work, timeout: 100_000 });
        assert.deepEqual({ code, stderr }, { code: 0, stderr: "" }, stdout);
        const [expected] = blocks(page, "text");
        // A page without an output is a page of tests, which say themselves whether they pass.
        if (expected === undefined) assert.match(stdout, /fail 0/);
        else assert.equal(stdout, expected);
      } finally {
        await nats?.stop();
      }
    });
  }
});

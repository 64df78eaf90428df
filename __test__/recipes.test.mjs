// Every recipe of docs/recipes/ runs, and prints what its page says, and so do guides that are programs. guides.test.mjs compiles
// them.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { missingBroker, startNats } from "./support/brokers.mjs";
import { startRecordedGitHub } from "./support/recorded-github.mjs";
import { runNode } from "./support/run-node.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const docs = join(root, "docs");
/** Guides that are programs too. */
const GUIDES = ["guides/testing.md", "guides/uploads.md"];
const pages = [
  ...readdirSync(join(docs, "recipes"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `recipes/${name}`),
  ...GUIDES,
];
/** Within the repository, so that programs find its packages, and below it, so that they find no other's. */
mkdirSync(join(root, "target"), { recursive: true });
const work = mkdtempSync(join(root, "target", "recipes-"));
after(() => rmSync(work, { recursive: true, force: true }));

/** GitHub, in the place of which its recorded responses are served. */
const GITHUB = "https://api.github.com";

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
  for (const name of pages) {
    const page = readFileSync(join(docs, name), "utf8");
    const usesNats = page.includes("nats://127.0.0.1:4222");
    const skip = usesNats ? missingBroker("nats-server") : false;
    it(`the page ${name} runs, and prints what it says`, { skip, timeout: 120_000 }, async () => {
      const nats = usesNats ? await startNats() : undefined;
      const github = page.includes(GITHUB) ? await startRecordedGitHub() : undefined;
      try {
        const file = join(work, name.replace(/^.*\/|\.md$/g, "").concat(".mjs"));
        writeFileSync(
          file,
          programOf(page)
            .replaceAll("nats://127.0.0.1:4222", nats?.url ?? "")
            .replaceAll(GITHUB, github?.url ?? ""),
        );
        const { code, stdout, stderr } = await runNode([file], { cwd: work, timeout: 100_000 });
        assert.deepEqual({ code, stderr }, { code: 0, stderr: "" }, stdout);
        const [expected] = blocks(page, "text");
        // A page without an output is a page of tests, which say themselves whether they pass.
        if (expected === undefined) assert.match(stdout, /fail 0/);
        else assert.equal(stdout, expected);
      } finally {
        await nats?.stop();
        await github?.stop();
      }
    });
  }
});

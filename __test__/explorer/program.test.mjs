// The page for programs: written, run, watched call by call, and resumed.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { createCodeRunner } from "@alkdev/operations/code";
import { serve } from "@alkdev/operations/serve";
import { programs } from "../code/support.mjs";
import { missingBrowser, startBrowser } from "../support/browser.mjs";

const skip = missingBrowser();
const browser = skip ? undefined : await startBrowser();
const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const screenshots = join(root, "target", "explorer-screenshots");
mkdirSync(screenshots, { recursive: true });

/** A hub whose programs can be run, and a page of it. */
async function open(hash, hasPrograms = true) {
  const registry = programs();
  registry.register({
    ...registry.getSpec("demo.double"),
    namespace: "pay",
    name: "out",
    approval: "always",
    handler: ({ n }) => `paid ${n}`,
  });
  const runner = createCodeRunner(registry);
  if (hasPrograms) registry.registerAll(runner.operations());
  const server = await serve(registry, { port: 0, doors: { http: true, explorer: true } });
  after(async () => {
    await server.close({ drain: 0 });
    await runner.close();
  });
  const page = await browser.newPage({ viewport: { width: 1440, height: 1000 } });
  page.setDefaultTimeout(60_000);
  const troubles = [];
  page.on("pageerror", (error) => troubles.push(String(error)));
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", ({ violatedDirective }) => {
      throw new Error(violatedDirective);
    });
  });
  await page.goto(`${server.url}/${hash}`);
  return { page, registry, troubles };
}

describe("the program page of the explorer", { skip }, () => {
  it("runs a program, shows its calls and what it gives, and resumes it after an approval", async () => {
    const { page, registry, troubles } = await open("");
    await page.locator("#program").click();
    await page.getByLabel("Signatures").getByText("double").waitFor();
    assert.doesNotMatch(await page.getByLabel("Signatures").innerText(), /wipe|secret/);
    await page
      .getByLabel("Program", { exact: true })
      .fill(
        "console.log('<b>hi</b>'); const n = await demo.double({ n: input }); return [n, await pay.out({ n })]",
      );
    await page.getByLabel("Input (JSON)").fill("21");
    await page.keyboard.press("Control+Enter");
    await page.locator("#resume").waitFor();
    const rows = page.locator(".calls li");
    assert.deepEqual(
      (await rows.allInnerTexts()).map((text) => text.replace(/ \d.*$/, "")),
      ["completed demo.double", "waiting pay.out"],
    );
    assert.equal(await page.getByLabel("Log").innerText(), "info: <b>hi</b>\n");
    await page.screenshot({ path: join(screenshots, "program-waiting.png") });
    const [{ id, input }] = await registry.approvals.list({ status: "pending" });
    assert.deepEqual(input, { n: 42 });
    await registry.approvals.decide(id, { approve: true });
    await page.locator("#resume").click();
    await page.getByText('"paid 42"', { exact: true }).waitFor();
    assert.equal(await rows.count(), 3);
    await page.screenshot({ path: join(screenshots, "program.png") });
    assert.deepEqual(troubles, []);
  });

  it("shows why a program failed, and stops one that does not end", async () => {
    const { page, troubles } = await open("#program");
    const code = page.getByLabel("Program", { exact: true });
    await code.fill("return demo.duble({})");
    await page.locator("#call").click();
    await page
      .getByText(/Did you mean demo\.double/)
      .first()
      .waitFor();
    await code.fill("await demo.never({})");
    await page.locator("#call").click();
    await page.locator(".calls li").getByText("running").waitFor();
    await page.locator("#call").click();
    await page.getByText(/You have stopped the run/).waitFor();
    await page.getByLabel("Input (JSON)").fill("{");
    await page.locator("#call").click();
    await page.getByText(/The input is not JSON/).waitFor();
    assert.deepEqual(troubles, []);
  });

  it("is not offered where programs cannot be run", async () => {
    const { page } = await open("", false);
    await page.locator("#operations .row").first().waitFor();
    assert.equal(await page.locator("#program").isVisible(), false);
  });
});

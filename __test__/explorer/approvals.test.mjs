// The page for approvals: what waits, what would be called, and who decided what.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { serve } from "@alkdev/operations/serve";
import {
  inputText,
  NamedApprovals,
  requestedIn,
  storyOf,
  waitingFor,
} from "../../dist/explorer/approvals.mjs";
import { ADA, BOB, guarded, requestOf } from "../approvals/support/guarded.mjs";
import { missingBrowser, startBrowser } from "../support/browser.mjs";
import { until } from "../support/waiting.mjs";

const EVIL = "\u202e<img src=x onerror=alert(1)>";

describe("what the approvals page works out", () => {
  it("an input is shown as it is, with what cannot be seen made visible", () => {
    assert.equal(
      inputText({ path: `/a${EVIL}`, n: [1] }).split("\n")[1],
      `  "path": "/a\\u202e<img src=x onerror=alert(1)>",`,
    );
    assert.equal(inputText(undefined), "(no input)");
    assert.equal(inputText(null), "null");
  });

  it("an approval says who wants it, who decided and why", () => {
    const approval = {
      id: "a",
      operationId: "files.remove",
      identity: ADA,
      expires: 120_000,
      mayDecide: true,
    };
    const story = (more, now = 0) => storyOf({ ...approval, ...more }, now);
    assert.equal(story({ status: "pending" }), "ada wants to call it. The request expires in 2 min.");
    assert.match(
      story({ status: "denied", by: BOB, reason: "no" }),
      /^ada wanted to call it\. Denied by bob: no\.$/,
    );
    assert.match(story({ status: "used", by: { id: "b\u202e" } }), /Approved by b\\u202e\. It was called\.$/);
    assert.match(story({ status: "expired" }), /not decided in time/);
    assert.match(
      story({ status: "expired", decidedAt: 1 }),
      /Approved by the host\. It was not called in time\.$/,
    );
  });

  it("the same call names its approval, and only a 202 with one is a request", () => {
    const named = new NamedApprovals();
    const [one, two] = [
      { namespace: "a", name: "b.c" },
      { namespace: "a.b", name: "c" },
    ];
    named.set(one, "{}", "id");
    assert.equal(named.of(one, "{}"), "id");
    assert.equal(named.of(two, "{}"), undefined);
    assert.equal(named.of(one, '{"x":1}'), undefined);
    named.set(one, "{}", undefined);
    assert.equal(named.of(one, "{}"), undefined);
    const body = { approval: { id: "x" } };
    assert.deepEqual(
      [requestedIn(202, body), requestedIn(200, body), requestedIn(202, null)],
      ["x", undefined, undefined],
    );
    assert.equal(
      waitingFor([
        { status: "pending", mayDecide: true },
        { status: "pending", mayDecide: false },
      ]),
      1,
    );
  });
});

const skip = missingBrowser();
const browser = skip ? undefined : await startBrowser();
const screenshots = join(
  dirname(dirname(dirname(fileURLToPath(import.meta.url)))),
  "target",
  "explorer-screenshots",
);
mkdirSync(screenshots, { recursive: true });

describe("the approvals page of the explorer", { skip }, () => {
  it("follows by itself, shows the exact call, and decides it, once", async () => {
    const { registry, calls } = guarded();
    const server = await serve(registry, {
      port: 0,
      doors: { http: true, explorer: true },
      tokens: { bobs: BOB, adas: ADA },
    });
    after(() => server.close({ drain: 0 }));
    const page = await browser.newPage({ viewport: { width: 1440, height: 1000 } });
    page.setDefaultTimeout(60_000);
    const troubles = [];
    page.on("pageerror", (error) => troubles.push(String(error)));
    page.on("dialog", (dialog) => troubles.push(dialog.message()));
    await page.goto(`${server.url}/`);
    await page.locator("#who").click();
    await page.getByRole("textbox", { name: "Token" }).fill("bobs");
    await page.getByRole("button", { name: "Use it" }).click();
    await page.getByText("bob", { exact: true }).waitFor();
    const input = { depth: 1, path: `/a${EVIL}` };
    const call = (approval) =>
      registry.execute("files.remove", input, { identity: ADA, ...(approval && { approval }) });
    const { id } = await requestOf(call());
    const button = page.getByRole("button", { name: "Approvals (1)" });
    await button.click();
    const waiting = page.getByRole("group", { name: "What waits" });
    await waiting.getByText("ada wants to call it").waitFor();
    assert.equal(await waiting.getByLabel("Input").innerText(), inputText(input));
    await waiting.getByLabel("Reason").fill("looks right");
    // What comes meanwhile neither takes the focus nor what was typed.
    const other = await requestOf(registry.execute("files.remove", 2, { identity: ADA }));
    const own = await requestOf(registry.execute("files.remove", 3, { identity: BOB }));
    await page.getByText("3 waiting").waitFor();
    assert.equal(await page.locator(`[aria-label="files.remove ${own.id}"] button`).count(), 0);
    const card = page.locator(`[aria-label="files.remove ${id}"]`);
    assert.equal(await card.getByLabel("Reason").inputValue(), "looks right");
    await page.screenshot({ path: join(screenshots, "approvals.png") });
    await card.getByRole("button", { name: "Approve" }).click();
    const decided = page.getByRole("group", { name: "What was decided" });
    await decided.getByText("Approved by bob: looks right. It was not called yet.").waitFor();
    await call(id);
    await decided.getByText("Approved by bob: looks right. It was called.").waitFor();
    await page
      .locator(`[aria-label="files.remove ${other.id}"]`)
      .getByRole("button", { name: "Deny" })
      .click();
    await decided.getByText("Denied by bob.").waitFor();
    assert.equal((await registry.approvals.get(other.id)).by.id, "bob");
    assert.deepEqual(calls, [input]);
    assert.deepEqual(troubles, []);
  });

  it("a call that needs an approval says so, and runs with it when it is called again", async () => {
    const { registry, calls } = guarded();
    const server = await serve(registry, { port: 0, doors: { http: true, explorer: true } });
    after(() => server.close({ drain: 0 }));
    const page = await browser.newPage({ viewport: { width: 1440, height: 1000 } });
    page.setDefaultTimeout(60_000);
    await page.goto(`${server.url}/#op/files/remove`);
    await page.locator("#call").click();
    await page.getByText(/it waits for approval/).waitFor();
    const [{ id }] = await registry.approvals.list({ status: "pending" });
    await registry.approvals.decide(id, { approve: true });
    await page.locator("#call").click();
    await until(() => calls.length === 1);
    assert.equal((await registry.approvals.get(id)).status, "used");
    await page.locator("#call").click();
    await page.getByText(/it waits for approval/).waitFor();
    assert.equal(calls.length, 1);
  });
});

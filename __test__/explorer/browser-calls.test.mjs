// Calls in the explorer, in a browser: files, images, results that stay, errors, samples, sources.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { CallError, createMCPClient, createRegistry, defineOperation } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";
import { z } from "zod";
import { packaged } from "../mcp/support/servers.mjs";
import { missingBrowser, startBrowser } from "../support/browser.mjs";
import { openPage } from "./support/page.mjs";

const TOKEN = "a-token-for-tests";
const skip = missingBrowser();
const base = { namespace: "demo", version: "1.0.0", description: "", accessControl: { requiredScopes: [] } };

let release;
const registry = createRegistry([
  defineOperation({
    ...base,
    name: "book",
    type: "mutation",
    inputSchema: z.object({ day: z.iso.date(), seats: z.int().positive(), email: z.email() }),
    outputSchema: z.object({ seats: z.int() }),
    handler: ({ seats }) => ({ seats }),
  }),
  defineOperation({
    ...base,
    name: "upload",
    type: "mutation",
    inputSchema: Type.Object({ file: Type.Uint8Array(), text: Type.String({ contentEncoding: "base64" }) }),
    outputSchema: Type.Unknown(),
    handler: ({ file, text }) => ({ size: file.length, text }),
  }),
  defineOperation({
    ...base,
    name: "failing",
    type: "query",
    inputSchema: Type.Object({}),
    outputSchema: Type.Unknown(),
    handler: () => Promise.reject(new CallError("EXECUTION_ERROR", "The disk is full")),
  }),
  defineOperation({
    ...base,
    name: "slow",
    type: "query",
    inputSchema: Type.Object({}),
    outputSchema: Type.Unknown(),
    handler: () => new Promise((resolve) => (release = () => resolve({ late: true }))),
  }),
  defineOperation({
    ...base,
    name: "secret",
    type: "query",
    accessControl: { requiredScopes: ["admin"] },
    inputSchema: Type.Object({}),
    outputSchema: Type.Unknown(),
    handler: () => 1,
  }),
]);

async function start() {
  const client = await createMCPClient("everything", packaged("server-everything", ["stdio"]));
  registry.registerAll(client.tools.map((tool) => ({ ...tool, accessControl: { requiredScopes: [] } })));
  const served = await serve(registry, {
    doors: { http: true, explorer: true },
    tokens: { [TOKEN]: { id: "ada", scopes: [] } },
    anonymous: true,
  });
  after(async () => {
    await served.close({ drain: 0 });
    await client.close();
  });
  return { url: served.url, client };
}

// Not in a hook: what is started there ends with it.
const hub = skip ? undefined : await start();
const browser = skip ? undefined : await startBrowser();
const open = (hash, options) => openPage(browser, { hash, url: hub.url, ...options });

describe("calls in the explorer", { skip }, () => {
  it("the key t opens the dialog for a token and types nothing into it", async () => {
    const { page, close } = await open();
    await page.getByRole("heading", { name: "Choose an operation" }).waitFor();
    await page.keyboard.press("t");
    assert.equal(await page.getByRole("textbox", { name: "Token" }).inputValue(), "");
    await close();
  });

  it("an MCP result shows its images as images", async () => {
    const name = hub.client.tools.find((tool) => /tiny-?image/i.test(tool.name)).name;
    const { page, call, shot, close } = await open(`#op/everything/${name}`);
    await call();
    const image = page.locator(".block-image img");
    await page.waitForFunction(() => document.querySelector(".block-image img")?.naturalWidth > 0);
    assert.equal(await image.count(), 1);
    await page.getByText(/^\d+ × \d+$/).waitFor();
    await shot("mcp-image");
    await close();
  });

  it("files are chosen for binary data, and for texts in base64", async () => {
    const { page, field, call, shot, close } = await open("#op/demo/upload");
    await call();
    await page.getByText("Choose a file", { exact: true }).waitFor();
    const file = { name: "photo.png", mimeType: "image/png", buffer: Buffer.from("12345") };
    await field("file").setInputFiles(file);
    await page.getByText("5 B", { exact: true }).waitFor();
    await field("Fill in the content of a file").setInputFiles(file);
    await page.waitForFunction(() =>
      [...document.querySelectorAll("input")].some(({ value }) => value === "MTIzNDU="),
    );
    await shot("file");
    await call();
    await page.locator(".tab-panel").getByText('"MTIzNDU="', { exact: true }).waitFor();
    await page.locator(".tab-panel").getByText("5", { exact: true }).waitFor();
    await close();
  });

  it("results stay while other operations are shown, and one that comes later is there too", async () => {
    const { page, field, call, close } = await open("#op/demo/book");
    await field("day").fill("2026-01-31");
    await field("seats").fill("42");
    await field("email").fill("ada@example.com");
    await call();
    await page.locator(".tab-panel").getByText("42", { exact: true }).waitFor();
    await page.goto(`${hub.url}/#op/demo/slow`);
    await call();
    await page.getByText("Waiting for the response").waitFor();
    await page.goto(`${hub.url}/#op/demo/book`);
    await page.locator(".tab-panel").getByText("42", { exact: true }).waitFor();
    assert.equal(await field("seats").inputValue(), "42");
    release();
    await page.goto(`${hub.url}/#op/demo/slow`);
    await page.locator(".tab-panel").getByText("true", { exact: true }).waitFor();
    // What one caller got is not shown to the next.
    await page.keyboard.press("t");
    await page.getByRole("textbox", { name: "Token" }).fill(TOKEN);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "ada" }).waitFor();
    await page.getByText("Call it to see its result.").waitFor();
    await page.goto(`${hub.url}/#op/demo/book`);
    await page.getByText("Call it to see its result.").waitFor();
    assert.equal(await field("seats").inputValue(), "42", "what was filled in stays");
    await close();
  });

  it("a form from Zod shows no patterns of formats, and each message of a validation once", async () => {
    const { page, field, call, shot, text, close } = await open("#op/demo/book");
    await field("day").waitFor();
    assert.doesNotMatch(await text(".input-panel"), /matches|9007199254740991/);
    await field("seats").fill("-1");
    await field("email").fill("nobody");
    await call();
    await page.getByText("Correct the marked fields").waitFor();
    const shown = await text("main");
    for (const message of await page.locator(".problem:not(:empty)").allInnerTexts())
      assert.equal(shown.split(message).length - 1, 1, `${message}\n${shown}`);
    assert.ok((await page.locator(".field.wrong .problem:not(:empty)").count()) >= 3);
    await shot("validation-once");
    await close();
  });

  it("a query that failed does not say that it may have run, and a stopped one neither", async () => {
    const { page, call, text, close } = await open("#op/demo/failing");
    await call();
    await page.getByText("The disk is full").waitFor();
    assert.doesNotMatch(await text(".failure"), /have run|not run/);
    await page.goto(`${hub.url}/#op/demo/slow`);
    await call();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("You have stopped the call.", { exact: true }).waitFor();
    await close();
  });

  it("a missing permission is named", async () => {
    const { page, close } = await open("#op/demo/secret");
    await page.getByText("This needs to know who you are").waitFor();
    await page.getByRole("button", { name: "Set a token" }).click();
    await page.getByRole("textbox", { name: "Token" }).fill(TOKEN);
    await page.keyboard.press("Enter");
    await page.getByText("You may not call this: it needs the scope admin.").waitFor();
    await close();
  });

  it("the call in the form is there in curl, TypeScript and Python, and follows the form", async () => {
    const { page, field, text, shot, close } = await open("#op/demo/book");
    await page.getByText("Call it from your code").click();
    await field("seats").fill("7");
    const code = async (language) => {
      await page.getByRole("tab", { name: language }).click();
      return text(".fold pre");
    };
    assert.match(await code("curl"), /^curl -X POST '.*\/api\/demo\/book'[\s\S]*"seats":7/);
    assert.match(await code("Python"), /urllib\.request[\s\S]*/);
    assert.match(await code("TypeScript"), /client\.demo\.book\(\{[\s\S]*seats: 7/);
    await field("seats").fill("8");
    await page.waitForFunction(() => document.querySelector(".fold pre").textContent.includes("seats: 8"));
    await shot("code");
    await close();
  });

  it("the server page has the state of each source", async () => {
    const { page, shot, text, close } = await open("#server");
    await page.getByText("You call it anonymously").waitFor();
    assert.equal(await page.locator(".sources").count(), 0, "states are for callers who may read counters");
    await page.keyboard.press("t");
    await page.getByRole("textbox", { name: "Token" }).fill(TOKEN);
    await page.keyboard.press("Enter");
    await page.locator(".sources").waitFor();
    assert.match(await text(".sources"), /everything\s*mcp\s*connected/);
    await shot("sources");
    await close();
  });
});

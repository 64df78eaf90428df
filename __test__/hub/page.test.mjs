// The ten lines of the guide, in a real browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, it } from "node:test";
import { missingBrowser, startBrowser } from "../support/browser.mjs";
import { eventually, hubOf, operation } from "./support.mjs";

const guide = readFileSync(new URL("../../docs/guides/hub-and-spokes.md", import.meta.url), "utf8");
const [, lines] = /^```js\n([\s\S]*?)^```$/m.exec(guide);

it("a page with nothing but a WebSocket calls and serves", { skip: missingBrowser() }, async () => {
  const greet = operation({
    namespace: "demo",
    name: "greet",
    handler: ({ name }, { identity }) => `Hello, ${name}, says ${identity.id}`,
  });
  const { url, registry } = await hubOf([greet], { hub: { accept: ({ name }) => ({ namespace: name }) } });
  const script = lines.replace("127.0.0.1:8080", new URL(url).host).replace("bearer.TOKEN", "bearer.ada");
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end(`<title>A page</title><script>${script}; globalThis.call = call;</script>`);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  const browser = await startBrowser();
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await eventually(() => registry.get("page.title") !== undefined);
  assert.equal((await registry.execute("page.title", {})).data, "A page");
  const answer = await page.evaluate(() => globalThis.call("demo.greet", { name: "Ada" }));
  assert.equal(answer.type, "call.responded");
  assert.equal(answer.output.data, "Hello, Ada, says ada");
  await page.close();
  await eventually(() => registry.get("page.title") === undefined);
});

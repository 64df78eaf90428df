// The browser that other tests rely on: it starts, and runs a page.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, it } from "node:test";
import { missingBrowser, startBrowser } from "./support/browser.mjs";

it("the browser runs the script of a page", { skip: missingBrowser() }, async () => {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<title>before</title><script>document.title = 'after'</script>");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  const browser = await startBrowser();
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  assert.equal(await page.title(), "after");
});

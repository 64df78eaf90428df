// The explorer in a browser. What it looks like is kept in target/explorer-screenshots/.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const screenshots = fileURLToPath(new URL("../../../target/explorer-screenshots/", import.meta.url));
mkdirSync(screenshots, { recursive: true });

/** A page of its own, at an operation. It reports what went wrong on it, and what it requested from other servers. */
export async function openPage(browser, { hash = "", path = "/", url, ...options }) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  const troubles = [];
  page.on("pageerror", (error) => troubles.push(String(error)));
  // An answer with 4XX or 5XX is in the console too, and is what some tests are about.
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource/.test(message.text()))
      troubles.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith("data:image/"))
      troubles.push(`It asked for ${request.url()}`);
  });
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
      window.violations.push(`${violatedDirective} ${blockedURI}`);
    });
  });
  await page.goto(`${url}${path}${hash}`);
  return {
    page,
    text: (selector) => page.locator(selector).innerText(),
    shot: (name) => page.screenshot({ path: join(screenshots, `${name}.png`) }),
    field: (label) => page.getByLabel(label, { exact: true }),
    call: () => page.locator("#call").click(),
    async close() {
      assert.deepEqual(troubles, []);
      assert.deepEqual(await page.evaluate(() => [window.violations, window.hacked]), [[], undefined]);
      await context.close();
    },
  };
}

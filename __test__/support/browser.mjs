// A real browser for tests of pages, without a window. It calls nobody by itself.

import { after } from "node:test";
import { chromium } from "playwright-core";
import { findBrowser } from "../../scripts/browser.mjs";
import { missing } from "./skips.mjs";

/** Left out where there is no browser, which is said loudly; in CI that is a failure. */
export const missingBrowser = () =>
  findBrowser() === undefined && missing("Chromium is not installed (npm test -- --install)");

/** Starts a browser that ends with the tests of the file. */
export async function startBrowser() {
  const browser = await chromium.launch({
    executablePath: findBrowser(),
    args: [
      // Tests run as root in containers, where the sandbox cannot be had; they open pages of their own only.
      "--no-sandbox",
      "--disable-gpu",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  after(() => browser.close());
  return browser;
}

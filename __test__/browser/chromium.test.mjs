// The entry without native code in a real browser: bundled by esbuild, as users bundle, and under a policy that forbids
// `eval`.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, it } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { missingBrowser, startBrowser } from "../support/browser.mjs";

const source = (name) => fileURLToPath(new URL(`./page/${name}.mjs`, import.meta.url));

/** A program for the browser, and which files of the package are in it. */
async function bundled(name) {
  const { outputFiles, metafile } = await build({
    entryPoints: [source(name)],
    bundle: true,
    format: "esm",
    platform: "browser",
    minify: true,
    write: false,
    metafile: true,
    logLevel: "error",
  });
  return { text: outputFiles[0].text, inputs: Object.keys(metafile.inputs) };
}

it("the package works in a page and in its worker", {
  skip: missingBrowser(),
  timeout: 120_000,
}, async () => {
  const page = await bundled("page");
  const worker = await bundled("worker");
  for (const { inputs } of [page, worker]) {
    const own = inputs.filter((file) => /(^|\/)dist\//.test(file) && !file.includes("node_modules"));
    assert.ok(own.length > 0 && own.every((file) => file.includes("dist/browser/")), own.join(", "));
  }
  const answers = {
    "/": ["text/html", '<!doctype html><script type="module" src="/page.js"></script>'],
    "/page.js": ["text/javascript", page.text],
    "/worker.js": ["text/javascript", worker.text],
  };
  const server = createServer((request, response) => {
    const [type, body] = answers[request.url] ?? ["text/plain", ""];
    response.setHeader("content-type", type);
    response.setHeader("content-security-policy", "default-src 'self'");
    response.end(body);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());

  const browser = await startBrowser();
  const tab = await browser.newPage();
  const complaints = [];
  tab.on("pageerror", (error) => complaints.push(String(error)));
  tab.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  await tab.goto(`http://127.0.0.1:${server.address().port}/`);
  const results = await tab.evaluate(() => globalThis.finished);
  assert.deepEqual(
    results.filter(({ problem }) => problem !== null),
    [],
  );
  assert.equal(results.length, 7);
  assert.deepEqual(
    complaints.filter((text) => !text.includes("favicon")),
    [],
  );
});

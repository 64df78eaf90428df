// The entry without native code in a real browser: bundled by esbuild, as users bundle, and under a policy that forbids
// `eval`.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, it } from "node:test";
import { fileURLToPath } from "node:url";
import { createRegistry, defineOperation } from "@alkdev/operations";
import { serve } from "@alkdev/operations/serve";
import { build } from "esbuild";
import { z } from "zod";
import { missingBrowser, startBrowser } from "../support/browser.mjs";
import { until } from "../support/waiting.mjs";

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

it("the client calls a served hub from a page of another origin", {
  skip: missingBrowser(),
  timeout: 120_000,
}, async (t) => {
  const { text } = await bundled("client");
  const answers = {
    "/": ["text/html", '<!doctype html><script type="module" src="/client.js"></script>'],
    "/client.js": ["text/javascript", text],
  };
  const pages = createServer((request, response) => {
    const [type, body] = answers[request.url] ?? ["text/plain", ""];
    response.setHeader("content-type", type);
    response.end(body);
  });
  await new Promise((resolve) => pages.listen(0, "127.0.0.1", resolve));
  t.after(() => pages.close());
  const origin = `http://127.0.0.1:${pages.address().port}`;
  let ended = 0;
  const common = {
    namespace: "page",
    version: "1.0.0",
    description: "",
    accessControl: { requiredScopes: [] },
  };
  const any = { inputSchema: z.any(), outputSchema: z.any() };
  const registry = createRegistry([
    defineOperation({ ...common, ...any, name: "echo", type: "mutation", handler: (input) => input }),
    defineOperation({
      ...common,
      ...any,
      name: "secret",
      type: "query",
      accessControl: { requiredScopes: ["admin"] },
      handler: () => 1,
    }),
    defineOperation({ ...common, ...any, name: "hang", type: "query", handler: () => new Promise(() => {}) }),
    defineOperation({
      ...common,
      ...any,
      name: "count",
      type: "subscription",
      async *handler() {
        try {
          for (let n = 1; ; n++) yield n;
        } finally {
          ended += 1;
        }
      },
    }),
  ]);
  const served = await serve(registry, {
    doors: { http: true },
    tokens: { secret: { id: "ada", scopes: [] } },
    cors: true,
    allowedOrigins: [origin],
  });
  t.after(() => served.close({ drain: 0 }));
  const browser = await startBrowser();
  const tab = await browser.newPage();
  await tab.goto(origin);
  const results = await tab.evaluate((url) => globalThis.callFrom(url), served.url);
  assert.deepEqual(results, {
    echo: { text: "\u{1f600}", bytes: [0, 255] },
    events: [1, 2, 3],
    denied: ["ACCESS_DENIED", true],
    late: ["TIMEOUT", "unknown"],
    aborted: "ABORTED",
    anonymous: "ACCESS_DENIED",
  });
  await until(() => ended === 1);
});

// Requests that a browser sends for a page of another site, without saying which: images, scripts, forms and links.

import assert from "node:assert/strict";
import { request } from "node:http";
import { after, describe, it } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { createHandler } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";
import { operation, serving } from "./support.mjs";

let calls = 0;
const query = operation({
  name: "query",
  inputSchema: Type.Object({}),
  handler: () => {
    calls += 1;
    return calls;
  },
});

/** What a browser sends for `<img src=...>`. */
const IMAGE = { "sec-fetch-dest": "image", "sec-fetch-mode": "no-cors" };

/** The status of a GET with exactly these headers, which `fetch` would not send. */
function get(url, headers) {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode));
    });
    sent.on("error", reject).end();
  });
}

describe("a page of another site cannot call a query with an image or a link", () => {
  const refused = [
    { ...IMAGE, "sec-fetch-site": "cross-site" },
    { ...IMAGE, "sec-fetch-site": "same-site" },
    { ...IMAGE, "sec-fetch-site": "cross-site", referer: "https://evil.example/" },
    { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" },
  ];
  const accepted = [
    {},
    { ...IMAGE, "sec-fetch-site": "same-origin" },
    { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" },
    { ...IMAGE, "sec-fetch-site": "same-site", referer: "http://localhost:5173/app" },
  ];

  it("a page of another site cannot call a query with an image or a link at a listener", async () => {
    const { url } = await serving([query]);
    for (const headers of refused) {
      calls = 0;
      assert.equal(await get(`${url}/api/test/query`, headers), 403, JSON.stringify(headers));
      assert.equal(calls, 0);
    }
    for (const headers of accepted) {
      assert.equal(await get(`${url}/api/test/query`, headers), 200, JSON.stringify(headers));
    }
  });

  it("a page of another site cannot call a query with an image or a link through createHandler", async () => {
    const registry = new OperationRegistry();
    registry.register(query);
    const handler = createHandler(registry, { doors: { http: true } });
    after(() => handler.close({ drain: 0 }));
    const ask = (headers) => handler.fetch(new Request("http://localhost/api/test/query", { headers }));
    for (const headers of refused) {
      calls = 0;
      assert.equal((await ask(headers)).status, 403, JSON.stringify(headers));
      assert.equal(calls, 0);
    }
    for (const headers of accepted) assert.equal((await ask(headers)).status, 200, JSON.stringify(headers));
  });

  it("a page of another site can call a query with an image or a link if its origin is allowed", async () => {
    const { url } = await serving([query], { allowedOrigins: ["https://app.example"] });
    const from = (referer) => ({ ...IMAGE, "sec-fetch-site": "cross-site", referer });
    assert.equal(await get(`${url}/api/test/query`, from("https://app.example/page")), 200);
    assert.equal(await get(`${url}/api/test/query`, from("https://app.example.evil.example/")), 403);
    const open = await serving([query], { allowedOrigins: ["*"] });
    const hidden = { ...IMAGE, "sec-fetch-site": "cross-site" };
    assert.equal(await get(`${open.url}/api/test/query`, hidden), 200);
  });

  it("a link of another site may lead to the explorer, whose files show nothing by themselves", async () => {
    const { url } = await serving([query], { doors: { http: true, explorer: true } });
    const link = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" };
    assert.equal(await get(`${url}/`, link), 200);
    assert.equal(await get(`${url}/status.json`, link), 403);
    assert.equal(await get(`${url}/`, { ...IMAGE, "sec-fetch-site": "cross-site" }), 403);
  });
});

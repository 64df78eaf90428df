// Headers that belong to the connection are nobody's but the configuration's.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { echo, serve, single } from "./support.mjs";

const genuine = globalThis.fetch;
const post = { requestBody: { content: { "application/json": {} } } };

for (const [name, fetch] of [
  ["the native client", undefined],
  ["a fetch", (url, init) => genuine(url, init)],
]) {
  describe(`headers that a call cannot set, through ${name}`, () => {
    it("Host, lengths and encodings of a call's own headers are left out", async () => {
      const { url } = await serve(echo);
      const headers = {
        Host: "internal.example",
        "content-length": "3",
        "Transfer-Encoding": "chunked",
        Connection: "upgrade",
        "X-Mine": "1",
      };
      const { data } = await single("post", post, { baseUrl: url, fetch })(
        { body: { a: 1 } },
        { metadata: { headers } },
      );
      assert.equal(data.headers.host, new URL(url).host);
      assert.equal(data.headers["content-length"], "7");
      assert.equal(data.headers["transfer-encoding"], undefined);
      assert.equal(data.headers["x-mine"], "1");
      assert.equal(data.body, '{"a":1}');
    });

    it("Host as a parameter of the document is left out", async () => {
      const { url } = await serve(echo);
      const parameters = [{ name: "Host", in: "header", schema: { type: "string" } }];
      const call = single("get", { parameters }, { baseUrl: url, fetch });
      assert.equal((await call({ Host: "internal.example" }, {})).data.headers.host, new URL(url).host);
    });
  });
}

describe("headers of the configuration", () => {
  it("headers of the configuration may name another host", async () => {
    const { url } = await serve(echo);
    const call = single("get", {}, { baseUrl: url, headers: { Host: "virtual.example" } });
    assert.equal((await call({}, {})).data.headers.host, "virtual.example");
  });
});

// Where requests may go: `hosts`, `allowPrivateAddresses`, and credentials that only the document would send away.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FromOpenAPI, FromOpenAPIUrl } from "@alkdev/operations";
import { answers, documentOf, echo, failureOf, sendJson, serve, single } from "./support.mjs";

const genuine = globalThis.fetch;
const auth = { type: "bearer", token: "open-sesame" };
const paths = { "/x": { get: { operationId: "it", responses: answers() } } };

/** The one operation of a document whose servers are these. */
const named = (server, config) => {
  const document = documentOf(paths, { servers: [{ url: server }] });
  return FromOpenAPI(document, { namespace: "t", ...config })[0].handler;
};

/** Both ways to send. */
const drivers = { "the native client": {}, "a fetch": { fetch: (url, init) => genuine(url, init) } };

for (const [name, driver] of Object.entries(drivers)) {
  describe(`where ${name} may go`, () => {
    it("a document alone cannot have us call addresses that only we can reach", async () => {
      const { url, received } = await serve(echo);
      const error = await failureOf(named(url, driver)({}, {}));
      assert.equal(error.code, "EXECUTION_ERROR");
      assert.match(error.message, /127\.0\.0\.1.*allowPrivateAddresses/);
      assert.equal(error.details.reason, "private-address");
      assert.equal(received.length, 0);
      await named(url, { ...driver, allowPrivateAddresses: true })({}, {});
      await named(url, { ...driver, hosts: [new URL(url).host] })({}, {});
      assert.equal(received.length, 2);
    });

    it("a redirect cannot lead to private addresses that were not configured", async () => {
      const inside = await serve(echo);
      const port = new URL(inside.url).port;
      const { url } = await serve((_, response) => {
        response.writeHead(302, { location: `http://localhost:${port}/admin` });
        response.end();
      });
      const error = await failureOf(single("get", {}, { baseUrl: url, ...driver })({}, {}));
      assert.equal(error.details.reason, "private-address");
      assert.equal(error.details.host, "localhost");
      assert.equal(error.details.delivery, "unknown");
      assert.equal(inside.received.length, 0);
    });

    it("a redirect cannot lead to another port of the private address that `baseUrl` names", async () => {
      const inside = await serve(echo);
      const { url, received } = await serve((_, response) => {
        response.writeHead(307, { location: `${inside.url}/admin` }).end();
      });
      const call = (baseUrl, config) => single("get", {}, { baseUrl, ...driver, ...config })({}, {});
      const error = await failureOf(call(url));
      assert.equal(error.details.reason, "private-address");
      assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${new URL(inside.url).port} .*hosts`));
      assert.equal(inside.received.length, 0);
      await call(url, { hosts: [new URL(inside.url).host] });
      await call(url, { allowPrivateAddresses: true });
      assert.equal(inside.received.length, 2);
      assert.equal(received.length, 3);
    });

    it("private IPv4 addresses inside IPv6 ones are private too", async () => {
      for (const host of [
        "[::127.0.0.1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:0:127.0.0.1]",
        "[64:ff9b::10.0.0.1]",
        "[64:ff9b:1::10.0.0.1]",
        "[2002:7f00:1::]",
        "[2001:0:a00:1::]",
        "[2001:0:808:808:0:0:f5ff:fffe]",
      ]) {
        const error = await failureOf(named(`http://${host}:9`, driver)({}, {}));
        assert.equal(error.details.reason, "private-address", host);
      }
    });

    it("a redirect stays within `hosts`", async () => {
      const other = await serve(echo);
      const { url } = await serve((_, response) => {
        response.writeHead(307, { location: `${other.url}/elsewhere` });
        response.end();
      });
      // The host of `baseUrl` is the user's own word, and the port of `hosts` counts for all others.
      const elsewhere = other.url.replace("127.0.0.1", "localhost");
      const { url: first } = await serve((_, response) => {
        response.writeHead(307, { location: elsewhere });
        response.end();
      });
      const call = (config) => single("get", {}, { baseUrl: first, ...driver, ...config })({}, {});
      const error = await failureOf(call({ hosts: ["api.example.com"], allowPrivateAddresses: true }));
      assert.equal(error.details.reason, "host-not-allowed");
      assert.equal(other.received.length, 0);
      const port = new URL(other.url).port;
      assert.equal((await call({ hosts: [`localhost:${port}`] })).data.method, "GET");
      const opened = { baseUrl: url, ...driver, hosts: [`127.0.0.1:${port}`] };
      assert.equal((await single("get", {}, opened)({}, {})).data.url, "/elsewhere");
    });

    it("credentials do not go to a server that only the document names", async () => {
      const { url, received } = await serve(echo);
      const open = { ...driver, allowPrivateAddresses: true };
      for (const secret of [{ auth }, { headers: { "X-Api-Key": "k" } }]) {
        const error = await failureOf(named(url, { ...open, ...secret })({}, {}));
        assert.equal(error.code, "VALIDATION_ERROR");
        assert.match(error.message, /only the document names.*baseUrl.*hosts/);
        assert.doesNotMatch(error.message, /open-sesame/);
      }
      assert.equal(received.length, 0);
      const { data } = await named(url, { ...driver, auth, hosts: [new URL(url).host] })({}, {});
      assert.equal(data.headers.authorization, "Bearer open-sesame");
      const plain = await named(url, { ...open, headers: { "X-Version": "2" } })({}, {});
      assert.equal(plain.data.headers["x-version"], "2");
    });

    it("credentials do go where the document itself was fetched", async () => {
      const { url, received } = await serve((request, response) => {
        if (request.url === "/openapi.json")
          sendJson(response, documentOf(paths, { servers: [{ url: "/v1" }] }));
        else echo(request, response);
      });
      const [{ handler }] = await FromOpenAPIUrl(`${url}/openapi.json`, { namespace: "t", auth, ...driver });
      assert.equal((await handler({}, {})).data.headers.authorization, "Bearer open-sesame");
      // It went with the call, not with the document.
      assert.equal(received[0].headers.authorization, undefined);
    });
  });
}

describe("the configuration", () => {
  it("the configuration refuses an entry of `hosts` that is no host", () => {
    for (const hosts of [["https://example.com"], ["a b"], [""], ["*example.com"]]) {
      assert.throws(() => single("get", {}, { hosts }), { code: "VALIDATION_ERROR", message: /hosts has/ });
    }
    assert.throws(() => single("get", {}, { hosts: "example.com" }), {
      message: /config\.hosts must be a list/,
    });
  });
});

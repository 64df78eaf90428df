// HTTP services by name.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { CallError, OpenAPIServiceRegistry, OperationRegistry, unwrap } from "@alkdev/operations";
import * as subPath from "@alkdev/operations/from-openapi";
import { until } from "../support/waiting.mjs";
import { documentOf, namesOf } from "./support/documents.mjs";

const document = (path) => documentOf({ paths: { [path]: { get: {} } } });
const connections = new Set();
let server;
let baseUrl;

before(async () => {
  server = createServer((request, response) => {
    if (request.url === "/openapi.json") response.end(JSON.stringify(document("/from-url")));
    else if (request.url === "/hang")
      response.writeHead(200, { "content-type": "application/json" }).write("[");
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(request.url));
  });
  server.on("connection", (socket) => {
    connections.add(socket);
    socket.on("close", () => connections.delete(socket));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  baseUrl = `http://127.0.0.1:${server.address().port}`;
});
after(() => {
  server.close();
  server.closeAllConnections();
});

describe("OpenAPIServiceRegistry", () => {
  it("OpenAPIServiceRegistry is the same class on the sub-path", () => {
    assert.equal(subPath.OpenAPIServiceRegistry, OpenAPIServiceRegistry);
  });

  it("OpenAPIServiceRegistry keeps services by name", async () => {
    const folder = await mkdtemp(join(tmpdir(), "operations-services-"));
    const services = new OpenAPIServiceRegistry();
    try {
      await writeFile(join(folder, "api.json"), JSON.stringify(document("/from-file")));
      const added = services.add("one", document("/from-object"), { namespace: "one", baseUrl });
      const fromUrl = await services.addFromUrl("two", `${baseUrl}/openapi.json`, {
        namespace: "two",
        baseUrl,
      });
      await services.addFromFile("three", join(folder, "api.json"), { namespace: "three", baseUrl });
      const fs = { readFile: async () => JSON.stringify(document("/from-fs")) };
      await services.addFromFile("four", "virtual.json", { namespace: "four", baseUrl }, fs);
      assert.equal(services.size, 4);
      assert.deepEqual(services.list(), ["one", "two", "three", "four"]);
      assert.equal(services.get("one"), added);
      assert.equal(services.get("two"), fromUrl);
      assert.equal(services.get("five"), undefined);
      assert.deepEqual(namesOf(services.getAll()), [
        "get_from-object",
        "get_from-url",
        "get_from-file",
        "get_from-fs",
      ]);

      const registry = new OperationRegistry();
      services.registerAll(registry);
      assert.equal(registry.list().length, 4);
      assert.equal(unwrap(await registry.execute("four.get_from-fs", {})), "/from-fs");

      assert.equal(services.remove("two"), true);
      assert.equal(services.remove("two"), false);
      assert.equal(services.size, 3);
      assert.equal(unwrap(await registry.execute("two.get_from-url", {})), "/from-url");
    } finally {
      await services.closeAll();
      await rm(folder, { recursive: true, force: true });
    }
    assert.equal(services.size, 0);
    assert.deepEqual(services.getAll(), []);
  });

  it("a service name can be used again, and must not be empty", () => {
    const services = new OpenAPIServiceRegistry();
    services.add("a", document("/1"), { namespace: "t" });
    services.add("a", document("/2"), { namespace: "t" });
    assert.deepEqual(namesOf(services.getAll()), ["get_2"]);
    for (const name of ["", undefined, 5]) {
      assert.throws(() => services.add(name, document("/1"), { namespace: "t" }), {
        code: "VALIDATION_ERROR",
      });
    }
  });

  it("a service that cannot be added leaves the earlier one in place", async () => {
    const services = new OpenAPIServiceRegistry();
    services.add("a", document("/1"), { namespace: "t" });
    assert.throws(() => services.add("a", "no document", { namespace: "t" }), CallError);
    await assert.rejects(services.addFromUrl("a", `${baseUrl}/nope`, { namespace: "t" }), CallError);
    await assert.rejects(services.addFromFile("a", "/nowhere/at/all.json", { namespace: "t" }), CallError);
    assert.deepEqual(namesOf(services.get("a")), ["get_1"]);
  });

  it("closeAll of a service registry ends connections and running calls", async () => {
    const services = new OpenAPIServiceRegistry();
    const [idle] = services.add("idle", document("/idle"), { namespace: "t", baseUrl });
    const [hang] = services.add("hang", document("/hang"), { namespace: "t", baseUrl });
    await idle.handler({}, {});
    const pending = hang.handler({}, {});
    pending.catch(() => {});
    // Until the server has both.
    await until(() => connections.size >= 2);
    await services.closeAll();
    await assert.rejects(pending, { code: "ABORTED" });
    await until(() => connections.size === 0);
    await services.closeAll();
  });
});

// What becomes of a response: bodies of every kind, encodings, limits, errors.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { CallError, isResponseEnvelope } from "@alkdev/operations";
import { answers, failureOf, registryOf, serve, single } from "./support.mjs";

/** The response that the server gives next. */
let next;
const { url: baseUrl } = await serve((_, response) => {
  response.writeHead(next.status ?? 200, next.reason, next.headers);
  response.end(next.body);
});

function call(response, config) {
  next = response;
  return single("get", {}, { baseUrl, ...config })({}, {});
}

const type = (contentType) => ({ "content-type": contentType });

describe("a body", () => {
  it("a body of JSON is a value", async () => {
    const envelope = await call({ headers: type("application/json"), body: '{"a":[1,"ü"]}' });
    assert.deepEqual(envelope.data, { a: [1, "ü"] });
    assert.ok(isResponseEnvelope(envelope));
    const { data } = await call({ headers: type("application/problem+json; charset=utf-8"), body: "0" });
    assert.equal(data, 0);
  });

  it("a body of text is a string, in the encoding that it names", async () => {
    assert.equal((await call({ headers: type("text/html"), body: "<ü>" })).data, "<ü>");
    const latin = { headers: type("text/plain; charset=iso-8859-1"), body: Buffer.from([0xfc, 0x80]) };
    assert.equal((await call(latin)).data, "ü€");
    const utf16 = { headers: type("text/plain; charset=UTF-16LE"), body: Buffer.from("über", "utf16le") };
    assert.equal((await call(utf16)).data, "über");
    const broken = { headers: type("text/plain"), body: Buffer.from([0x61, 0xff]) };
    assert.equal((await call(broken)).data, "a\ufffd");
  });

  it("a body of anything else is an ArrayBuffer", async () => {
    for (const headers of [type("image/png"), type("application/octet-stream"), {}]) {
      const { data } = await call({ headers, body: Buffer.from([0, 255]) });
      assert.ok(data instanceof ArrayBuffer);
      assert.deepEqual([...new Uint8Array(data)], [0, 255]);
    }
  });

  it("a body of a megabyte of bytes arrives whole", async () => {
    const body = Buffer.alloc(1_000_000, (_, index) => index);
    const { data } = await call({ headers: type("application/zip"), body });
    assert.ok(body.equals(Buffer.from(data)));
  });

  it("a body that is empty is undefined, whatever its type", async () => {
    for (const response of [
      { status: 204 },
      { headers: type("application/json") },
      { headers: type("text/plain") },
    ]) {
      const envelope = await call(response);
      assert.equal(envelope.data, undefined);
      assert.ok("data" in envelope);
    }
  });

  it("a body that claims to be JSON and is not is an error that says so", async () => {
    const error = await failureOf(call({ headers: type("application/json"), body: "<html>" }));
    assert.ok(error instanceof CallError);
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(
      error.message,
      /^HTTP 200: the response says it is application\/json but its body is not valid JSON, in t\./,
    );
    assert.equal(error.details.body, "<html>");
  });

  it("a body of JSON at its limits means the same to Rust and to JavaScript", async () => {
    for (const body of [
      "1e999",
      "-0",
      '"\\ud800"',
      '{"a":1,"a":2}',
      " [1] ",
      '{"__proto__":{"x":1}}',
      "123456789012345678901",
    ]) {
      const { data } = await call({ headers: type("application/json"), body });
      assert.deepEqual(data, JSON.parse(body), body);
    }
    for (const body of ["01", "[1,]", "{a:1}", "NaN", '"\n"', "1 2", "'x'", "\u00a01"]) {
      assert.match(
        (await failureOf(call({ headers: type("application/json"), body }))).message,
        /not valid JSON/,
        body,
      );
    }
  });
});

describe("the body of an error", () => {
  it("the body of an error is read as JavaScript reads JSON; what only JavaScript can hold is null", async () => {
    const bodyOf = async (body) => {
      const failed = call({ status: 500, headers: type("application/json"), body });
      return (await failureOf(failed)).details.body;
    };
    assert.deepEqual(await bodyOf('{"limit":1e400,"why":"full"}'), { limit: null, why: "full" });
    assert.deepEqual(await bodyOf('["\\ud800",-0]'), ["\ufffd", -0]);
    assert.equal(await bodyOf('{"why":'), '{"why":');
    const deep = `${"[".repeat(300)}1e400${"]".repeat(300)}`;
    assert.equal(await bodyOf(deep), deep);
  });
});

describe("the metadata", () => {
  it("the metadata has names in lower case, repeated headers joined, and the status", async () => {
    const headers = [
      "Content-Type",
      "text/plain",
      "X-A",
      "1",
      "Set-Cookie",
      "a=1",
      "Set-Cookie",
      "b=2",
      "X-L",
      "\u00fc",
    ];
    const { meta } = await call({ status: 206, headers, body: "x" });
    assert.equal(meta.source, "http");
    assert.equal(meta.statusCode, 206);
    assert.equal(meta.contentType, "text/plain");
    assert.equal(meta.headers["x-a"], "1");
    assert.equal(meta.headers["set-cookie"], "a=1, b=2");
    assert.equal(meta.headers["x-l"], "\u00fc");
    assert.deepEqual(JSON.parse(JSON.stringify(meta)), meta);
  });
});

/** A frame of zstd with one block that is not compressed: Node 20 cannot make others. */
function zstd(content) {
  const block = (content.length << 3) | 1;
  const head = [
    0x28,
    0xb5,
    0x2f,
    0xfd,
    0x20,
    content.length,
    block & 255,
    (block >> 8) & 255,
    (block >> 16) & 255,
  ];
  return Buffer.concat([Buffer.from(head), content]);
}

describe("a compressed body", () => {
  const content = Buffer.from(JSON.stringify({ text: "again and again and again and again" }));
  for (const [encoding, compress] of Object.entries({
    gzip: gzipSync,
    br: brotliCompressSync,
    deflate: deflateSync,
    zstd,
  })) {
    it(`a body compressed with ${encoding} is decoded`, async () => {
      const headers = { ...type("application/json"), "content-encoding": encoding };
      const { data } = await call({ headers, body: compress(content) });
      assert.equal(data.text, "again and again and again and again");
    });
  }

  it("a compressed body that is broken is an error", async () => {
    const headers = { ...type("application/json"), "content-encoding": "gzip" };
    const error = await failureOf(call({ headers, body: deflateRawSync(content) }));
    assert.equal(error.code, "EXECUTION_ERROR");
  });

  it("a compressed body beyond the limit is refused while it is inflated", async () => {
    const headers = { ...type("text/plain"), "content-encoding": "gzip" };
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    assert.ok(bomb.length < 60_000);
    const error = await failureOf(call({ headers, body: bomb }, { maxResponseBytes: 100_000 }));
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /larger than the limit of 100000 bytes.*maxResponseBytes/);
    assert.deepEqual([error.details.maxResponseBytes, error.details.reason], [100_000, "too-large"]);
  });
});

describe("a status outside 2XX", () => {
  const failing = async (response, config) => failureOf(call(response, config));

  it("a status outside 2XX is an error with everything that was received", async () => {
    const headers = { ...type("application/json"), "x-request-id": "7" };
    const error = await failing({ status: 422, headers, body: '{"field":"name"}' });
    assert.ok(error instanceof CallError);
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.match(error.message, /^HTTP 422: Unprocessable Entity, in t\./);
    assert.equal(error.details.statusCode, 422);
    assert.equal(error.details.contentType, "application/json");
    assert.equal(error.details.headers["x-request-id"], "7");
    assert.deepEqual(error.details.body, { field: "name" });
  });

  it("a status outside 2XX has the server's own reason phrase", async () => {
    assert.match(
      (await failing({ status: 404, reason: "No Such Pet" })).message,
      /^HTTP 404: No Such Pet, in t\./,
    );
  });

  it("the body of a status outside 2XX is read by its type", async () => {
    const of = async (contentType, body) =>
      (await failing({ status: 500, headers: type(contentType), body })).details.body;
    assert.equal(await of("text/html", "<p>"), "<p>");
    assert.equal(await of("application/json", "<p>"), "<p>");
    assert.equal(await of("text/event-stream", "data: 1"), "data: 1");
    const bytes = await of("application/octet-stream", Buffer.from([255]));
    assert.ok(bytes instanceof ArrayBuffer);
    assert.deepEqual([...new Uint8Array(bytes)], [255]);
    assert.equal(await of("application/json", ""), undefined);
  });

  it("304 and a redirect without a Location are errors", async () => {
    assert.match((await failing({ status: 304 })).message, /^HTTP 304: Not Modified, in t\./);
    assert.equal((await failing({ status: 302 })).details.statusCode, 302);
  });
});

describe("the size limit", () => {
  it("the size limit of a body is that of the configuration, announced or not", async () => {
    const body = Buffer.alloc(1001, 120);
    const chunked = { headers: { ...type("text/plain"), "transfer-encoding": "chunked" }, body };
    const announced = { headers: { ...type("text/plain"), "content-length": 1001 }, body };
    for (const response of [chunked, announced]) {
      assert.match(
        (await failureOf(call(response, { maxResponseBytes: 1000 }))).message,
        /limit of 1000 bytes/,
      );
      assert.equal((await call(response, { maxResponseBytes: 1001 })).data.length, 1001);
    }
  });
});

describe("through the registry", () => {
  it("an output takes the declared shape, and an empty one stays empty", async () => {
    const schema = {
      type: "object",
      properties: { id: { type: "integer" } },
      required: ["id"],
      additionalProperties: false,
    };
    const responses = { 200: { description: "", content: { "application/json": { schema } } } };
    const registry = registryOf({ "/": { get: { operationId: "it", responses } } }, { baseUrl });
    next = { headers: type("application/json"), body: '{"id":"7","extra":1}' };
    assert.deepEqual((await registry.execute("t.it", {}, {})).data, { id: 7 });
    next = { status: 204 };
    assert.equal((await registry.execute("t.it", {}, {})).data, undefined);
  });

  it("an input that does not fit is refused before anything is sent", async () => {
    const parameters = [{ name: "n", in: "query", schema: { type: "integer" } }];
    const registry = registryOf(
      { "/": { get: { operationId: "it", parameters, responses: answers() } } },
      { baseUrl },
    );
    await assert.rejects(registry.execute("t.it", { n: "x" }, {}), { code: "VALIDATION_ERROR" });
  });
});

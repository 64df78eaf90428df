// Every type of request body, as a real server receives it.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sendJson, serve, single } from "./support.mjs";

let last;
const { url: baseUrl } = await serve((request, response) => {
  last = request;
  sendJson(response, null);
});

async function send(mediaType, body, more = {}) {
  const requestBody = { content: { [mediaType]: more } };
  await single("post", { requestBody }, { baseUrl })({ body }, {});
  return { type: last.headers["content-type"], text: last.content.toString(), bytes: last.content };
}

describe("a JSON body", () => {
  for (const [value, text] of [
    [{ a: 1, b: [true, null, "x"] }, '{"a":1,"b":[true,null,"x"]}'],
    [0, "0"],
    [false, "false"],
    ["", '""'],
    [null, "null"],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
    [{ big: 2n ** 64n }, '{"big":18446744073709551616}'],
    [{ bytes: new Uint8Array([1, 2, 3]), list: [Buffer.from("é")] }, '{"bytes":"AQID","list":["w6k="]}'],
    [{ kept: 1, left: undefined, also: () => 1 }, '{"kept":1}'],
    [JSON.parse('{"__proto__":1,"constructor":2}'), '{"__proto__":1,"constructor":2}'],
  ]) {
    it(`a JSON body is written as ${text}`, async () => {
      assert.deepEqual(await send("application/json", value), {
        type: "application/json",
        text,
        bytes: Buffer.from(text),
      });
    });
  }

  it("a JSON body keeps its own media type", async () => {
    const { type, text } = await send("application/merge-patch+json", { a: null });
    assert.deepEqual([type, text], ["application/merge-patch+json", '{"a":null}']);
  });

  it("a JSON body is chosen among several types", async () => {
    const requestBody = { content: { "application/xml": {}, "application/json": {}, "text/plain": {} } };
    await single("post", { requestBody }, { baseUrl })({ body: { a: 1 } }, {});
    assert.equal(last.headers["content-type"], "application/json");
  });

  it("a JSON body of 2 MB arrives whole", async () => {
    const body = Array.from({ length: 20_000 }, (_, id) => ({
      id,
      text: "some words that make it long enough ü",
    }));
    const { text } = await send("application/json", body);
    assert.equal(text, JSON.stringify(body));
  });
});

describe("no body", () => {
  it("a request without a body has no content type, even if a default header says otherwise", async () => {
    const requestBody = { content: { "application/json": {} } };
    const config = { baseUrl, headers: { "Content-Type": "application/json" } };
    await single("post", { requestBody }, config)({}, {});
    assert.equal(last.headers["content-type"], undefined);
    assert.equal(last.headers["content-length"], "0");
  });
});

describe("a form body", () => {
  const form = "application/x-www-form-urlencoded";
  it("a form body has a field for each property", async () => {
    const { type, text } = await send(form, {
      a: "x y&z",
      list: [1, 2],
      flag: false,
      big: 7n,
      nested: { k: 1 },
    });
    assert.equal(type, form);
    assert.deepEqual(
      [...new URLSearchParams(text)],
      [
        ["a", "x y&z"],
        ["list", "1"],
        ["list", "2"],
        ["flag", "false"],
        ["big", "7"],
        ["nested", '{"k":1}'],
      ],
    );
  });

  it("a form body follows the document's encoding", async () => {
    const encoding = {
      list: { style: "pipeDelimited", explode: false },
      deep: { style: "deepObject", explode: true },
    };
    const { text } = await send(form, { list: ["a", "b"], deep: { x: 1 } }, { encoding });
    assert.equal(text, "list=a%7Cb&deep%5Bx%5D=1");
  });

  it("a form body that is a string is sent as it is", async () => {
    assert.equal((await send(form, "a=1&b=2")).text, "a=1&b=2");
  });
});

describe("a multipart body", () => {
  /** As another implementation reads it. */
  async function parts(body, more) {
    const { type, bytes } = await send("multipart/form-data", body, more);
    const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
    const read = [];
    for (const [name, value] of form) {
      if (typeof value === "string") read.push([name, value]);
      else
        read.push([name, value.name, value.type, Buffer.from(await value.arrayBuffer()).toString("latin1")]);
    }
    return read;
  }

  it("a multipart body has a part for each property", async () => {
    assert.deepEqual(await parts({ a: "text", n: 1, o: { k: [1] }, list: ["x", "y"] }), [
      ["a", "text"],
      ["n", "1"],
      ["o", '{"k":[1]}'],
      ["list", "x"],
      ["list", "y"],
    ]);
  });

  it("a multipart body takes files in every form that JavaScript has", async () => {
    const bytes = new Uint8Array([0, 13, 10, 255]);
    const text = "\x00\r\n\xff";
    const body = {
      view: bytes.subarray(0, 4),
      buffer: bytes.buffer,
      blob: new Blob([bytes], { type: "image/png" }),
      file: new File([bytes], 'na"me.gif', { type: "image/gif" }),
      described: { data: bytes, filename: "a.bin", contentType: "application/x-own" },
      written: { data: "\x00", filename: "t.txt", contentType: "text/plain" },
      many: [new File(["1"], "1.txt", { type: "text/plain" }), { data: new Blob(["2"]), filename: "2.txt" }],
    };
    const read = await parts(body);
    const binary = "application/octet-stream";
    assert.deepEqual(
      read.map(([name, , , content]) => [name, content]),
      [
        ["view", text],
        ["buffer", text],
        ["blob", text],
        ["file", text],
        ["described", text],
        ["written", "\x00"],
        ["many", "1"],
        ["many", "2"],
      ],
    );
    assert.deepEqual(read[2].slice(2, 3), ["image/png"]);
    assert.deepEqual(read[3].slice(1, 3), ['na"me.gif', "image/gif"]);
    assert.deepEqual(read[4].slice(1, 3), ["a.bin", "application/x-own"]);
    assert.deepEqual(read[5].slice(1, 3), ["t.txt", "text/plain"]);
    assert.deepEqual(read[7].slice(1, 3), ["2.txt", binary]);
    assert.equal(read[0][2], binary);
  });

  it("a multipart body states the type of a part that the document gives", async () => {
    const encoding = { meta: { contentType: "application/vnd.x+json" } };
    const { text } = await send("multipart/form-data", { meta: { a: 1 } }, { encoding });
    assert.match(text, /name="meta"\r\nContent-Type: application\/vnd\.x\+json\r\n\r\n\{"a":1\}/);
  });
});

describe("other bodies", () => {
  it("a text body is sent as text", async () => {
    const { type, text } = await send("text/plain", "grün");
    assert.deepEqual([type, text], ["text/plain", "grün"]);
    assert.equal((await send("text/plain", 42)).text, "42");
    assert.equal((await send("text/plain", "")).text, "");
  });

  it("a text body may be XML", async () => {
    assert.equal((await send("application/xml", "<a/>")).text, "<a/>");
    await assert.rejects(send("application/xml", { a: 1 }), {
      code: "VALIDATION_ERROR",
      message: /application\/xml/,
    });
  });

  it("a binary body is sent from any kind of buffer", async () => {
    const bytes = new Uint8Array([0, 1, 254, 255]);
    const around = new Uint8Array([9, ...bytes, 9]);
    for (const body of [
      bytes,
      bytes.buffer,
      new Blob([bytes]),
      Buffer.from(bytes),
      around.subarray(1, 5),
      new DataView(bytes.buffer),
    ]) {
      const { type, bytes: arrived } = await send("application/octet-stream", body);
      assert.equal(type, "application/octet-stream");
      assert.deepEqual([...arrived], [...bytes]);
    }
  });

  it("bytes that are changed while they are sent arrive as they were", async () => {
    const body = new Uint8Array(1_000_000).fill(7);
    const sending = send("application/octet-stream", body);
    body.fill(8);
    assert.ok((await sending).bytes.every((byte) => byte === 7));
  });

  it("a list is sent as newline-delimited JSON", async () => {
    assert.equal((await send("application/x-ndjson", [{ a: 1 }, 2])).text, '{"a":1}\n2\n');
  });

  it("a body with a media range takes the type of the value", async () => {
    assert.equal((await send("*/*", new Blob(["x"], { type: "image/webp" }))).type, "image/webp");
    assert.equal((await send("*/*", { a: 1 })).type, "application/json");
  });
});

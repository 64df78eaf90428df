// Files as input: `multipart/form-data` at the HTTP door.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FromOpenAPI } from "@alkdev/operations";
import { toOpenAPI } from "@alkdev/operations/serve";
import { Type } from "@sinclair/typebox";
import { answers, documentOf, sendJson, serve as upstream } from "../http/support.mjs";
import { operation, post, serving } from "./support.mjs";

const inputSchema = Type.Object({
  file: Type.Uint8Array(),
  width: Type.Optional(Type.Number()),
  tags: Type.Optional(Type.Array(Type.String())),
  about: Type.Optional(Type.Object({ by: Type.String() })),
  more: Type.Optional(Type.Array(Type.Uint8Array())),
});
const add = operation({
  namespace: "photos",
  name: "add",
  type: "mutation",
  inputSchema,
  outputSchema: Type.Unknown(),
  handler: ({ file, more, ...rest }) => ({
    isBytes: file instanceof Uint8Array,
    file: [...file],
    more: more?.map((each) => [...each]),
    ...rest,
  }),
});
const api = await upstream((_request, response) => sendJson(response, {}));
const imported = FromOpenAPI(
  documentOf({
    "/albums/{id}/photos": {
      put: {
        operationId: "put_photo",
        parameters: [{ in: "path", name: "id", required: true, schema: { type: "integer" } }],
        requestBody: {
          required: true,
          content: {
            "multipart/form-data": {
              schema: {
                type: "object",
                required: ["file"],
                properties: { file: { type: "string", format: "binary" }, note: { type: "string" } },
              },
            },
          },
        },
        responses: answers(),
      },
    },
  }),
  { namespace: "albums", baseUrl: api.url },
);
const served = await serving([add, ...imported], { maxBodyBytes: 100_000 });
const url = `${served.url}/api/photos/add`;

function formOf(...fields) {
  const form = new FormData();
  for (const field of fields) form.append(...field);
  return form;
}
const file = ["file", new Blob([new Uint8Array([0, 13, 10, 255])]), "a.bin"];
const send = (body, more) => fetch(url, { method: "POST", body, ...more });

describe("uploads", () => {
  it("a file arrives as the bytes that JSON would have carried, and fields as the schema says", async () => {
    const form = formOf(file, ["width", "640"], ["tags", "1"], ["tags", "b"], ["about", '{"by":"ada"}']);
    form.append("more", new Blob(["x"]), "x");
    const response = await send(form);
    const expected = {
      isBytes: true,
      file: [0, 13, 10, 255],
      more: [[120]],
      width: 640,
      tags: ["1", "b"],
      about: { by: "ada" },
    };
    assert.deepEqual(await response.json(), expected);
    const { isBytes, ...rest } = expected;
    const json = { ...rest, file: { $bytes: "AA0K/w==" }, more: [{ $bytes: "eA==" }] };
    assert.deepEqual(await (await post(url, json)).json(), expected);
  });

  it("a Blob of JSON is JSON, though browsers name it as a file", async () => {
    const about = new Blob(['{"by":"ada"}'], { type: "application/json" });
    const response = await send(formOf(file, ["about", about]));
    assert.deepEqual((await response.json()).about, { by: "ada" });
  });

  it("what cannot be read is refused with its path", async () => {
    for (const [fields, path] of [
      [[file, ["width", "9007199254740993"]], "/width"],
      [[file, ["width", "wide"]], "/width"],
      [[file, ["width", "1"], ["width", "2"]], "/width"],
      [[file, file], "/file"],
      [[["file", "text"]], "/file"],
      [[file, ["about", new Blob(["{"], { type: "application/json" })]], "/about"],
      [[file, ["about", '{"by":9007199254740993}']], "/about/by"],
      [[file, ["tags", new Blob(["x"]), "x"]], "/tags/0"],
      [[["width", "1"]], "/file"],
    ]) {
      const response = await send(formOf(...fields));
      const problem = await response.json();
      assert.equal(response.status, 400, JSON.stringify(problem));
      assert.equal(problem.errors?.[0].path, path, JSON.stringify(problem));
    }
  });

  it("forms that break off, have no names or no boundary, or are too large are refused", async () => {
    const type = { "content-type": "multipart/form-data; boundary=x" };
    for (const [body, headers, status] of [
      ['--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nabc', type, 400],
      ["--x\r\nContent-Disposition: form-data\r\n\r\nabc\r\n--x--\r\n", type, 400],
      ["nothing of the kind", type, 400],
      ["--x--", { "content-type": "multipart/form-data" }, 415],
    ]) {
      const response = await send(body, { headers });
      assert.equal(response.status, status, `${body}: ${await response.text()}`);
    }
    assert.equal((await send("x".repeat(100_001), { headers: type })).status, 413);
    const many = formOf(file);
    for (let i = 0; i < 1000; i++) many.append("tags", "");
    assert.equal((await send(many)).status, 400);
  });

  it("a client that is still sending megabytes reads why it was refused, and its connection goes on", async () => {
    const closed = await serving([add], {
      tokens: { secret: { id: "ada", scopes: [] } },
      maxBodyBytes: 100_000,
    });
    const large = () => formOf(["file", new Blob([new Uint8Array(6_000_000)]), "large.bin"]);
    const streamed = () => new Blob([new Uint8Array(6_000_000)]).stream();
    const at = `${closed.url}/api/photos/add`;
    const known = { authorization: "Bearer secret" };
    for (let round = 0; round < 5; round++) {
      for (const body of [large, streamed]) {
        const refused = async (target, headers) => {
          const response = await fetch(target, { method: "POST", body: body(), headers, duplex: "half" });
          await response.text();
          return response.status;
        };
        assert.equal(await refused(at, {}), 401);
        assert.equal(await refused(at, { ...known, origin: "https://evil.example" }), 403);
        assert.equal(await refused(`${closed.url}/api/photos/none`, known), 404);
        assert.equal(await refused(`${closed.url}/none`, known), 404);
        const type = body === streamed ? { "content-type": "application/json" } : {};
        assert.equal(await refused(at, { ...known, ...type }), 413);
        assert.equal(await refused(`${closed.url}/mcp`, {}), 401);
      }
    }
  });

  it("a page of another site cannot send a form", async () => {
    const headers = { "content-type": "multipart/form-data; boundary=x", origin: "https://evil.example" };
    const body = '--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\na\r\n--x--\r\n';
    const response = await send(body, { headers });
    assert.equal(response.status, 403);
  });

  it("an imported upload takes the form of its upstream server, at the same address", async () => {
    const target = `${served.url}/api/albums/7/photos`;
    const response = await fetch(target, { method: "PUT", body: formOf(file, ["note", "42"]) });
    assert.equal(response.status, 200, await response.text());
    const { url: path, headers, content } = api.received.pop();
    const text = content.toString("latin1");
    assert.equal(path, "/albums/7/photos");
    assert.match(headers["content-type"], /^multipart\/form-data/);
    assert.match(text, /name="file"[\s\S]*\r\n\r\n\0\r\n\xff\r\n/);
    assert.match(text, /name="note"\r\n\r\n42\r\n/);
    const wrong = await fetch(target, { method: "PUT", body: formOf(["file", "text"]) });
    assert.equal(wrong.status, 400);
    assert.match(JSON.stringify(await wrong.json()), /"path":"\/body\/file"/);
  });

  it("the document says which operations take forms, and an import of it has the same operations", async () => {
    const document = toOpenAPI(served.registry, { title: "t", version: "1" });
    const { content } = document.paths["/photos/add"].post.requestBody;
    assert.deepEqual(Object.keys(content), ["application/json", "multipart/form-data"]);
    const { properties, required } = content["multipart/form-data"].schema;
    const binary = { type: "string", format: "binary" };
    assert.deepEqual(properties.file, binary);
    assert.deepEqual(properties.more, { type: "array", items: binary });
    assert.deepEqual(properties.width, { type: "number" });
    assert.deepEqual(required, ["file"]);
    const again = FromOpenAPI(document, { baseUrl: `${served.url}/api` });
    const idOf = ({ namespace, name }) => `${namespace}.${name}`;
    assert.deepEqual(again.map(idOf).sort(), [add, ...imported].map(idOf).sort());
    const far = again.find(({ name }) => name === "put_photo");
    const [near] = imported;
    assert.deepEqual(
      JSON.parse(JSON.stringify(far.inputSchema)),
      JSON.parse(JSON.stringify(near.inputSchema)),
    );
  });
});

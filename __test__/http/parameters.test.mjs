// Every cell of the style tables of OpenAPI 3.0.4 and 3.1.1, as a real server receives it.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { answers, echo, handlers, serve } from "./support.mjs";

const { url: baseUrl } = await serve(echo);

const values = {
  empty: "",
  string: "blue",
  array: ["blue", "black", "brown"],
  object: { R: 100, G: 200, B: 150 },
};

/** style, explode, and what is written for each of the values; `undefined` where the tables have no entry. */
const path = [
  ["matrix", false, ";color", ";color=blue", ";color=blue,black,brown", ";color=R,100,G,200,B,150"],
  ["matrix", true, ";color", ";color=blue", ";color=blue;color=black;color=brown", ";R=100;G=200;B=150"],
  ["label", false, ".", ".blue", ".blue,black,brown", ".R,100,G,200,B,150"],
  ["label", true, ".", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"],
  ["simple", false, "", "blue", "blue,black,brown", "R,100,G,200,B,150"],
  ["simple", true, "", "blue", "blue,black,brown", "R=100,G=200,B=150"],
];
const query = [
  ["form", false, "color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"],
  ["form", true, "color=", "color=blue", "color=blue&color=black&color=brown", "R=100&G=200&B=150"],
  [
    "spaceDelimited",
    false,
    undefined,
    undefined,
    "color=blue%20black%20brown",
    "color=R%20100%20G%20200%20B%20150",
  ],
  [
    "pipeDelimited",
    false,
    undefined,
    undefined,
    "color=blue%7Cblack%7Cbrown",
    "color=R%7C100%7CG%7C200%7CB%7C150",
  ],
  ["deepObject", true, undefined, undefined, undefined, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"],
];
const header = [
  ["simple", false, "", "blue", "blue,black,brown", "R,100,G,200,B,150"],
  ["simple", true, "", "blue", "blue,black,brown", "R=100,G=200,B=150"],
];
const cookie = [
  ["form", false, "color=", "color=blue", "color=blue,black,brown", "color=R,100,G,200,B,150"],
  ["form", true, "color=", "color=blue", "color=blue; color=black; color=brown", "R=100; G=200; B=150"],
];

async function received(place, style, explode, value) {
  const parameter = { name: "color", in: place, required: true, style, explode, schema: {} };
  const at = place === "path" ? "/at/x{color}" : "/at/";
  const { it: call } = handlers(
    { [at]: { get: { operationId: "it", parameters: [parameter], responses: answers() } } },
    { baseUrl },
  );
  const { data } = await call({ color: value }, {});
  return data;
}

for (const [place, table] of Object.entries({ path, query, header, cookie })) {
  describe(`a ${place} parameter`, () => {
    for (const [style, explode, ...cells] of table) {
      for (const [index, [kind, value]] of Object.entries(values).entries()) {
        if (cells[index] === undefined) continue;
        it(`a ${place} parameter, ${style}, explode ${explode}, ${kind}, is written as ${cells[index]}`, async () => {
          const { url, headers } = await received(place, style, explode, value);
          const written = {
            path: () => url.slice("/at/x".length),
            query: () => url.slice("/at/?".length),
            header: () => headers.color ?? "",
            cookie: () => headers.cookie,
          }[place]();
          assert.equal(written, cells[index]);
        });
      }
    }
  });
}

describe("parameters", () => {
  it("parameters are escaped if they would mean something else", async () => {
    const { url } = await received("path", "simple", false, "a/b?c#d%e ü;=");
    assert.equal(url, "/at/xa%2Fb%3Fc%23d%25e%20%C3%BC%3B%3D");
    const { url: query } = await received("query", "form", true, "a&b=c d+é");
    assert.equal(query, "/at/?color=a%26b%3Dc%20d%2B%C3%A9");
  });

  it("parameters of the same name in different locations are both reachable", async () => {
    const { it: call } = handlers(
      {
        "/x/{id}": {
          post: {
            operationId: "it",
            parameters: [
              { name: "id", in: "path", required: true, schema: { type: "string" } },
              { name: "id", in: "query", schema: { type: "string" } },
              { name: "body", in: "header", schema: { type: "string" } },
            ],
            requestBody: { content: { "application/json": {} } },
            responses: answers(),
          },
        },
      },
      { baseUrl },
    );
    const { data } = await call({ id: "1", query_id: "2", header_body: "3", body: 4 }, {});
    assert.equal(data.url, "/x/1?id=2");
    assert.equal(data.headers.body, "3");
    assert.equal(data.body, "4");
  });

  it("parameters with content are JSON, and dates, big integers and bytes are written as text", async () => {
    const parameter = (name, more) => ({ name, in: "query", ...more });
    const { it: call } = handlers(
      {
        "/": {
          get: {
            operationId: "it",
            parameters: [
              parameter("filter", { content: { "application/json": {} } }),
              parameter("when", { schema: {} }),
              parameter("big", { schema: {} }),
              parameter("bytes", { schema: {} }),
              parameter("left", { schema: {} }),
            ],
            responses: answers(),
          },
        },
      },
      { baseUrl },
    );
    const input = {
      filter: { a: [1, null] },
      when: new Date(0),
      big: 12345678901234567890n,
      bytes: new Uint8Array([255, 0]),
      left: undefined,
    };
    const { data } = await call(input, {});
    const query = new URLSearchParams(data.url.slice(2));
    assert.deepEqual(Object.fromEntries(query), {
      filter: '{"a":[1,null]}',
      when: "1970-01-01T00:00:00.000Z",
      big: "12345678901234567890",
      bytes: "/wA=",
    });
  });

  it("missing parameters are refused before anything is sent", async () => {
    const { it: call } = handlers(
      {
        "/{id}": {
          get: {
            operationId: "it",
            parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
            responses: answers(),
          },
        },
      },
      { baseUrl },
    );
    await assert.rejects(call({}, {}), { code: "VALIDATION_ERROR", message: /"id" is required and missing/ });
    await assert.rejects(call({ id: null }, {}), { code: "VALIDATION_ERROR" });
  });

  it("parameters that contain themselves, or are too deep, are refused", async () => {
    const { it: call } = handlers(
      {
        "/": {
          post: {
            operationId: "it",
            requestBody: { content: { "application/json": {} } },
            responses: answers(),
          },
        },
      },
      { baseUrl },
    );
    const loop = {};
    loop.self = loop;
    await assert.rejects(call({ body: loop }, {}), { code: "VALIDATION_ERROR", message: /contains itself/ });
    let deep = 1;
    for (let level = 0; level < 600; level++) deep = [deep];
    await assert.rejects(call({ body: deep }, {}), { code: "VALIDATION_ERROR", message: /512 levels/ });
    let fits = 1;
    for (let level = 0; level < 500; level++) fits = [fits];
    const { data } = await call({ body: fits }, {});
    assert.equal(data.body, JSON.stringify(fits));
  });
});

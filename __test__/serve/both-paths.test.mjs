// The same calls, answered natively and by JavaScript: the same bytes, the same meta, the same errors.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { createMCPClient, FromOpenAPI } from "@alkdev/operations";
import { documentOf, serve as upstream } from "../http/support.mjs";
import { serving } from "./support.mjs";

const ENVELOPE = "application/vnd.alkdev.envelope+json";

/** What the upstream server sends, by the name that is asked for. */
const ANSWERS = {
  object: [
    200,
    "application/json",
    '{ "n": 1.50, "big": 9007199254740993, "text": "\\u00e9\\ud83d\\ude00", "e": 1E3, "extra": [] }',
  ],
  created: [201, "application/json; charset=utf-8", '{"n":1}'],
  wrong: [200, "application/json", '{"n":"42","text":7}'],
  nothing: [200, "application/json", '{"text":"x"}'],
  list: [200, "application/json", "[1,2]"],
  empty: [204, undefined, ""],
  text: [200, "text/plain; charset=iso-8859-1", Buffer.from([0xe9, 0x21])],
  bytes: [200, "image/png", Buffer.from([0, 255, 1])],
  broken: [200, "application/json", "{"],
  deep: [200, "application/json", `${"[".repeat(200)}${"]".repeat(200)}`],
  missing: [404, "application/json", '{"reason":"none"}'],
  denied: [401, "text/html", "<p>no</p>"],
  down: [503, undefined, ""],
  events: [
    200,
    "text/event-stream",
    'id: a\nevent: tick\ndata: {"n":1.0}\n\ndata: plain\n\nretry: 10\ndata: {"n":"x"}\n\n',
  ],
};

const schema = {
  type: "object",
  required: ["n"],
  properties: {
    n: { type: "number" },
    text: { type: "string" },
    big: { type: "integer" },
    e: { type: "number" },
  },
};
const get = (operationId, mediaType) => ({
  get: {
    operationId,
    parameters: [{ in: "path", name: "what", required: true, schema: { type: "string" } }],
    responses: { 200: { description: "", content: { [mediaType]: { schema } } } },
  },
});
const document = documentOf({
  "/item/{what}": get("item", "application/json"),
  "/stream/{what}": get("stream", "text/event-stream"),
});

/** The same operations twice: as they are, and with a rule that only JavaScript can ask. */
async function bothPaths(operationsWith) {
  const native = await serving(operationsWith({ requiredScopes: [] }));
  const javascript = await serving(
    operationsWith({ requiredScopes: [], customAuth: "everybody" }),
    {},
    {
      customAuth: { everybody: () => true },
    },
  );
  return { native, javascript };
}

async function answerOf({ url }, path, init = {}) {
  const { headers, ...more } = init;
  const response = await fetch(`${url}/api/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    ...more,
  });
  const shown = Object.fromEntries(response.headers);
  for (const name of ["x-request-id", "date", "transfer-encoding", "content-length"]) delete shown[name];
  const body = Buffer.from(await response.arrayBuffer()).toString("latin1");
  return { status: response.status, headers: shown, body: told(body) };
}

/** What differs from call to call is left out. */
const told = (body) =>
  body
    .replace(/"requestId":"[^"]*"/g, '"requestId":""')
    .replace(/"date":"[^"]*"/g, '"date":""')
    .replace(/"timestamp":\d+/g, '"timestamp":0');

describe("an imported operation", () => {
  it("an imported operation gives the same responses from native code and from JavaScript", async () => {
    const api = await upstream(({ url }, response) => {
      const [status, contentType, body] = ANSWERS[url.split("/").at(-1)];
      response.writeHead(status, { ...(contentType && { "content-type": contentType }), etag: '"1"' });
      response.end(body);
    });
    const { native, javascript } = await bothPaths((accessControl) =>
      FromOpenAPI(document, { namespace: "api", baseUrl: api.url, accessControl }),
    );
    for (const what of Object.keys(ANSWERS)) {
      for (const operation of ["item", "stream"]) {
        for (const accept of ["application/json", ENVELOPE]) {
          const init = { body: JSON.stringify({ what }), headers: { accept } };
          const [here, there] = [
            await answerOf(native, `api/${operation}`, init),
            await answerOf(javascript, `api/${operation}`, init),
          ];
          assert.deepEqual(here, there, `${operation} of ${what}, ${accept}`);
        }
      }
    }
    for (const body of [
      '{"what":7}',
      "{}",
      "[",
      undefined,
      '{"what":"item","more":1}'.replace("item", "object"),
    ]) {
      const init = body === undefined ? {} : { body };
      assert.deepEqual(
        await answerOf(native, "api/item", init),
        await answerOf(javascript, "api/item", init),
        body,
      );
    }
  });
});

describe("an MCP tool", () => {
  it("an MCP tool gives the same responses from native code and from JavaScript", async () => {
    const server = fileURLToPath(new URL("../../examples/mcp-server.mjs", import.meta.url));
    const clients = [];
    after(() => Promise.all(clients.map((client) => client.close())));
    const tools = async (accessControl) => {
      const client = await createMCPClient("notes", {
        command: process.execPath,
        args: [server],
        accessControl,
      });
      clients.push(client);
      return client.tools;
    };
    const lists = [
      await tools({ requiredScopes: [] }),
      await tools({ requiredScopes: [], customAuth: "everybody" }),
    ];
    const { native, javascript } = await bothPaths(() => lists.shift());
    for (const [name, input] of [
      ["find_notes", { text: "plants" }],
      ["find_notes", { text: 7 }],
      ["tick_note", { id: 1 }],
      ["tick_note", { id: 99 }],
    ]) {
      for (const accept of ["application/json", ENVELOPE]) {
        const init = { body: JSON.stringify(input), headers: { accept } };
        assert.deepEqual(
          await answerOf(native, `notes/${name}`, init),
          await answerOf(javascript, `notes/${name}`, init),
          `${name} ${accept}`,
        );
      }
    }
  });
});

// Integers that a JavaScript number cannot hold: noted where they are rounded, kept where the user wants that.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { configure, reset } from "@logtape/logtape";
import { Value } from "@sinclair/typebox/value";
import { documentOf, failureOf, serve } from "./support.mjs";

const BIG = "9007199254740993";
const int64 = { type: "integer", format: "int64" };
const schemas = {
  Pet: {
    type: "object",
    required: ["id"],
    properties: {
      id: int64,
      mother: { type: ["integer", "null"], format: "int64" },
      plain: { type: "integer" },
      friends: { type: "array", items: int64 },
    },
  },
};
const Pet = { $ref: "#/components/schemas/Pet" };
const json = { "application/json": { schema: Pet } };
const document = documentOf(
  {
    "/pets/{id}": {
      get: {
        operationId: "get",
        parameters: [{ name: "id", in: "path", required: true, schema: int64 }],
        responses: { 200: { description: "", content: json } },
      },
    },
    "/pets": {
      post: {
        operationId: "create",
        requestBody: { required: true, content: json },
        responses: { 200: { description: "", content: json } },
      },
    },
    "/events": {
      get: {
        operationId: "events",
        responses: { 200: { description: "", content: { "text/event-stream": { schema: Pet } } } },
      },
    },
    "/lines": {
      get: {
        operationId: "lines",
        responses: { 200: { description: "", content: { "application/x-ndjson": { schema: Pet } } } },
      },
    },
    "/anything": {
      get: {
        operationId: "anything",
        responses: { 200: { description: "", content: { "application/json": {} } } },
      },
    },
  },
  { components: { schemas } },
);
const genuine = globalThis.fetch;
const drivers = { native: undefined, fetch: (url, init) => genuine(url, init) };
const rounded = (path, from = BIG, to = "9007199254740992") => ({
  path,
  message: `${from} was rounded to ${to}, because a number holds integers up to 2^53 only; config.int64 keeps those that the document calls int64`,
});

// The name of the driver is the namespace: the same line is logged once a minute for an operation.
for (const [t, fetch] of Object.entries(drivers)) {
  describe(`integers beyond 2^53, through ${t}`, () => {
    /** A registry of the operations, and what its server is asked. It answers with `body`. */
    const open = async (body, config = {}, options = {}) => {
      const { url: baseUrl, received } = await serve(({ url }, response) => {
        const type = { "/events": "text/event-stream", "/lines": "application/x-ndjson" }[url];
        response.writeHead(200, { "content-type": type ?? "application/json" });
        response.end(body);
      });
      const registry = new OperationRegistry(options);
      const operations = FromOpenAPI(document, { namespace: t, baseUrl, fetch, ...config });
      registry.registerAll(operations);
      return { registry, operations, received };
    };
    const ask = async (body, config, options) => {
      const { registry } = await open(body, config, options);
      return registry.execute(`${t}.get`, { id: 1 }, {});
    };

    it(`integers beyond 2^53 are numbers by default, and rounded ones are noted and logged, through ${t}`, async () => {
      const lines = [];
      await configure({
        sinks: { list: (record) => lines.push(record) },
        loggers: [
          { category: "operations", sinks: ["list"], lowestLevel: "warning" },
          { category: ["logtape", "meta"], sinks: [], lowestLevel: "error" },
        ],
      });
      try {
        const { data, meta } = await ask(`{"id":${BIG},"plain":-${BIG},"friends":[1,1152921504606846976]}`);
        assert.deepEqual(data, { id: 2 ** 53, plain: -(2 ** 53), friends: [1, 2 ** 60] });
        assert.deepEqual(meta.notes, [rounded("/id"), rounded("/plain", `-${BIG}`, "-9007199254740992")]);
        const said = lines.map(({ message }) => message.join("")).join("\n");
        assert.match(
          said,
          /The output of operation \w+\.get comes with notes:\n {2}- \/id: 9007199254740993 was rounded/,
        );
      } finally {
        await reset();
      }
    });

    it(`integers beyond 2^53 are noted in responses without a schema, and beside notes of normalisation, through ${t}`, async () => {
      const { registry } = await open(`[${BIG}]`);
      assert.deepEqual((await registry.execute(`${t}.anything`, {}, {})).meta.notes, [rounded("/0")]);
      const { data, meta } = await ask(`{"id":${BIG},"plain":"x"}`);
      assert.deepEqual(data, { id: 2 ** 53, plain: 0 });
      assert.deepEqual(
        meta.notes.map(({ path }) => path),
        ["/id", "/plain"],
      );
    });

    it(`integers that a number can hold, or in a text, are not noted, through ${t}`, async () => {
      const { meta } = await ask(`{"id":9007199254740992,"name":"${BIG}"}`);
      assert.equal("notes" in meta, false);
    });

    it(`int64 integers are strings if configured, through ${t}`, async () => {
      const body = `{"id":${BIG},"mother":-${BIG},"plain":${BIG},"friends":[1,1152921504606846976]}`;
      for (const output of ["normalise", "keep", "off", "strict"]) {
        const { data, meta } = await ask(body, { int64: "string" }, { output });
        const friends = [1, "1152921504606846976"];
        assert.deepEqual(data, { id: BIG, mother: `-${BIG}`, plain: 2 ** 53, friends }, output);
        assert.deepEqual(meta.notes, [rounded("/plain")], output);
      }
      assert.deepEqual((await ask('{"id":7,"mother":null}', { int64: "string" })).data, {
        id: 7,
        mother: null,
      });
    });

    it(`int64 integers are bigints if configured, through ${t}`, async () => {
      const body = `{"id":${BIG},"mother":-${BIG},"plain":${BIG},"friends":[1,1152921504606846976]}`;
      for (const output of ["normalise", "keep", "off", "strict"]) {
        const { data, meta } = await ask(body, { int64: "bigint" }, { output });
        const friends = [1, 2n ** 60n];
        assert.deepEqual(data, { id: BigInt(BIG), mother: -BigInt(BIG), plain: 2 ** 53, friends }, output);
        assert.deepEqual(meta.notes, [rounded("/plain")], output);
      }
      assert.deepEqual((await ask('{"id":7,"mother":null}', { int64: "bigint" })).data, {
        id: 7,
        mother: null,
      });
    });

    it(`integers beyond 2^53 are preserved in streams, each event with its own notes, through ${t}`, async () => {
      const each = async (id, body, config) => {
        const { registry } = await open(body, config);
        const seen = [];
        for await (const { data, meta } of registry.subscribe(id, {}, {})) seen.push([data, meta.notes]);
        return seen;
      };
      const events = `data: {"id":1}\n\ndata: {"id":${BIG},"plain":${BIG}}\n\n`;
      const lines = `{"id":1}\n{"id":${BIG},"plain":${BIG}}\n`;
      for (const [id, body] of [
        [`${t}.events`, events],
        [`${t}.lines`, lines],
      ]) {
        const seen = (value, notes) => [
          [{ id: 1 }, undefined],
          [{ id: value, plain: 2 ** 53 }, notes],
        ];
        assert.deepEqual(await each(id, body), seen(2 ** 53, [rounded("/id"), rounded("/plain")]));
        assert.deepEqual(await each(id, body, { int64: "string" }), seen(BIG, [rounded("/plain")]));
        assert.deepEqual(await each(id, body, { int64: "bigint" }), seen(BigInt(BIG), [rounded("/plain")]));
      }
    });

    it(`integers beyond 2^53 can be sent as they were received, through ${t}`, async () => {
      for (const [kind, big] of [
        ["string", BIG],
        ["bigint", BigInt(BIG)],
      ]) {
        const { registry, received } = await open('{"id":1}', { int64: kind });
        await registry.execute(`${t}.get`, { id: big }, {});
        await registry.execute(`${t}.create`, { body: { id: big, friends: [1, big] } }, {});
        assert.equal(received[0].url, `/pets/${BIG}`);
        assert.equal(received[1].content.toString(), `{"id":${BIG},"friends":[1,${BIG}]}`);
      }
      const { registry } = await open("{}", { int64: "string" });
      for (const id of ["x", "1.5", "", true]) {
        const error = await failureOf(registry.execute(`${t}.get`, { id }, {}));
        assert.equal(error.code, "VALIDATION_ERROR", String(id));
      }
    });

    it(`integers beyond 2^53 have schemas that say so, which TypeBox understands, through ${t}`, async () => {
      const check = async (kind, value) => {
        const { operations } = await open("{}", { int64: kind });
        return Value.Check(operations[0].outputSchema, { id: value });
      };
      assert.equal(await check("string", BIG), true);
      assert.equal(await check("string", "x"), false);
      assert.equal(await check("string", 5), true);
      assert.equal(await check("bigint", 5n), true);
      assert.equal(await check("bigint", 5), true);
      assert.equal(await check("bigint", "5"), false);
      assert.equal(await check(undefined, BIG), false);
    });
  });
}

it("an unknown value of int64 is refused by name", () => {
  assert.throws(() => FromOpenAPI(document, { namespace: "t", int64: "number" }), {
    code: "VALIDATION_ERROR",
    message: /config\.int64 must be "string" or "bigint"/,
  });
});

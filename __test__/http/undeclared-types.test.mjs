// A response of a type that the document does not declare is what was sent, and says so.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { failureOf, registryOf, serve } from "./support.mjs";

const schema = {
  type: "object",
  required: ["count", "open"],
  properties: { count: { type: "integer" }, open: { type: "boolean" } },
};
const genuine = globalThis.fetch;
const drivers = { "the native client": undefined, "a fetch": (url, init) => genuine(url, init) };

for (const [name, fetch] of Object.entries(drivers)) {
  describe(`a response of an undeclared type, through ${name}`, () => {
    const answer = async (type, body, content = { "application/json": { schema } }, config = {}) => {
      const { url: baseUrl } = await serve((_, response) => {
        if (type !== undefined) response.setHeader("content-type", type);
        response.end(body);
      });
      const responses = { 200: { description: "", content } };
      const registry = registryOf(
        { "/": { get: { operationId: "it", responses } } },
        { baseUrl, fetch, ...config },
      );
      return registry.execute("t.it", {}, {});
    };

    it(`a response of an undeclared type is returned as it was sent, with a note, through ${name}`, async () => {
      const page = "<html>Please log in</html>";
      const { data, meta } = await answer("text/html; charset=utf-8", page);
      assert.equal(data, page);
      assert.deepEqual(meta.notes, [
        {
          path: "",
          message: "The response is text/html, and the document declares only application/json",
        },
      ]);
      const problem = await answer("application/problem+json", '{"title":"No","count":"x"}');
      assert.deepEqual(problem.data, { title: "No", count: "x" });
      assert.equal(problem.meta.notes.length, 1);
      const silent = await answer(undefined, "x");
      assert.match(silent.meta.notes[0].message, /has no content type/);
    });

    it(`a response of an undeclared type is refused in strict mode, however well it fits, through ${name}`, async () => {
      const sent = '{"count":1,"open":true}';
      for (const content of [{ "application/json": { schema } }, { "application/json": {} }]) {
        const error = await failureOf(answer("text/x-json", sent, content, { output: "strict" }));
        assert.equal(error.code, "EXECUTION_ERROR");
        assert.equal(
          error.message,
          "Operation t.it answered differently than declared: " +
            "The response is text/x-json, and the document declares only application/json",
        );
        const { envelope, errors, reason, delivery } = error.details;
        assert.equal(envelope.data, sent);
        assert.deepEqual(errors, envelope.meta.notes);
        assert.deepEqual([reason, delivery], ["undeclared-type", "done"]);
      }
      const error = await failureOf(answer(undefined, "x", undefined, { output: "strict" }));
      assert.match(error.message, /The response has no content type, and the document/);
      const declared = await answer("application/json", sent, undefined, { output: "strict" });
      assert.deepEqual(declared.data, { count: 1, open: true });
    });

    it(`a response type is declared if a range, another case or parameters cover it, through ${name}`, async () => {
      const sent = '{"count":1,"open":true,"more":1}';
      for (const [type, content] of [
        ["application/json; charset=utf-8", undefined],
        ["Application/JSON", undefined],
        ["application/vnd.x+json", { "application/*": { schema } }],
        ["application/hal+json", { "*/*": { schema } }],
      ]) {
        const { data, meta } = await answer(type, sent, content);
        assert.deepEqual(data, { count: 1, open: true }, type);
        assert.equal("notes" in meta, false, type);
      }
    });

    it(`a response type is not undeclared if the document declares no type, or the body is empty, through ${name}`, async () => {
      assert.equal("notes" in (await answer("text/html", "x", {})).meta, false);
      assert.equal("notes" in (await answer("text/html", "")).meta, false);
    });
  });
}

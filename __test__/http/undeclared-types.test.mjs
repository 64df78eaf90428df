// A response of a type that the document does not declare is what was sent, and says so.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { rejection } from "../registry/support/operations.mjs";
import { registryOf, serve } from "./support.mjs";

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

    it("is handed on as it was sent, with a note", async () => {
      const page = "<html>Please log in</html>";
      const { data, meta } = await answer("text/html; charset=utf-8", page);
      assert.equal(data, page);
      assert.deepEqual(meta.notes, [
        {
          path: "",
          message:
            "The response is text/html, and the document declares application/json; it was left as it was sent",
        },
      ]);
      const problem = await answer("application/problem+json", '{"title":"No","count":"x"}');
      assert.deepEqual(problem.data, { title: "No", count: "x" });
      assert.equal(problem.meta.notes.length, 1);
      const silent = await answer(undefined, "x");
      assert.match(silent.meta.notes[0].message, /has no content type/);
    });

    it("is refused in strict mode, however well it fits", async () => {
      const sent = '{"count":1,"open":true}';
      for (const content of [{ "application/json": { schema } }, { "application/json": {} }]) {
        const { thrown } = await rejection(answer("text/x-json", sent, content, { output: "strict" }));
        assert.equal(thrown.code, "EXECUTION_ERROR");
        assert.equal(
          thrown.message,
          "The response to t.it is of type text/x-json; the document declares another",
        );
        assert.equal(thrown.details.envelope.data, sent);
        assert.deepEqual([thrown.details.reason, thrown.details.delivery], ["undeclared-type", "done"]);
      }
      const { thrown } = await rejection(answer(undefined, "x", undefined, { output: "strict" }));
      assert.match(thrown.message, /^The response to t\.it has no content type; the document/);
    });

    it("is none where a range, another case or parameters cover it", async () => {
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

    it("is none where the document declares no type, or the body is empty", async () => {
      assert.equal("notes" in (await answer("text/html", "x", {})).meta, false);
      assert.equal("notes" in (await answer("text/html", "")).meta, false);
    });
  });
}

// In strict mode, what a service did not declare is refused, with the envelope in the details: also where the envelope holds
// what cannot travel.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FromOpenAPI } from "@alkdev/operations";
import { serve } from "../http/support.mjs";
import { DOCUMENT } from "./http-document.mjs";
import { skip, useNats } from "./support.mjs";

const BODIES = { "{}": { data: {} }, '{"n":1e400}': undefined, "[1]": { data: [1] } };

describe("a response of an undeclared type", { skip, timeout: 60_000 }, () => {
  const nats = useNats();

  for (const [name, through] of [
    ["without JavaScript", (operation) => operation],
    [
      "through JavaScript",
      ({ handler, ...rest }) => ({ ...rest, handler: (input, context) => handler(input, context) }),
    ],
  ]) {
    it(`a response of an undeclared type is refused ${name}; its details leave out only what cannot travel`, async () => {
      let body = "";
      const { url: baseUrl } = await serve((_, response) => {
        response.setHeader("content-type", "application/problem+json");
        response.end(body);
      });
      const config = { namespace: "api", baseUrl, output: "strict", include: "anything" };
      const operations = FromOpenAPI(DOCUMENT, config).map(through);
      const prefix = name.replace(" ", "-");
      await nats.worker(operations, { prefix });
      const { callMap } = await nats.connect({ prefix });
      for (const [sent, expected] of Object.entries(BODIES)) {
        body = sent;
        await assert.rejects(callMap.call("api.anything", {}), ({ code, details }) => {
          assert.equal(code, "EXECUTION_ERROR");
          const { envelope, errors, ...rest } = details;
          assert.deepEqual(rest, {
            operationId: "api.anything",
            reason: "undeclared-type",
            delivery: "done",
          });
          assert.match(errors[0].message, /application\/problem\+json/);
          assert.equal("envelope" in details, expected !== undefined, sent);
          if (expected !== undefined) assert.deepEqual(envelope.data, expected.data);
          return true;
        });
      }
    });
  }
});

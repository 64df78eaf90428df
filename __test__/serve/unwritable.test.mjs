// An output that JSON cannot hold is a failure of the operation: not of its caller, and not a success.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { operation, serving, subscription } from "./support.mjs";

const SECRET = "hunter22";
const outputs = {
  bigint: () => ({ [SECRET]: 1n }),
  nan: () => ({ [SECRET]: [Number.NaN] }),
  map: () => new Map([[SECRET, 1]]),
  circle: () => {
    const circle = {};
    circle[SECRET] = circle;
    return circle;
  },
};
const operations = Object.entries(outputs).map(([name, handler]) =>
  operation({ name, type: "mutation", handler }),
);

describe("an output that cannot be written as JSON", () => {
  for (const isWatched of [false, true]) {
    it(`an output that cannot be written is 500 and says nothing of the output${isWatched ? ", with observers" : ""}`, async () => {
      const { post, registry } = await serving(operations);
      const reports = [];
      if (isWatched) registry.on("call", (report) => reports.push(report));
      for (const name of Object.keys(outputs)) {
        const response = await post(`test/${name}`, {});
        assert.equal(response.status, 500, name);
        const text = await response.text();
        assert.ok(!text.includes(SECRET), text);
        const { code, detail, mayHaveRun } = JSON.parse(text);
        assert.equal(code, "UNKNOWN_ERROR");
        assert.equal(detail, "The operation failed");
        assert.equal(mayHaveRun, true);
      }
      assert.deepEqual(
        reports.map(({ outcome }) => outcome),
        isWatched ? Object.keys(outputs).map(() => "error") : [],
      );
    });
  }

  it("an output that cannot be written is an error in the metrics", async () => {
    const { post, url } = await serving(operations);
    await post("test/bigint", {});
    const metrics = await (await fetch(`${url}/metrics`)).text();
    assert.ok(metrics.includes('operations_calls_total{operation="test.bigint",outcome="UNKNOWN_ERROR"} 1'));
  });

  it("an output that cannot be written is an error result for a model", async () => {
    const { url } = await serving(operations, { doors: { mcp: { name: "t", version: "1" } } });
    for (const name of Object.keys(outputs)) {
      const params = { name: `test_${name}`, arguments: {} };
      const response = await fetch(`${url}/mcp`, {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
      });
      const text = await response.text();
      const { result } = JSON.parse(text.startsWith("{") ? text : /^data: (\{.*)$/m.exec(text)[1]);
      assert.equal(result.isError, true);
      assert.match(result.content[0].text, /^The operation failed \(request [^)]+\)$/);
      assert.ok(!text.includes(SECRET), text);
    }
  });

  it("an output that cannot be written ends a stream with an error that says nothing of it", async () => {
    const stream = subscription({
      name: "stream",
      handler: async function* () {
        yield 1;
        yield outputs.bigint();
      },
    });
    const { post } = await serving([stream]);
    const [first, error] = (await (await post("test/stream")).text()).split("\n\n");
    assert.equal(first, "id: 1\ndata: 1");
    assert.match(error, /^event: error\ndata: \{.*"status":500.*"code":"UNKNOWN_ERROR"/);
    assert.ok(!error.includes(SECRET));
  });
});

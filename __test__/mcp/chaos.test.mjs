// A server that crashes again and again.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { CallError, closeMCPClient } from "@alkdev/operations";
import { startsFile, temporaryFolder, untilDead } from "./support/processes.mjs";
import { connected, stdio } from "./support/servers.mjs";

const CALLS = 600;
const AT_ONCE = 8;

describe("a server that crashes every 50 calls", () => {
  it("a server that crashes every 50 calls gives each call one outcome, runs nothing twice and leaves no process", async (t) => {
    const record = join(temporaryFolder(t), "record");
    const starts = startsFile(t);
    const env = { RECORD: record, STARTS_FILE: starts.path };
    const { wrapper, call } = await connected(t, stdio(["crashes-every-50"], { env }));
    const outcomes = new Map();
    const settle = (number, outcome) => {
      assert.equal(outcomes.has(number), false, `call ${number} had two outcomes`);
      outcomes.set(number, outcome);
    };
    let next = 0;
    const caller = async () => {
      while (next < CALLS) {
        const number = next++;
        await call("record", { number }).then(
          ({ data }) => settle(number, data[0].text),
          (error) => settle(number, error),
        );
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, caller));
    await closeMCPClient(wrapper);

    const runs = new Map();
    const lines = existsSync(record) ? readFileSync(record, "utf8").split("\n").filter(Boolean) : [];
    for (const line of lines) runs.set(Number(line), (runs.get(Number(line)) ?? 0) + 1);
    assert.equal(outcomes.size, CALLS);
    for (const [number, outcome] of outcomes) {
      const ran = runs.get(number) ?? 0;
      assert.ok(ran <= 1, `call ${number} ran ${ran} times`);
      if (outcome instanceof CallError) {
        assert.equal(outcome.code, "EXECUTION_ERROR", outcome.message);
        assert.notEqual(outcome.details.delivery, "done");
        if (outcome.details.delivery === "none") assert.equal(ran, 0, outcome.message);
      } else {
        assert.deepEqual([outcome, ran], [String(number), 1]);
      }
    }
    assert.ok(starts.pids("server").length > CALLS / 50 - 2, "it was started again and again");
    await untilDead(starts.all());
  });
});

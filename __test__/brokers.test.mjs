// The brokers that other tests rely on: they start, come back on their port, and leave nothing behind.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { missingBroker, startNats, startRedis } from "./support/brokers.mjs";
import { runModule } from "./support/run-node.mjs";

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

for (const [program, start] of [
  ["nats-server", startNats],
  ["redis-server", startRedis],
]) {
  describe(program, { skip: missingBroker(program) }, () => {
    it(`${program} starts, restarts on its port, and stops`, async () => {
      const broker = await start();
      const { pid, port } = broker;
      await broker.restart();
      assert.equal(isRunning(pid), false);
      assert.notEqual(broker.pid, pid);
      assert.equal(broker.port, port);
      const second = broker.pid;
      await broker.stop();
      assert.equal(isRunning(second), false);
      await broker.stop();
    });

    for (const [what, end] of [
      ["fails", 'throw new Error("the test fails")'],
      ["is killed", 'process.kill(process.pid, "SIGKILL")'],
    ]) {
      it(`${program} does not outlive a test that ${what}`, async () => {
        const { stdout } = await runModule(`
          import { writeSync } from "node:fs";
          import { ${start.name} } from "./brokers.mjs";
          const { pid } = await ${start.name}();
          writeSync(1, String(pid));
          ${end};
        `);
        const pid = Number(stdout);
        assert.ok(pid > 0, stdout);
        while (isRunning(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
      });
    }
  });
}

// Servers that say anything at all. OPERATIONS_SEED repeats a run.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CallError, isResponseEnvelope } from "@alkdev/operations";
import { chosenSeed, Random } from "../schema/support/random.mjs";
import { BOUND, longestStall } from "../support/event-loop.mjs";
import { hostileMessage } from "./support/hostile-messages.mjs";
import { startHTTPServer } from "./support/http-server.mjs";
import { connected, script } from "./support/servers.mjs";

const CALLS = 400;
const AT_ONCE = 20;
const seed = chosenSeed();

/** An HTTP server that answers calls of one tool with whatever comes to its mind. */
function hostileHTTP(test) {
  const random = new Random(seed);
  const before = (_, response, message) => {
    if (message?.params?.name !== "arguments" || random.chance(0.3)) return false;
    const said = () => hostileMessage(random, message.id);
    const type = random.pick([
      "application/json",
      "text/event-stream",
      "text/html",
      "",
      "application/json; charset=x",
    ]);
    const status = random.pick([200, 200, 200, 202, 204, 400, 405, 418, 500, 503]);
    response.writeHead(status, type === "" ? {} : { "Content-Type": type });
    if (status === 204) response.end();
    else if (type !== "text/event-stream") response.end(said());
    else {
      for (let i = random.below(5); i > 0; i--) {
        const event = random.pick(["message", "", "error"]);
        response.write(
          `event: ${event}\nid: ${i}\nretry: ${random.pick(["0", "x", "1e9"])}\ndata: ${said()}\n\n`,
        );
      }
      if (random.chance(0.2)) response.destroy();
      else response.end();
    }
    return true;
  };
  return startHTTPServer(test, { before });
}

for (const [transport, start] of Object.entries({
  stdio: () => script("hostile-server.mjs", { env: { SEED: String(seed) } }),
  HTTP: async (test) => ({ url: (await hostileHTTP(test)).url }),
})) {
  describe(`a hostile server over ${transport}`, () => {
    it(`a hostile server over ${transport} cannot keep a call from its one outcome, block the event loop or end the process`, async (t) => {
      console.log(`OPERATIONS_SEED=${seed}`);
      const config = { ...(await start(t)), timeout: 300, maxResultBytes: 2_000_000 };
      const { call } = await connected(t, config);
      const { result, stall } = await longestStall(async () => {
        let left = CALLS;
        const counts = { answered: 0, failed: 0 };
        const caller = async () => {
          while (left-- > 0) {
            try {
              const envelope = await call("arguments", { a: left });
              assert.ok(isResponseEnvelope(envelope), `OPERATIONS_SEED=${seed}`);
              counts.answered += 1;
            } catch (error) {
              assert.ok(error instanceof CallError, `OPERATIONS_SEED=${seed}: ${error?.stack}`);
              assert.match(error.details.delivery, /^(none|unknown|done)$/, error.message);
              counts.failed += 1;
            }
          }
        };
        await Promise.all(Array.from({ length: AT_ONCE }, caller));
        return counts;
      });
      assert.equal(result.answered + result.failed, CALLS);
      assert.ok(result.answered > 0 && result.failed > 0, JSON.stringify(result));
      assert.ok(stall <= BOUND, `${stall} ms, OPERATIONS_SEED=${seed}`);
      assert.equal({}.type, undefined);
      // And afterwards it is as good as ever.
      assert.equal((await call("echo", { text: "fine" })).data[0].text, "fine");
    });
  });
}

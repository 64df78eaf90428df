// A worker in a process of its own. Writes what it does as lines of JSON.

import { createInterface } from "node:readline";
import { buildEnv, OperationRegistry } from "@alkdev/operations";
import { connectNats } from "@alkdev/operations/transport-nats";
import { query, sleep, subscription } from "../call/support.mjs";

const { servers, name = "worker", concurrency } = JSON.parse(process.argv[2]);
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const connection = await connectNats({ servers, name });
const registry = new OperationRegistry();
const whenAborted = (signal, what) => signal.addEventListener("abort", () => say({ aborted: what }));

registry.registerAll([
  query("whoami", () => ({ pid: process.pid, name })),
  query("echo", (input) => input),
  query("work", async ({ ms, tag }) => {
    say({ began: tag });
    await sleep(ms);
    say({ ended: tag });
    return { pid: process.pid, tag };
  }),
  // Keeps the event loop from turning.
  query("block", ({ ms }) => {
    say({ blocking: true });
    for (const end = Date.now() + ms; Date.now() < end; );
    return { pid: process.pid };
  }),
  query("hang", (_, { signal }) => {
    say({ hanging: true });
    whenAborted(signal, "hang");
    return new Promise(() => {});
  }),
  // Calls another operation, wherever it is served, and waits for it.
  query("outer", async (_, context) => {
    whenAborted(context.signal, "outer");
    const env = buildEnv({ registry, context, callMap: connection.callMap });
    return env.t.hang({});
  }),
  subscription("ticks", async function* ({ ms = 1 }, { signal }) {
    whenAborted(signal, "ticks");
    try {
      for (let i = 1; ; i++) {
        say({ yielded: i });
        yield i;
        await sleep(ms);
      }
    } finally {
      say({ finally: "ticks" });
    }
  }),
  // As fast as it is let; tells how far it got.
  subscription("flood", async function* () {
    for (let i = 1; ; i++) {
      if (i % 50 === 0) say({ flooded: i });
      yield { i, filler: "x".repeat(100) };
    }
  }),
]);
await connection.serve(registry, { concurrency });
createInterface({ input: process.stdin }).on("line", async (line) => {
  if (JSON.parse(line).close) {
    await connection.close();
    say({ closed: true });
    process.stdin.destroy();
  }
});
say({ ready: true });

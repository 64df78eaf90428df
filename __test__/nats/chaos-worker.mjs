// A worker that is going to be killed. It writes down what it begins with before it does anything, so that whoever killed it
// knows.

import { OperationRegistry } from "@alkdev/operations";
import { connectNats } from "@alkdev/operations/transport-nats";
import { query, sleep, subscription } from "../call/support.mjs";

const { servers, name } = JSON.parse(process.argv[2]);
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const registry = new OperationRegistry();
registry.registerAll([
  query("once", async ({ key, ms }) => {
    say({ ran: key });
    await sleep(ms);
    return { key };
  }),
  subscription("count", async function* ({ to }) {
    for (let i = 1; i <= to; i++) {
      yield i;
      await sleep(1);
    }
  }),
]);
const connection = await connectNats({ servers, name });
await connection.serve(registry, { concurrency: 8 });
say({ ready: true });

// A caller in a process of its own, which is going to be killed: it reads a stream and waits for an answer.

import { PendingRequestMap } from "@alkdev/operations";
import { createRedisEventTarget } from "@alkdev/operations/transport-redis";

const map = new PendingRequestMap(createRedisEventTarget({ url: process.argv[2] }));
map.call("t.hang", {}).catch(() => {});
let got = 0;
for await (const _ of map.subscribe("t.tick", {})) {
  got += 1;
  if (got === 3) process.stdout.write("streaming\n");
}

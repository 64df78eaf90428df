// A caller in a process of its own: makes calls, or holds a stream, and reports.

import { connectNats } from "@alkdev/operations/transport-nats";

const { servers, calls = 0, stream, hang } = JSON.parse(process.argv[2]);
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const { callMap } = await connectNats({ servers, name: "caller" });
say({ ready: true });
if (calls > 0) {
  const outcomes = await Promise.allSettled(
    Array.from({ length: calls }, (_, i) => callMap.call("t.echo", { i, from: process.pid })),
  );
  const right = outcomes.filter(
    ({ value }, i) => value?.data.i === i && value.data.from === process.pid,
  ).length;
  say({ right, settled: outcomes.length, pending: callMap.getPendingCount() });
}
if (hang) {
  callMap.call("t.hang", {}).catch(() => {});
  say({ called: true });
}
if (stream) {
  let got = 0;
  for await (const _ of callMap.subscribe("t.ticks", {})) {
    got += 1;
    if (got === 3) say({ streaming: true });
  }
}
// Without anything pending, the connection lets the process end.

// A stream of events next to a bare `fetch` with eventsource-parser: events per second, and how long the main thread works for each. Reader
// and server are processes of their own; events come 1, 10, 100 or 500 in a write, with 50 bytes to 5 KB each. `--bytes=N` per round, `--rounds=N`.

import { clock } from "./main-thread.mjs";
import { report } from "./results.mjs";
import { compared, contestant, inTurns, option } from "./rounds.mjs";
import { printTable } from "./support.mjs";

const ROUNDS = option("rounds", 3);
const BYTES = option("bytes", 20_000_000);
const REFERENCE = "eventsource-parser";
/** What a model's answer looks like: a few events in a write, some hundred bytes each. */
const isUsual = ({ together, bytes }) => together === 10 && bytes === 500;

const server = await contestant("http-server.mjs");
const contestants = {};
for (const who of [REFERENCE, "ours"]) {
  contestants[who] = await contestant("sse-contestant.mjs", who, server.ready.baseUrl);
}
const [rates, threads] = [[], []];
const usual = {};
for (const together of [1, 10, 100, 500]) {
  for (const bytes of [50, 500, 5000]) {
    // Single writes cost the server more than the reader.
    const count = Math.min(Math.ceil(BYTES / bytes), together === 1 ? 20_000 : 100_000);
    const results = await inTurns(contestants, ROUNDS, { count, together, bytes });
    const name = `${together} in a write, ${bytes} bytes`;
    const rate = { name, ...compared(results, "ours", REFERENCE, "rate") };
    const thread = { name, ...compared(results, "ours", REFERENCE, "thread") };
    rates.push(rate);
    threads.push(thread);
    if (isUsual({ together, bytes })) Object.assign(usual, { rate, thread });
  }
}
for (const each of [server, ...Object.values(contestants)]) each.stop();
report("sse.rate", usual.rate, rates);
report("sse.main", usual.thread, threads);
console.log(`${ROUNDS} rounds, main thread by ${clock}`);
printTable(
  ["", "theirs/s", "ours/s", "ratio", "single rounds", "main thread: theirs us", "ours us", "ratio"],
  rates.map(({ name, ours, reference, low, high }, at) => [
    name,
    Math.round(reference),
    Math.round(ours),
    (ours / reference).toFixed(2),
    `${low.toFixed(2)} to ${high.toFixed(2)}`,
    threads[at].reference.toFixed(2),
    threads[at].ours.toFixed(2),
    (threads[at].ours / threads[at].reference).toFixed(2),
  ]),
);

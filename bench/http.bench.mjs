// Calls of imported operations next to undici's `Pool` and next to `fetch`: requests per second, and how long the main thread works for
// each. Each client is a process of its own, and so is the server. `--requests=N` per round, `--rounds=N`.

import { clock } from "./main-thread.mjs";
import { report } from "./results.mjs";
import { compared, contestant, inTurns, option } from "./rounds.mjs";
import { printTable } from "./support.mjs";

const REQUESTS = option("requests", 6000);
const ROUNDS = option("rounds", 7);
const CASES = [
  { work: "small", name: "GET, 200 bytes", inFlight: 64 },
  { work: "small", name: "GET, 200 bytes", inFlight: 1 },
  { work: "large", name: "GET, 20 KB", inFlight: 64 },
  { work: "post", name: "POST, 200 bytes", inFlight: 64 },
];
const OURS = "ours";
const UNDICI = "ours, undici imported";

const server = await contestant("http-server.mjs");
const contestants = {};
for (const who of ["pool", "fetch", OURS, UNDICI]) {
  contestants[who] = await contestant("http-contestant.mjs", who, server.ready.baseUrl);
}
const rows = [];
const next = { pool: [], undici: [], main: [] };
for (const { work, name, inFlight } of CASES) {
  const requests = inFlight === 1 ? Math.ceil(REQUESTS / 4) : REQUESTS;
  const results = await inTurns(contestants, ROUNDS, { work, requests, inFlight });
  const title = `${name}, ${inFlight} in flight`;
  const rate = compared(results, OURS, "pool", "rate");
  if (inFlight === 1) report("http.one", rate);
  else {
    next.pool.push({ name: title, ...rate });
    next.undici.push({ name: title, ...compared(results, UNDICI, "pool", "rate") });
    next.main.push({ name: title, ...compared(results, OURS, "pool", "thread") });
    if (work === "small") report("http.fetch", compared(results, OURS, "fetch", "rate"));
  }
  for (const who of Object.keys(contestants)) {
    const rate = compared(results, who, "pool", "rate");
    const thread = compared(results, who, "pool", "thread");
    rows.push([
      `${title}: ${who}`,
      Math.round(rate.ours),
      (rate.ours / rate.reference).toFixed(2),
      `${rate.low.toFixed(2)} to ${rate.high.toFixed(2)}`,
      thread.ours.toFixed(1),
      (thread.ours / thread.reference).toFixed(2),
    ]);
  }
}
report("http.pool", next.pool[0], next.pool);
report("http.pool.undici", next.undici[0], next.undici);
report("http.pool.main", next.main[0], next.main);
for (const each of [server, ...Object.values(contestants)]) each.stop();
console.log(`${REQUESTS} requests a round, ${ROUNDS} rounds, main thread by ${clock}`);
printTable(["", "req/s", "of Pool's", "single rounds", "main thread us", "of Pool's"], rows);

// Programs of models: until the first result of `return 1`, calls per second from a program, and what runs that wait take. Next to
// quickjs-emscripten in the host's thread, which is Executor's way, and to worker_threads with node:vm, which is no sandbox.
//
//   npm run bench -- code [--rounds=9] [--calls=2000] [--waiting=100]
//
// quickjs-emscripten is no dependency of this repository: `npm install --no-save quickjs-emscripten@0.32.0` lets it take part.

import { contestant, inTurns, option } from "./rounds.mjs";
import { median, printTable } from "./support.mjs";

const rounds = option("rounds", 9);
const calls = option("calls", 2_000);
const waiting = option("waiting", 100);

const names = ["ours", "quickjs-emscripten", "vm"].filter((name) => {
  try {
    if (name === "quickjs-emscripten") import.meta.resolve(name);
    return true;
  } catch {
    console.log(`Left out: ${name} is not installed`);
    return false;
  }
});
const start = (name) => contestant("./code-contestant.mjs", name);
const rows = [];
const row = (what, unit, results) =>
  rows.push([
    what,
    ...names.map((name) => {
      const all = results[name];
      return `${shown(median(all))} ${unit} (${shown(Math.min(...all))} to ${shown(Math.max(...all))})`;
    }),
  ]);
const shown = (figure) => (figure < 100 ? figure.toFixed(2) : Math.round(figure).toLocaleString("en"));

// Each process begins cold once.
const cold = Object.fromEntries(names.map((name) => [name, []]));
for (let round = 0; round < rounds; round++) {
  for (const name of names) {
    const { ready, stop } = await start(name);
    cold[name].push(ready.cold);
    stop();
  }
}
row("return 1, cold", "ms", cold);

const all = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await start(name)])));
const figures = async (task) => {
  const results = await inTurns(all, rounds, task);
  return Object.fromEntries(names.map((name) => [name, results[name].map(({ figure }) => figure)]));
};
row("return 1, warm", "ms", await figures({ what: "warm", runs: 20 }));
row("calls, one by one", "/s", await figures({ what: "calls", calls, atOnce: 1 }));
row("calls, ten at once", "/s", await figures({ what: "calls", calls, atOnce: 10 }));

const memory = Object.fromEntries(names.map((name) => [name, []]));
for (const name of names) {
  const { figure, stored } = await all[name].measure({ what: "waiting", runs: waiting });
  memory[name].push(Math.max(0, figure) / waiting / 1024);
  if (stored > 0)
    console.log(`${waiting} waiting runs of ${name} are ${(stored / 1e6).toFixed(1)} MB on disk`);
  all[name].stop();
}
row(`memory of each of ${waiting} waiting runs`, "KiB", memory);
printTable(["", ...names], rows);

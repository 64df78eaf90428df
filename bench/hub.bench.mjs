// Calls and events over WebSocket: our hub and a spoke, next to a hand-written JSON protocol on `ws` and next to Socket.IO. Each
// server is a process of its own; rounds are interleaved. `--calls=N` per round, `--rounds=N`, `--spokes=N` idle connections.

import { fork } from "node:child_process";
import { once } from "node:events";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { connectHub } from "@alkdev/operations/transport-websocket";
import { io } from "socket.io-client";
import { WebSocket } from "ws";
import { mainThreadTime } from "./main-thread.mjs";
import { report } from "./results.mjs";
import { median, printTable } from "./support.mjs";

const option = (name, usual) =>
  Number(process.argv.find((argument) => argument.startsWith(`--${name}=`))?.split("=")[1] ?? usual);
const CALLS = option("calls", 20_000);
const ROUNDS = option("rounds", 5);
const SPOKES = option("spokes", 500);
const IN_FLIGHT = 256;
const ALONE = 1_000;
const INPUT = { title: "Water the plants", tags: ["home", "green"] };

/** How each of them connects: what calls, what subscribes and counts, and how to leave. */
const clients = {
  async operations(url) {
    const hub = await connectHub(url, { name: "bench" });
    return {
      call: async () => (await hub.callMap.call("tasks.create", INPUT)).data,
      async events(to) {
        let seen = 0;
        for await (const { data } of hub.callMap.subscribe("tasks.ticks", { to })) seen += data.n >= 0;
        return seen;
      },
      close: () => hub.close({ drain: 0 }),
    };
  },

  async ws(url) {
    const socket = new WebSocket(url, { perMessageDeflate: false });
    await once(socket, "open");
    const waiting = new Map();
    let last = 0;
    socket.on("message", (data) => {
      const message = JSON.parse(String(data));
      waiting.get(message.id)(message);
    });
    const ask = (operation, input, take) => {
      last += 1;
      waiting.set(last, take);
      socket.send(JSON.stringify({ id: last, operation, input }));
    };
    return {
      call: () =>
        new Promise((resolve, reject) => {
          ask("tasks.create", INPUT, ({ id, output, error }) => {
            waiting.delete(id);
            if (error === undefined) resolve(output.data);
            else reject(new Error(error));
          });
        }),
      events: (to) =>
        new Promise((resolve) => {
          let seen = 0;
          ask("tasks.ticks", { to }, ({ id, event, done }) => {
            if (done === true) {
              waiting.delete(id);
              resolve(seen);
            } else seen += event.n >= 0;
          });
        }),
      close: () => socket.terminate(),
    };
  },

  async socketio(url) {
    const socket = io(url, { transports: ["websocket"], forceNew: true, perMessageDeflate: false });
    await new Promise((resolve) => socket.once("connect", resolve));
    return {
      call: () =>
        new Promise((resolve, reject) => {
          socket.emit("tasks.create", INPUT, ({ output, error }) => {
            if (error === undefined) resolve(output.data);
            else reject(new Error(error));
          });
        }),
      events: (to) =>
        new Promise((resolve) => {
          let seen = 0;
          const take = (event) => {
            seen += event.n >= 0;
          };
          socket.on("event", take);
          socket.once("done", () => {
            socket.off("event", take);
            resolve(seen);
          });
          socket.emit("tasks.ticks", { to });
        }),
      close: () => socket.close(),
    };
  },
};
const WHO = Object.keys(clients);

const servers = {};
for (const who of WHO) servers[who] = await start(who);

const results = Object.fromEntries(WHO.map((who) => [who, []]));
for (let round = -1; round < ROUNDS; round++) {
  for (const who of WHO) {
    const result = await measure(servers[who]);
    // The first round warms up.
    if (round >= 0) results[who].push(result);
  }
}
const of = (who, field) => median(results[who].map((result) => result[field]));
for (const who of WHO) servers[who].memory = await memoryPerSpoke(who);

report("hub.calls", { ours: of("operations", "calls"), reference: of("ws", "calls") });
report("hub.socketio", { ours: of("operations", "calls"), reference: of("socketio", "calls") });
console.log(`\ncalls over WebSocket: ${IN_FLIGHT} in flight, ${CALLS} a round, ${ROUNDS} rounds`);
table("calls", ["calls", "serving", "calling"]);
console.log(`\nevents of a stream: ${CALLS} a round`);
table("events", ["events", "eventServing", "eventCalling"]);
console.log(
  `\none call at a time, microseconds; and kilobytes of the server for each of ${SPOKES} idle connections`,
);
printTable(
  ["", "p50", "p90", "p99", "KB"],
  WHO.map((who) => [
    who,
    ...["p50", "p90", "p99"].map((field) => Math.round(of(who, field))),
    servers[who].memory.toFixed(1),
  ]),
);
for (const { stop } of Object.values(servers)) await stop();

function table(what, [rate, serving, calling]) {
  printTable(
    ["", `${what}/s`, "next to ws", "main thread us, server", "main thread us, client"],
    WHO.map((who) => [
      who,
      Math.round(of(who, rate)),
      (of(who, rate) / of("ws", rate)).toFixed(2),
      of(who, serving).toFixed(1),
      of(who, calling).toFixed(1),
    ]),
  );
}

async function start(who) {
  const file = fileURLToPath(new URL("hub-contestant.mjs", import.meta.url));
  const child = fork(file, [who], { execArgv: ["--expose-gc"] });
  const [{ url }] = await once(child, "message");
  const ask = async (question) => {
    child.send(question);
    const [ready] = await once(child, "message");
    return ready;
  };
  const client = await clients[who](url);
  const stop = async () => {
    await client.close();
    child.disconnect();
  };
  return { url, ask, client, stop };
}

async function measure({ ask, client }) {
  const calls = await during(ask, () => inFlight(CALLS, client.call));
  const events = await during(ask, async () => {
    const seen = await client.events(CALLS);
    if (seen !== CALLS) throw new Error(`${seen} events of ${CALLS}`);
  });
  const latencies = [];
  for (let n = 0; n < ALONE; n++) {
    const began = performance.now();
    await client.call();
    latencies.push((performance.now() - began) * 1_000);
  }
  latencies.sort((a, b) => a - b);
  const at = (share) => latencies[Math.floor(latencies.length * share)];
  return {
    ...{ calls: calls.rate, serving: calls.serving, calling: calls.calling },
    ...{ events: events.rate, eventServing: events.serving, eventCalling: events.calling },
    ...{ p50: at(0.5), p90: at(0.9), p99: at(0.99) },
  };
}

/** So many things per second, and microseconds of both main threads for each. */
async function during(ask, work) {
  const before = await ask("busy?");
  const mine = mainThreadTime();
  const began = performance.now();
  await work();
  const seconds = (performance.now() - began) / 1_000;
  const calling = ((mainThreadTime() - mine) * 1_000) / CALLS;
  const after = await ask("busy?");
  return { rate: CALLS / seconds, serving: ((after.busy - before.busy) * 1_000) / CALLS, calling };
}

async function inFlight(count, call) {
  let left = count;
  const worker = async () => {
    while (left > 0) {
      left -= 1;
      const { id } = await call();
      if (!(id > 0)) throw new Error("no answer");
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
}

async function memoryPerSpoke(who) {
  const { ask, url } = servers[who];
  const before = (await ask("memory?")).memory;
  const idle = [];
  for (let n = 0; n < SPOKES; n++) idle.push(await clients[who](url));
  const after = (await ask("memory?")).memory;
  for (const client of idle) await client.close();
  return Math.max(0, after - before) / SPOKES / 1024;
}

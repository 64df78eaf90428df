// The model of the call protocol, and calls over a WebSocket on the loopback interface: on the same random histories callers and
// the other side see the same, step by step. Both ends of a hub are looked at: a spoke that calls, and a hub that calls a spoke.
// Deadlines are left out, since time cannot be stopped here (`model.test.mjs` has them, and `histories.rs` in Rust).
// `OPERATIONS_SEED` repeats a run, `OPERATIONS_RUNS` makes it longer.

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, describe, it } from "node:test";
import { WebSocketServer } from "ws";
import { bareSocket, eventually, hubOf, spokeOf } from "../hub/support.mjs";
import { chosenSeed, Random } from "../schema/support/random.mjs";
import { history } from "./model/histories.mjs";
import { MachineSubject } from "./model/machine-subject.mjs";
import { Model } from "./model/model.mjs";
import { WebSocketSubject } from "./model/websocket-subject.mjs";

const RUNS = Number(process.env.OPERATIONS_RUNS ?? 40);
const STEPS = 60;
const MAX_WAITING = 1024;

/** A spoke of ours, and a server that plays its hub. */
async function callingSpoke() {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1", handleProtocols: () => "operations.v1" });
  after(() => server.close());
  await once(server, "listening");
  return async () => {
    const connected = once(server, "connection");
    const spoke = await spokeOf(`ws://127.0.0.1:${server.address().port}`);
    const [socket] = await connected;
    return { map: spoke.callMap, socket, close: () => spoke.close({ drain: 0 }) };
  };
}

/** A hub of ours, and a bare socket that plays its spoke. */
async function callingHub() {
  const { address, spokes } = await hubOf();
  let made = 0;
  return async () => {
    made += 1;
    const name = `spoke${made}`;
    const { socket } = await bareSocket(`${address}?name=${name}`);
    const find = () => spokes.list().find((spoke) => spoke.name === name);
    await eventually(() => find() !== undefined);
    return { map: find().callMap, socket, close: () => socket.terminate() };
  };
}

/** What the model says, as it is on a connection. */
function expectedOf(model, subject, step) {
  const pending = new Set(model.ids());
  const isAnswer = step.step === "answer";
  const isKnown = pending.has(step.id);
  // Who says that a call is over which is not pending has no say about others either.
  const isIgnored = isAnswer && step.event === "aborted" && !isKnown;
  const said = isIgnored ? { step: "answer", id: "nobody", event: "completed" } : step;
  const { outcomes, published, pending: count } = subject.run(said);
  const told = published.filter(([type, id]) => type === "call.requested" || pending.has(id));
  // Whoever sends an event that nobody waits for is told to stop.
  const isUnasked = isAnswer && ["responded", "malformed"].includes(step.event) && !isKnown;
  if (isUnasked) told.push(["call.aborted", step.id]);
  return { outcomes, published: told, pending: count };
}

/** Without what only a connection says: of which operation an error is, and whether the other side may have seen the call. */
function comparable({ outcomes, published, pending }) {
  const plain = outcomes.map(([outcome, id, ...rest]) => {
    if (outcome !== "error") return [outcome, id, ...rest];
    const [code, message, details] = rest;
    const { delivery: _, reason: __, operationId: ___, ...common } = details ?? {};
    return [outcome, id, code, message, common];
  });
  return { outcomes: sorted(plain), published: sorted(published), pending };
}

function checkDeliveries({ outcomes }) {
  for (const [outcome, , code, , details] of outcomes) {
    if (outcome !== "error") continue;
    assert.ok(["none", "unknown", "done"].includes(details?.delivery), `${code}: ${JSON.stringify(details)}`);
  }
}

/** In which order two callers hear of the end of their calls is not said anywhere. */
const sorted = (list) => list.map((item) => JSON.stringify(item)).sort();

async function compare(steps, { map, socket }, tally) {
  const machine = new Model(MAX_WAITING);
  const model = new MachineSubject(machine);
  const subject = new WebSocketSubject(map, socket);
  for (const [index, step] of steps.entries()) {
    const expected = expectedOf(machine, model, step);
    const found = await subject.run(step);
    const where = `step ${index}: ${JSON.stringify(steps.slice(0, index + 1))}`;
    assert.deepEqual(comparable(found), comparable(expected), where);
    checkDeliveries(found);
    for (const [outcome, , code] of expected.outcomes) tally(outcome === "error" ? code : outcome);
    for (const [type] of expected.published) tally(type);
  }
}

describe("the model of the call protocol holds over a WebSocket", () => {
  for (const [who, prepare] of [
    ["for a spoke that calls its hub", callingSpoke],
    ["for a hub that calls a spoke", callingHub],
  ]) {
    it(`the model of the call protocol holds over a WebSocket ${who}`, async () => {
      const seed = chosenSeed();
      console.log(`OPERATIONS_SEED=${seed}, ${RUNS} histories of ${STEPS} steps`);
      const random = new Random(seed);
      const counts = {};
      const tally = (name) => {
        counts[name] = (counts[name] ?? 0) + 1;
      };
      const connect = await prepare();
      for (let run = 0; run < RUNS; run++) {
        const made = history(new Random(random.seed()), STEPS);
        const steps = made.filter(({ step }) => step !== "advance").map(({ limit: _, ...step }) => step);
        const connection = await connect();
        await compare(steps, connection, tally).catch((error) => {
          error.message = `OPERATIONS_SEED=${seed}, run ${run}: ${error.message}`;
          throw error;
        });
        await connection.close();
      }
      console.log(JSON.stringify(counts));
      for (const kind of ["value", "done", "FAILED", "ABORTED", "call.aborted"]) {
        assert.ok(counts[kind] > 0, `${kind} never happened`);
      }
    });
  }
});

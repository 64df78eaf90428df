// The state machine of the call protocol, four times: as a model of its rules, in Rust (`operations-core::call`, which
// the native transports use), and in JavaScript over an event target and in the process. On the same random histories
// all of them say and publish the same, step by step. `OPERATIONS_SEED` repeats a run, `OPERATIONS_RUNS` makes it
// longer or shorter.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { chosenSeed, Random } from "../schema/support/random.mjs";
import { native } from "../support/internals.mjs";
import { Clock } from "./model/clock.mjs";
import { history } from "./model/histories.mjs";
import { MachineSubject } from "./model/machine-subject.mjs";
import { MapSubject } from "./model/map-subject.mjs";
import { Model } from "./model/model.mjs";

const RUNS = Number(process.env.OPERATIONS_RUNS ?? 1000);
const STEPS = 60;
const MAX_WAITING = 1;

async function compare(steps, isLocal, count) {
  const clock = new Clock();
  clock.install();
  try {
    const model = new MachineSubject(new Model(MAX_WAITING));
    const rust = new MachineSubject(new native.CallMachine(MAX_WAITING));
    const map = new MapSubject(clock, MAX_WAITING, { isLocal });
    for (const [index, step] of steps.entries()) {
      const expected = model.run(step);
      const where = () => `step ${index}: ${JSON.stringify(steps.slice(0, index + 1))}`;
      assert.deepEqual(rust.run(step), expected, `Rust, ${where()}`);
      assert.deepEqual(await map.run(step), expected, `JavaScript, ${where()}`);
      for (const [outcome, , code, message] of expected.outcomes) {
        count(outcome === "error" ? code : outcome);
        if (/too slow/.test(message)) count("overflow");
        if (/nothing arrived/.test(message)) count("silence");
      }
      for (const [type] of expected.published) count(type);
    }
    return map.held;
  } finally {
    clock.uninstall();
  }
}

/** Ends whatever a history has left open. */
function ending(steps) {
  const made = steps.filter(({ step }) => step === "call" || step === "subscribe");
  return made.map(({ id }) => ({ step: "abort", id }));
}

describe("the model, the machine in Rust and the one in JavaScript agree", () => {
  for (const isLocal of [false, true]) {
    it(`the model, Rust and JavaScript agree ${isLocal ? "in the process" : "over an event target"}`, async () => {
      const seed = chosenSeed();
      console.log(`OPERATIONS_SEED=${seed}, ${RUNS} histories of ${STEPS} steps`);
      const random = new Random(seed);
      // How often each kind of thing happened: a test in which nothing happens proves nothing.
      const tally = {};
      const count = (name) => {
        tally[name] = (tally[name] ?? 0) + 1;
      };
      for (let run = 0; run < RUNS; run++) {
        const steps = history(new Random(random.seed()), STEPS).filter(
          ({ event }) => !isLocal || event !== "malformed",
        );
        const held = await compare([...steps, ...ending(steps)], isLocal, count).catch((error) => {
          error.message = `OPERATIONS_SEED=${seed}, run ${run}: ${error.message}`;
          throw error;
        });
        assert.deepEqual(held, { timers: 0, listeners: 0 }, `OPERATIONS_SEED=${seed}, run ${run}`);
      }
      console.log(JSON.stringify(tally));
      const common = ["value", "done", "FAILED", "ABORTED", "TIMEOUT", "silence"];
      // One history in 15 has an overflow.
      for (const kind of RUNS < 200 ? common : [...common, "overflow"]) {
        assert.ok(tally[kind] > 0, `${kind} never happened`);
      }
    });
  }
});

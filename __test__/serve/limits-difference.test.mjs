// The limits of a served registry (Rust) and those of a call handler (JavaScript): after each
// step the same calls have begun, wait or were refused.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { buildCallHandler, OperationRegistry, PendingRequestMap } from "@alkdev/operations";
import { chosenSeed, Random } from "../schema/support/random.mjs";
import { operation, serving } from "./support.mjs";

const NAMES = ["a", "b", "c"];
const CALLERS = ["x", "y", "z", undefined];
const identityOf = (caller) => ({ id: caller, scopes: [] });

/** What happened to calls, by their numbers. */
class Calls {
  begun = [];
  refused = [];
  over = [];
  stopped = [];
  #release = new Map();

  operations = NAMES.map((name) =>
    operation({
      name,
      handler: (n, { signal }) => {
        this.begun.push(n);
        return new Promise((resolve, reject) => {
          this.#release.set(n, resolve);
          signal.addEventListener("abort", () => {
            this.stopped.push(n);
            reject(new Error("aborted"));
          });
        });
      },
    }),
  );

  release(n) {
    this.#release.get(n)();
  }

  /** `waiting` is how many wait. Calls that may begin at once do so on different threads, in any order. */
  state(waiting) {
    const { refused } = this;
    const lists = [this.begun, this.over, this.stopped];
    const [begun, over, stopped] = lists.map((list) => [...list].sort((a, b) => a - b));
    return { begun, refused, over, stopped, waiting };
  }
}

/** Calls through a call handler. */
function handled(limits) {
  const calls = new Calls();
  const registry = new OperationRegistry();
  registry.registerAll(calls.operations);
  const callMap = new PendingRequestMap();
  const handler = buildCallHandler({ registry, callMap, ...limits });
  callMap["call.requested"].subscribe(handler);
  const send = async (n, name, caller, signal) => {
    const identity = caller === undefined ? {} : { identity: identityOf(caller) };
    try {
      await callMap.call(`test.${name}`, n, { signal, ...identity });
    } catch (error) {
      if (error.details?.reason === "overloaded") calls.refused.push(n);
    }
    calls.over.push(n);
  };
  return { calls, send, state: () => calls.state(handler.stats().waiting) };
}

/** Calls at the HTTP door. */
async function served(limits) {
  const calls = new Calls();
  const known = CALLERS.filter((caller) => caller !== undefined);
  const tokens = Object.fromEntries(known.map((caller) => [caller, identityOf(caller)]));
  const server = await serving(calls.operations, { ...limits, tokens, anonymous: true });
  const send = async (n, name, caller, signal) => {
    const headers = caller === undefined ? {} : { authorization: `Bearer ${caller}` };
    try {
      const response = await server.post(`test/${name}`, n, { headers, signal });
      const { details } = (await response.json()) ?? {};
      if (details?.reason === "overloaded") calls.refused.push(n);
    } catch {
      // It was aborted.
    }
    calls.over.push(n);
  };
  return { calls, send, state: () => calls.state(server.stats().waiting), server };
}

async function someTurns() {
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
}

describe("calls within limits", () => {
  it("calls within limits begin, wait and are refused alike, at a door and at a call handler", async (test) => {
    const seed = chosenSeed();
    test.diagnostic(`seed ${seed}`);
    const random = new Random(seed);
    const tally = { begun: 0, refused: 0, aborted: 0 };
    for (let history = 0; history < 12; history++) {
      const limits = { queue: random.between(0, 4) };
      if (random.chance(0.6)) limits.concurrency = random.between(1, 4);
      if (random.chance(0.6)) limits.perOperation = random.between(1, 2);
      if (random.chance(0.6)) limits.perCaller = random.between(1, 2);
      const systems = [handled(limits), await served(limits)];
      const aborts = new Map();
      const steps = [];
      for (let step = 0; step < 40; step++) {
        const { begun, over } = systems[0].calls;
        const open = [...aborts.keys()].filter((n) => !over.includes(n));
        const running = open.filter((n) => begun.includes(n));
        const what = random.pick(["call", "call", "release", "abort"]);
        if (what === "call") {
          const [name, caller] = [random.pick(NAMES), random.pick(CALLERS)];
          steps.push(`call ${step} of ${name} by ${caller}`);
          const controllers = systems.map(() => new AbortController());
          aborts.set(step, controllers);
          for (const [index, { send }] of systems.entries())
            void send(step, name, caller, controllers[index].signal);
        } else if (what === "release" && running.length > 0) {
          const n = random.pick(running);
          steps.push(`${n} ends`);
          for (const { calls } of systems) calls.release(n);
        } else if (what === "abort" && open.length > 0) {
          const n = random.pick(open);
          steps.push(`${n} is aborted`);
          tally.aborted += 1;
          for (const controller of aborts.get(n)) controller.abort();
        } else {
          continue;
        }
        // A call handler has done all it can after a few turns. The server follows in time: only a failure waits for long.
        await someTurns();
        const until = Date.now() + 10_000;
        const areEqual = () => isDeepStrictEqual(systems[0].state(), systems[1].state());
        while (!areEqual() && Date.now() < until) await new Promise((resolve) => setTimeout(resolve, 1));
        const about = `seed ${seed}, ${JSON.stringify(limits)}: ${steps.join(", ")}`;
        assert.deepEqual(systems[1].state(), systems[0].state(), about);
        // The place of a handler that was stopped is free when the handler has ended.
        await someTurns();
      }
      tally.begun += systems[0].calls.begun.length;
      tally.refused += systems[0].calls.refused.length;
      for (const n of aborts.keys()) for (const controller of aborts.get(n)) controller.abort();
    }
    test.diagnostic(JSON.stringify(tally));
    assert.ok(tally.begun > 0 && tally.refused > 0 && tally.aborted > 0);
  });
});

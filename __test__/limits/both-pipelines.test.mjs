// The pipeline in JavaScript and the one in Rust limit calls alike: the same random history has the same outcome in both.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FromOpenAPI } from "@alkdev/operations";
import { answers, documentOf, sendJson, serve as upstream } from "../http/support.mjs";
import { serving } from "../serve/support.mjs";
import { until } from "../support/waiting.mjs";

const HISTORIES = 12;
const STEPS = 30;
/** Longer than any test: nothing in these histories depends on the clock. */
const HOUR = 3_600_000;
const CALLERS = ["ada", "bob", "eve"];

/** Small and repeatable: xorshift. */
function randomFrom(seed) {
  let state = seed | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

/** Limits and steps, both by chance. */
function historyOf(seed) {
  const random = randomFrom(seed);
  const settings = {
    limits: {
      concurrency: 1 + random(3),
      queue: random(5),
      ...(random(3) === 0 && { rate: { calls: 4 + random(8), per: HOUR } }),
    },
    ...(random(2) === 0 && { breaker: { failures: 1 + random(3), window: HOUR, cooldown: HOUR } }),
  };
  const steps = Array.from({ length: STEPS }, () => {
    const chance = random(10);
    if (chance < 6) return { call: CALLERS[random(CALLERS.length)] };
    if (chance < 9) return { end: random(4) === 0 ? 500 : 200, which: random(3) };
    return { leave: random(4) };
  });
  return { settings, steps };
}

const parameters = [{ in: "path", name: "id", required: true, schema: { type: "string" } }];
const paths = { "/work/{id}": { get: { operationId: "work", parameters, responses: answers() } } };
const tokens = Object.fromEntries(CALLERS.map((id) => [id, { id, scopes: [] }]));

/** Goes through a history, step by step: what began, in order, and what became of each call. */
async function outcomeOf({ settings, steps }, inJavaScript) {
  /** What the server works on. */
  const held = [];
  const began = [];
  const api = await upstream((request, response) => {
    const id = request.url.split("/").at(-1);
    began.push(id);
    held.push({ id, response });
  });
  const operations = FromOpenAPI(documentOf(paths), { namespace: "api", baseUrl: api.url, ...settings });
  const served = await serving(operations, { tokens });
  const native = [];
  served.registry.on("call", ({ isNative }) => void native.push(isNative));
  if (inJavaScript) served.registry.use((_, next) => next());
  const open = new Map();
  const outcomes = [];
  let started = 0;

  const start = (caller) => {
    const id = `${started++}`;
    const controller = new AbortController();
    open.set(id, controller);
    const headers = { authorization: `Bearer ${caller}` };
    served
      .post("api/work", { id }, { headers, signal: controller.signal })
      .then(async (response) => {
        const { details } = await response.json();
        return [response.status, details?.reason];
      })
      .catch(() => ["left"])
      .then((outcome) => {
        outcomes[Number(id)] = outcome;
        open.delete(id);
      });
  };
  const stats = () => served.registry.stats().limits[0];
  /** Whatever a step has set off has happened: everybody who has no answer runs or waits, and who runs has reached the server. */
  const settled = () => {
    const { running, waiting } = stats();
    return running + waiting === open.size && running === held.length;
  };

  for (const { call, end, which, leave } of steps) {
    if (call !== undefined) {
      start(call);
    } else if (end !== undefined) {
      const [ended] = held.splice(which % Math.max(held.length, 1), 1);
      if (ended === undefined) continue;
      sendJson(ended.response, { id: ended.id }, end);
      await until(() => !open.has(ended.id));
    } else {
      const waiting = [...open.keys()].filter((id) => !held.some((each) => each.id === id));
      const id = waiting[leave % Math.max(waiting.length, 1)];
      if (id === undefined) continue;
      open.get(id).abort();
      await until(() => !open.has(id));
    }
    await until(settled);
  }
  const { admitted, refused, breaker } = stats();
  const outcome = { began: [...began], outcomes: [...outcomes], admitted, refused, breaker };
  for (const controller of open.values()) controller.abort();
  await served.close({ drain: 0 });
  await api.stop();
  assert.ok(native.every((isNative) => isNative === !inJavaScript));
  return outcome;
}

describe("a random history of calls", () => {
  it("a random history of calls within limits has the same outcome in JavaScript and natively", async () => {
    const first = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
    console.log(`seed ${first}`);
    let [refused, began] = [0, 0];
    for (let i = 0; i < HISTORIES; i++) {
      const seed = first + i * 7_919;
      const history = historyOf(seed);
      const [script, native] = [await outcomeOf(history, true), await outcomeOf(history, false)];
      assert.deepEqual(native, script, `SEED=${seed} ${JSON.stringify(history.settings)}`);
      refused += native.outcomes.filter((outcome) => outcome?.[1] !== undefined).length;
      began += native.began.length;
    }
    // Histories in which nothing happens would prove nothing.
    assert.ok(refused > 0 && began > HISTORIES);
  });
});

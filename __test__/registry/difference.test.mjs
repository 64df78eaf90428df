// By difference: random registries and random calls, served by JavaScript and by the native registry, with the same
// outcome each time. `OPERATIONS_SEED` repeats a run, `OPERATIONS_CALLS` makes it longer or shorter.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { chosenSeed, Random } from "../schema/support/random.mjs";
import { inJavaScript, inRust, kindOfOutcome, textOfOutcome } from "./support/pipelines.mjs";
import { changeRules, randomCall, randomRegistry } from "./support/random-registries.mjs";

const CALLS_PER_REGISTRY = 400;
const seed = chosenSeed();
const wanted = Number(process.env.OPERATIONS_CALLS ?? 20_000);

test("a call has the same outcome, whichever pipeline serves it", async () => {
  const seeds = new Random(seed);
  const tally = {};
  const findings = [];
  let done = 0;
  while (done < wanted && findings.length < 5) {
    const own = seeds.seed();
    const calls = Math.min(CALLS_PER_REGISTRY, wanted - done);
    await compare(own, calls, tally, findings);
    done += calls;
  }
  console.log(`OPERATIONS_SEED=${seed}, ${done} calls, ${JSON.stringify(tally)}`);
  assert.equal(findings.length, 0, `OPERATIONS_SEED=${seed}\n${findings.join("\n\n")}`);
  // Comparisons that do not happen would show nothing.
  if (done >= 10_000) {
    const native = done - tally["left to JavaScript"];
    assert.ok(native > done / 2, `only ${native} of ${done} calls were served natively`);
    const kinds = ["ok: local", "ok: http", "ok: mcp", "denied", "invalid input", "invalid output", "error"];
    const streams = [
      "stream: completed",
      "stream: denied",
      "stream: invalid input",
      "stream: error after events",
    ];
    for (const kind of [...kinds, ...streams]) {
      assert.ok(tally[kind] > done / 200, `only ${tally[kind] ?? 0} of ${done} calls: ${kind}`);
    }
  }
});

/** One registry with its calls; half-way some of its rules are replaced, and others are added. */
async function compare(seed, count, tally, findings) {
  const random = new Random(seed);
  const { registry, operations, options } = randomRegistry(random);
  for (const part of [Math.ceil(count / 2), Math.floor(count / 2)]) {
    const calls = Array.from({ length: part }, (_, number) => randomCall(random, operations, number));
    const [here, there] = [await inJavaScript(registry, calls), await inRust(registry, calls)];
    for (const [index, call] of calls.entries()) {
      const native = there[index];
      const kind = native === null ? "left to JavaScript" : kindOfOutcome(native, call.isStream);
      tally[kind] = (tally[kind] ?? 0) + 1;
      const problem = problemWith(call, here[index], native);
      if (problem === undefined) continue;
      const { operation, event } = call;
      findings.push(
        [
          `${operation.id} ${problem} (seed of the registry ${seed}, call ${index}, output ${options.output})`,
          `event: ${event}`,
          `operation: ${inspect(operation.spec, { depth: 20 })}`,
          `JavaScript: ${textOfOutcome(here[index])}`,
          `native:     ${textOfOutcome(native)}`,
        ].join("\n"),
      );
      return;
    }
    for (const operation of random.some(operations, 0.4)) changeRules(random, registry, operation);
  }
}

function problemWith(call, here, native) {
  const expected = whoServes(call);
  if (native === null) return expected === "native" ? "was left to JavaScript" : undefined;
  if (expected === "JavaScript") return "was served natively";
  return textOfOutcome(here) === textOfOutcome(native) ? undefined : "has two outcomes";
}

/** Who must serve a call, where that can be said without knowing its schemas. */
function whoServes({ operation: { spec, isSimple, added }, isUnknown, isForHost }) {
  const isInternal = spec.visibility === "internal";
  if (
    isUnknown ||
    isForHost ||
    isInternal ||
    spec.accessControl.customAuth !== undefined ||
    added?.customAuth !== undefined
  )
    return "JavaScript";
  return isSimple ? "native" : "either";
}

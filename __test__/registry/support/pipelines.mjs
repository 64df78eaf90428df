// The same calls through both pipelines: as JavaScript serves them, and as the native registry does.

import { createRequire } from "node:module";
import { buildCallHandler, PendingRequestMap } from "@alkdev/operations";
import { hooks } from "./random-registries.mjs";

const { wireText } = createRequire(import.meta.url)("../../../dist/call/wire-value.js");

/** What JavaScript makes of the calls, in turn. */
export async function inJavaScript(registry, calls) {
  const callMap = new PendingRequestMap();
  callMap["call.requested"].subscribe(buildCallHandler({ registry, callMap }));
  const outcomes = [];
  for (const { event, isStream } of calls) {
    const { operationId, input, ...options } = JSON.parse(event);
    delete options.requestId;
    const outcome = { envelopes: [] };
    try {
      if (isStream) {
        delete options.deadline;
        for await (const each of callMap.subscribe(operationId, input, options)) {
          outcome.envelopes.push(answer(each));
        }
      } else {
        outcome.envelopes.push(answer(await callMap.call(operationId, input, options)));
      }
    } catch ({ code, message, details }) {
      outcome.error = asSent({ code, message, details });
    }
    outcomes.push(outcome);
  }
  return outcomes;
}

/** What the native registry makes of them; null where it leaves a call to JavaScript. */
export async function inRust(registry, calls) {
  const events = calls.map(({ event }) => event);
  return JSON.parse(await hooks.run(registry.nativeMirror().native, events));
}

/** An envelope after a journey, which not every one can make. */
function answer(envelope) {
  return JSON.parse(wireText(envelope, "The answer cannot be sent"));
}

/** As it is after a journey. */
function asSent(value) {
  return JSON.parse(JSON.stringify(value));
}

/** An outcome as text, for comparing. Keys keep their order; times of wrapping are not compared. */
export function textOfOutcome(outcome) {
  const text = JSON.stringify(outcome, (key, value) =>
    key === "timestamp" && typeof value === "number" && value > 1e12 ? "<now>" : value,
  );
  // The details of a native error are well-formed text: half a surrogate pair is U+FFFD in them.
  return outcome.error === undefined ? text : text.replace(/\\ud[89a-f][0-9a-f]{2}/g, "\ufffd");
}

/** What became of a call, in a word. */
export function kindOfOutcome({ envelopes, error }, isStream) {
  const how = isStream ? "stream: " : "";
  if (error === undefined) return isStream ? "stream: completed" : `ok: ${envelopes[0].meta.source}`;
  if (error.code === "ACCESS_DENIED") return `${how}denied`;
  if (error.message.startsWith("Validation failed for input")) return `${how}invalid input`;
  if (error.message.startsWith("Validation failed for output")) return `${how}invalid output`;
  return isStream && envelopes.length > 0 ? "stream: error after events" : `${how}error`;
}

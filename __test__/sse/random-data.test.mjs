// Whether data is JSON is decided in Rust, and JavaScript parses it in a batch with others: both must agree on every
// text. Random texts that are JSON, or nearly. OPERATIONS_SEED repeats a run.

import assert from "node:assert/strict";
import { it } from "node:test";
import { answers, serve, single } from "../http/support.mjs";
import { chosenSeed, Random } from "../schema/support/random.mjs";

const TEXTS = 20_000;
const PIECES = [
  ...'{}[],:"\\ \t-+.eE0123456789',
  "true",
  "false",
  "null",
  '"a"',
  '"\\u00e9"',
  '"\\ud800"',
  '"\\ud83d\\ude00"',
  '"\\x"',
  "\u2028",
  "\u00a0",
  "\ufeff",
  "\u0001",
  "é",
  "😀",
  "1e400",
  "-0",
  "1.5e-7",
  "9007199254740993",
  "__proto__",
  "NaN",
  "Infinity",
];

function json(random, depth) {
  if (depth === 0 || random.chance(0.4))
    return random.pick(["1", "-2.5e3", '"x\\n"', "true", "null", '""', "[]", "{}"]);
  const parts = random.times(0, 3, () => json(random, depth - 1));
  if (random.chance(0.5)) return `[${parts.join(random.pick([",", " , "]))}]`;
  return `{${parts.map((part, index) => `"${random.pick(["a", "__proto__", String(index)])}":${part}`).join(",")}}`;
}

/** A JSON text, a JSON text with something put in or taken out, or a heap of pieces. */
function randomText(random) {
  if (random.chance(0.3)) return random.times(0, 6, () => random.pick(PIECES)).join("");
  const text = json(random, 4);
  if (random.chance(0.4)) return text;
  const at = random.below(text.length + 1);
  return text.slice(0, at) + random.pick(PIECES) + text.slice(at + random.below(2));
}

function expected(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

it("data of an event is JSON to Rust exactly when it is to JavaScript", async () => {
  const seed = chosenSeed();
  const random = new Random(seed);
  const texts = random.times(TEXTS, TEXTS, () => randomText(random));
  const { url } = await serve((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(texts.map((text) => `data: ${text}\n\n`).join(""));
  });
  const stream = single("get", { responses: answers("text/event-stream") }, { baseUrl: url })({}, {});
  let index = 0;
  for await (const { data } of stream) {
    const text = texts[index++];
    assert.deepEqual(data, expected(text), `${JSON.stringify(text)} (OPERATIONS_SEED=${seed})`);
  }
  assert.equal(index, TEXTS, `OPERATIONS_SEED=${seed}`);
});

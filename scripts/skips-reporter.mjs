// A reporter of node:test that writes down what was left out, a JSON text per line, for scripts/unit-tests.mjs.

export default async function* skips(events) {
  for await (const { type, data } of events) {
    if (type !== "test:pass" || !data.skip) continue;
    yield `${JSON.stringify({ name: data.name, reason: data.skip === true ? "no reason given" : data.skip })}\n`;
  }
}

// A document put to the test: everything imports or is reported, every input schema compiles, and a sample of
// operations is called. Used by the tests of real documents and by `npm run corpus`.

import { collectErrors, inspectOpenAPI, OperationRegistry, subscribe } from "@alkdev/operations";
import { expectedRequest, resolve } from "./expected-request.mjs";
import { generate, NoValue } from "./generate.mjs";
import { randomFrom, spread } from "./random.mjs";
import { differences } from "./receiver.mjs";

const METHODS = ["get", "post", "put", "patch", "delete"];

/** Operations of a document, counted without the package. */
export function countOperations(document) {
  let count = 0;
  for (const [path, entry] of Object.entries(document.paths ?? {})) {
    const item = resolve(document, entry);
    if (path.startsWith("x-") || typeof item !== "object" || item === null) continue;
    count += METHODS.filter((method) => item[method] !== undefined).length;
  }
  return count;
}

/**
 * Runs a document through the package.
 *
 * @returns what came of it: the report, and lists of sentences about what is wrong. `failures` must be empty.
 */
export async function exercise({ text, document, server, seed, sample, outputs = false }) {
  const result = {
    imported: 0,
    degraded: 0,
    skipped: 0,
    problems: new Map(),
    failures: [],
    sent: 0,
    unsent: 0,
    inputs: 0,
  };
  const { operations, report } = inspectOpenAPI(text, { namespace: "d", baseUrl: server.baseUrl });
  for (const { status, name, path, problems } of report) {
    if (problems[0]?.code === "filtered") continue;
    result[status] += 1;
    for (const code of new Set(problems.map((problem) => problem.code))) {
      result.problems.set(code, (result.problems.get(code) ?? 0) + 1);
    }
    const isExplained = problems.every(({ reason, pointer }) => reason !== "" && pointer !== "");
    if (status !== "imported" && (problems.length === 0 || !isExplained)) {
      result.failures.push(`${name ?? path}: ${status} without a reason`);
    }
  }
  const registry = new OperationRegistry({ output: "off" });
  registry.registerAll(operations);
  const entries = new Map(report.map((entry) => [entry.name, entry]));
  const chosen = new Set(spread(operations, sample));
  for (const [index, operation] of operations.entries()) {
    const input = check(operation, randomFrom(seed + index), result);
    if (outputs) checkOutput(operation, result);
    if (!chosen.has(operation)) {
      // Ten thousand schemas of a large document need not be in memory at once.
      operation.inputSchema = operation.outputSchema = undefined;
      continue;
    }
    if (input === undefined) result.unsent += 1;
    else
      await send({
        operation,
        input,
        entry: entries.get(operation.name),
        document,
        registry,
        server,
        result,
      });
  }
  return result;
}

/** Compiles the input schema and finds an input that passes; nothing where the generator finds none. */
function check({ name, inputSchema }, random, result) {
  const schema = JSON.parse(JSON.stringify(inputSchema));
  if (/"#\/(components|definitions|paths|parameters)\//.test(JSON.stringify(schema, withoutTexts))) {
    result.failures.push(`${name}: the input schema points into the document`);
  }
  let errors;
  for (let attempt = 0; attempt < 8; attempt++) {
    let input;
    try {
      input = generate(schema, random, { optional: attempt < 4 ? 0.5 : 0 });
    } catch (error) {
      if (!(error instanceof NoValue)) throw error;
    }
    try {
      errors = collectErrors(inputSchema, input ?? {});
    } catch (error) {
      result.failures.push(`${name}: the input schema cannot be used: ${error.message}`);
      return undefined;
    }
    if (input !== undefined && errors.length === 0) {
      result.inputs += 1;
      return input;
    }
  }
  return undefined;
}

/** Descriptions and examples may quote anything. */
const withoutTexts = (key, value) =>
  ["description", "example", "examples", "default", "enum", "title"].includes(key) ? undefined : value;

function checkOutput({ name, outputSchema }, result) {
  try {
    collectErrors(outputSchema, {});
  } catch (error) {
    result.failures.push(`${name}: the output schema cannot be used: ${error.message}`);
  }
}

async function send({ operation, input, entry, document, registry, server, result }) {
  const id = `${operation.namespace}.${operation.name}`;
  const key = `${result.sent + result.unsent}`;
  const context = { metadata: { headers: { "x-case": key } } };
  try {
    if (operation.type === "subscription") {
      for await (const _ of subscribe(registry, id, input, context)) throw new Error("204 has no events");
    } else await registry.execute(id, input, context);
  } catch (error) {
    // The schema of binary data is that of any value, so that the generator may have made a text.
    if (typeof input.body === "string" && /\/body: Expected binary data/.test(error.message)) {
      const body = new Uint8Array([0, 255, 13, 10, 1]);
      await send({ operation, input: { ...input, body }, entry, document, registry, server, result });
      return;
    }
    if (isRefusal(error)) {
      result.unsent += 1;
      return;
    }
    result.failures.push(`${operation.name}: ${error.message}`);
    return;
  }
  result.sent += 1;
  const received = server.take(key);
  if (received === undefined) {
    result.failures.push(`${operation.name}: no request arrived`);
    return;
  }
  const expected = expectedRequest(document, entry.method.toLowerCase(), entry.path, input);
  for (const difference of differences(expected, received)) {
    result.failures.push(`${operation.name} (${entry.method} ${entry.path}): ${difference}`);
  }
}

/** Inputs that no request can carry: the schema does not say so, the request builder does. */
const isRefusal = ({ code, message }) =>
  code === "VALIDATION_ERROR" &&
  /missing or empty|is a string or binary data|cannot be in a header|would end the cookie|is an object with a property|makes a "\." or/.test(
    message,
  );

// The official JSON Schema test suite on every road: the schema as it is and what FromSchema makes of it,
// each by the walk over live values, by the emitted check and on JSON text.

import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { FromSchema } from "@alkdev/operations";
import { native } from "../support/internals.mjs";
import { suite, withoutSuite } from "../support/json-schema-suite.mjs";
import { CompiledSchema } from "./support/typebox-copies.mjs";

const DRAFTS = {
  draft4: "http://json-schema.org/draft-04/schema#",
  draft6: "http://json-schema.org/draft-06/schema#",
  draft7: "http://json-schema.org/draft-07/schema#",
  "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
  "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
};

const ROADS = {
  walk: (compiled, data) => compiled.walk(data),
  emitted: (compiled, data) => compiled.check(data),
  json: (compiled, data) => compiled.checkJson(JSON.stringify(data)),
  errors: (compiled, data) => compiled.errors(data).length === 0,
};

/** The list that the tests in Rust use too: file, group, case (`*` for all), reason. */
function readExceptions() {
  const list = new URL("../../crates/operations-schema/tests/it/suite_exceptions.rs", import.meta.url);
  const text = readFileSync(list, "utf8");
  const string = '"((?:[^"\\\\]|\\\\.)*)"';
  const tuple = new RegExp(`\\(\\s*${[string, string, string, string].join(",\\s*")},?\\s*\\)`, "g");
  return [...text.matchAll(tuple)].map((found) => found.slice(1).map((each) => JSON.parse(`"${each}"`)));
}

/** The documents that references of the suite lead to, by their address. */
function readRemotes(folder = join(suite, "remotes"), address = "http://localhost:1234", into = {}) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const [path, uri] = [join(folder, entry.name), `${address}/${entry.name}`];
    if (entry.isDirectory()) readRemotes(path, uri, into);
    else if (entry.name.endsWith(".json")) into[uri] = JSON.parse(readFileSync(path, "utf8"));
  }
  return into;
}

/** Required files, and those of the formats that are asserted. */
function* files(draft) {
  const folder = join(suite, "tests", draft);
  const jsonFiles = (path) =>
    existsSync(path) ? readdirSync(path).filter((name) => name.endsWith(".json")) : [];
  for (const name of jsonFiles(folder)) {
    yield { path: join(folder, name), label: `${draft}/${name.slice(0, -5)}`, assertFormats: false };
  }
  const known = new Set([...native.knownFormats(), "unknown"]);
  for (const name of jsonFiles(join(folder, "optional", "format"))) {
    const format = name.slice(0, -5);
    if (!known.has(format)) continue;
    yield {
      path: join(folder, "optional", "format", name),
      label: `${draft}/format/${format}`,
      assertFormats: true,
    };
  }
}

function compileBoth(schema, options) {
  const both = { "": () => schema, "FromSchema, ": () => FromSchema(schema) };
  return Object.entries(both).map(([name, make]) => {
    try {
      const compiled = new CompiledSchema(make(), options);
      compiled.warmUp();
      return [name, compiled];
    } catch (error) {
      return [name, error];
    }
  });
}

test("every case of the JSON Schema suite passes in every engine", { skip: withoutSuite }, () => {
  const exceptions = readExceptions();
  const inUse = new Set();
  const failures = [];
  const documents = readRemotes();
  let [cases, answers] = [0, 0];
  for (const [draft, uri] of Object.entries(DRAFTS)) {
    for (const { path, label, assertFormats } of files(draft)) {
      for (const group of JSON.parse(readFileSync(path, "utf8"))) {
        // Passing all documents to every schema would be slow.
        const remote = JSON.stringify(group.schema).includes("http://localhost:1234");
        const options = { draft: uri, assertFormats, ...(remote && { documents }) };
        const compiled = compileBoth(group.schema, options);
        for (const { description, data, valid } of group.tests) {
          cases += 1;
          const position = exceptions.findIndex(
            ([file, inGroup, name]) =>
              file === label && inGroup === group.description && [description, "*"].includes(name),
          );
          for (const [form, subject] of compiled) {
            for (const [road, ask] of Object.entries(ROADS)) {
              answers += 1;
              const answer = answerOf(subject, (each) => ask(each, data));
              if (answer === valid) continue;
              if (position >= 0) inUse.add(position);
              else
                failures.push(
                  `${label} / ${group.description} / ${description}: ${form}${road} says ${answer}`,
                );
            }
          }
        }
      }
    }
  }
  const unused = exceptions.filter((_, index) => !inUse.has(index));
  console.log(`JSON Schema suite: ${cases} cases, ${answers} answers, ${inUse.size} exceptions in use`);
  assert.equal(failures.length, 0, `${failures.length} failures:\n${failures.slice(0, 40).join("\n")}`);
  assert.deepEqual(unused, [], "these exceptions pass now: remove them");
  assert.ok(cases > 5_000, `only ${cases} cases`);
});

function answerOf(subject, ask) {
  if (subject instanceof Error) return subject.message;
  try {
    return ask(subject);
  } catch (error) {
    return error.message;
  }
}

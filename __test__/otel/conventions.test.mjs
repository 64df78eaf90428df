// The names of spans' attributes are those of the conventions, in the version that the guide names.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, it } from "node:test";
import { CONVENTIONS } from "@alkdev/operations/otel";

const require = createRequire(import.meta.url);
const published = require("@opentelemetry/semantic-conventions/incubating");
const { ATTR, METRIC, EXECUTE_TOOL } = require("../../dist/otel/conventions.js");

describe("the semantic conventions", () => {
  it("the semantic conventions are those of one version, which the guide names", () => {
    const manifest = require
      .resolve("@opentelemetry/semantic-conventions")
      .replace(/dist.*|build.*/, "package.json");
    assert.equal(JSON.parse(readFileSync(manifest, "utf8")).version, CONVENTIONS);
    const guide = readFileSync(new URL("../../docs/guides/observing.md", import.meta.url), "utf8");
    assert.ok(guide.includes(CONVENTIONS));
  });

  for (const [prefix, names] of [
    ["ATTR", ATTR],
    ["METRIC", METRIC],
  ]) {
    for (const [name, value] of Object.entries(names)) {
      it(`the semantic conventions have ${value}`, () => assert.equal(published[`${prefix}_${name}`], value));
    }
  }

  it("the semantic conventions have the name of a tool's execution", () =>
    assert.equal(published.GEN_AI_OPERATION_NAME_VALUE_EXECUTE_TOOL, EXECUTE_TOOL));
});

// Real documents as tools of every target, held against the rules that the providers publish.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { realDocuments } from "../openapi/support/documents.mjs";
import { exerciseTools, TARGETS } from "./support/exercise.mjs";

const LARGE = ["@octokit", "@gitbook/api openapi.json", "@figma", "@netlify", "kubernetes"];

describe("real documents as tools", () => {
  const totals = Object.fromEntries(TARGETS.map((target) => [target, {}]));
  for (const { name, text } of realDocuments.filter(({ name }) =>
    LARGE.some((part) => name.startsWith(part)),
  )) {
    it(`every operation of ${name} is a valid tool for every target`, { timeout: 300_000 }, () => {
      const { failures, operations, targets } = exerciseTools(text());
      assert.deepEqual(failures.slice(0, 20), []);
      for (const [target, { tools, losses }] of Object.entries(targets)) {
        assert.equal(tools, operations, `${target} leaves something out`);
        for (const [kind, count] of Object.entries(losses)) {
          totals[target][kind] = (totals[target][kind] ?? 0) + count;
        }
      }
    });
  }

  it("losses of real documents as tools are reported by kind", (t) => {
    for (const [target, losses] of Object.entries(totals))
      t.diagnostic(`${target} ${JSON.stringify(losses)}`);
  });
});

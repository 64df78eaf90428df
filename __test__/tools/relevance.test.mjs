// How many questions in plain words are answered among the first five hits, next to a plain BM25 over the same text.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { catalogue } from "@alkdev/operations/tools";
import { PlainBM25 } from "./support/plain-bm25.mjs";
import { APIS, answers, QUESTIONS, registryOf } from "./support/questions.mjs";

const FIRST = 5;

function contestantsOf(api) {
  const registry = registryOf(api);
  const { search } = catalogue(registry);
  const plain = new PlainBM25(registry.list());
  return {
    ours: (question) => search(question, { limit: FIRST }).map(({ id }) => id.slice(api.length + 1)),
    plain: (question) => plain.search(question, FIRST).map(({ name }) => name),
  };
}

describe("questions in plain words", { timeout: 300_000 }, () => {
  const found = { ours: new Set(), plain: new Set() };
  for (const api of APIS) {
    const questions = QUESTIONS.filter((question) => question.api === api);
    it(`questions in plain words about ${api} are searched`, (t) => {
      const contestants = contestantsOf(api);
      for (const question of questions) {
        for (const [name, search] of Object.entries(contestants)) {
          const names = search(question.question);
          if (names.some((each) => answers(question, each))) found[name].add(question);
          else if (name === "ours" && process.env.OPERATIONS_SHOW === question.set) {
            t.diagnostic(`${question.question} -> ${names.join(" ")}`);
          }
        }
      }
      assert.ok(questions.some((question) => found.ours.has(question)));
    });
  }

  const recall = (name, set) => {
    const asked = QUESTIONS.filter((question) => set === undefined || question.set === set);
    return asked.filter((question) => found[name].has(question)).length / asked.length;
  };

  it("questions in plain words have their operation among the first five hits", (t) => {
    for (const set of ["tuned", "held out", "afterwards", undefined]) {
      const count = QUESTIONS.filter((question) => set === undefined || question.set === set).length;
      t.diagnostic(
        `recall@${FIRST}, ${set ?? "all"} (${count}): ${recall("ours", set).toFixed(3)}, plain BM25 ${recall("plain", set).toFixed(3)}`,
      );
    }
    assert.ok(QUESTIONS.length >= 60);
    assert.ok(recall("ours") >= 0.9, `recall is ${recall("ours")}`);
    assert.ok(recall("ours") > recall("plain"));
  });
});

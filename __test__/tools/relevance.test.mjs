// How many questions in plain words are answered among the first five hits, next to a plain BM25 over the same text.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FromOpenAPI, OperationRegistry } from "@alkdev/operations";
import { catalogue } from "@alkdev/operations/tools";
import { realDocuments } from "../openapi/support/documents.mjs";
import { PlainBM25 } from "./support/plain-bm25.mjs";
import { answers, QUESTIONS } from "./support/questions.mjs";

const FIRST = 5;
const DOCUMENTS = {
  github: "@octokit/openapi api.github.com.json",
  kubernetes: "kubernetes-client",
  figma: "@figma/rest-api-spec",
  gitbook: "@gitbook/api openapi.json",
  netlify: "@netlify/open-api",
};

function contestantsOf(api) {
  const document = realDocuments.find(({ name }) => name === DOCUMENTS[api]);
  const registry = new OperationRegistry();
  registry.registerAll(FromOpenAPI(document.text(), { namespace: api, baseUrl: "http://localhost" }));
  const { search } = catalogue(registry);
  const plain = new PlainBM25(registry.list());
  return {
    ours: (question) => search(question, { limit: FIRST }).map(({ id }) => id.slice(api.length + 1)),
    plain: (question) => plain.search(question, FIRST).map(({ name }) => name),
  };
}

describe("questions in plain words", { timeout: 300_000 }, () => {
  const found = { ours: new Set(), plain: new Set() };
  for (const api of Object.keys(DOCUMENTS)) {
    const questions = QUESTIONS.filter((question) => question.api === api);
    it(`about ${api}`, (t) => {
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

  it("are answered among the first five hits", (t) => {
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

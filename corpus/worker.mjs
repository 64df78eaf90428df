// Puts documents to the test in a process of its own, so that one which takes the process down is counted and not
// the end of the run. It is sent the path of a document and answers with what came of it.

import { readFileSync } from "node:fs";
import { countOperations, exercise } from "../__test__/openapi/support/exercise.mjs";
import { receiver } from "../__test__/openapi/support/receiver.mjs";
import { exerciseTools, exerciseValues } from "../__test__/tools/support/exercise.mjs";

const server = await receiver();

process.on("message", async ({ path, seed, sample, tools }) => {
  const started = performance.now();
  const answer = { path };
  try {
    const text = readFileSync(path, "utf8");
    const document = JSON.parse(text);
    answer.listed = countOperations(document);
    if (tools) {
      const { operations, targets, failures } = exerciseTools(text);
      const values = exerciseValues(text, seed, sample);
      Object.assign(answer, {
        imported: operations,
        targets,
        values,
        failures: [...failures, ...values.failures],
      });
      process.send({ ...answer, milliseconds: performance.now() - started });
      return;
    }
    const result = await exercise({ text, document, server, seed, sample });
    Object.assign(answer, result, { problems: Object.fromEntries(result.problems) });
  } catch (error) {
    answer.refused = error.code === "VALIDATION_ERROR" ? error.message : undefined;
    answer.failures = answer.refused === undefined ? [error.stack] : [];
  }
  process.send({ ...answer, milliseconds: performance.now() - started });
});
process.on("disconnect", () => {
  server.close();
  process.exit();
});
process.send("ready");

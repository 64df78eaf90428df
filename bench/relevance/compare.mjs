// node bench/relevance/compare.mjs [python]: the questions of __test__/tools/support/questions.mjs, asked of our catalogue and of
// FastMCP's search (BM25 transform) over the same tools. Needs a Python with FastMCP: pip install fastmcp==4.1.2

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { catalogue } from "@alkdev/operations/tools";
import { APIS, answers, QUESTIONS, registryOf } from "../../__test__/tools/support/questions.mjs";

const FIRST = 5;
const [python = "python3"] = process.argv.slice(2);

const apis = APIS.map((api) => {
  const registry = registryOf(api);
  const questions = QUESTIONS.filter((question) => question.api === api);
  const { search } = catalogue(registry);
  const ours = questions.map(({ question }) =>
    search(question, { limit: FIRST }).map(({ id }) => id.slice(api.length + 1)),
  );
  const tools = registry
    .list()
    .map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  return { api, questions, ours, tools };
});

const { status, stdout, stderr } = spawnSync(
  python,
  [fileURLToPath(new URL("./fastmcp_search.py", import.meta.url))],
  {
    input: JSON.stringify(
      apis.map(({ tools, questions }) => ({
        tools,
        questions: questions.map(({ question }) => question),
        first: FIRST,
      })),
    ),
    encoding: "utf8",
    maxBuffer: 256 * 1024 * 1024,
  },
);
if (status !== 0) {
  console.error(
    `${stderr}\nFastMCP did not answer. Install it with: ${python} -m pip install fastmcp==4.1.2`,
  );
  process.exit(1);
}
const theirs = JSON.parse(stdout);

const recall = (lists, set) => {
  let [asked, found] = [0, 0];
  for (const [index, { questions }] of apis.entries()) {
    for (const [at, question] of questions.entries()) {
      if (set !== undefined && question.set !== set) continue;
      asked += 1;
      if (lists[index][at].some((name) => answers(question, name))) found += 1;
    }
  }
  return { asked, share: found / asked };
};
for (const set of ["tuned", "held out", "afterwards", undefined]) {
  const ours = recall(
    apis.map((each) => each.ours),
    set,
  );
  const other = recall(theirs, set);
  console.log(
    `recall@${FIRST}, ${set ?? "all"} (${ours.asked}): ours ${ours.share.toFixed(3)}, FastMCP ${other.share.toFixed(3)}`,
  );
}

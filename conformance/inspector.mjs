// The same fixture over standard streams, looked at by the Inspector's command line: the suite speaks HTTP only. It is that of
// the Inspector 1.x: the lock file of 2.x names packages for other platforms that `npm ci` then misses.

const server = ["node", "server.mjs", "--stdio"];

/** What is asked, and what must be true of the answer. */
export const CASES = {
  "tools/list": {
    args: ["--method", "tools/list"],
    holds: ({ tools }) => tools.some(({ name }) => name === "test_simple_text"),
  },
  "tools/call": {
    args: ["--method", "tools/call", "--tool-name", "test_simple_text"],
    holds: ({ content }) => content[0].text === "This is a simple text response for testing.",
  },
  "tools/call that fails": {
    args: ["--method", "tools/call", "--tool-name", "test_error_handling"],
    holds: ({ isError }) => isError === true,
    mayFail: true,
  },
  "resources/list": {
    args: ["--method", "resources/list"],
    holds: ({ resources }) => resources.some(({ uri }) => uri === "test://static-text"),
  },
  "resources/read": {
    args: ["--method", "resources/read", "--uri", "test://template/7/data"],
    holds: ({ contents }) => JSON.parse(contents[0].text).id === "7",
  },
  "resources/templates/list": {
    args: ["--method", "resources/templates/list"],
    holds: ({ resourceTemplates }) => resourceTemplates.length === 1,
  },
  "prompts/list": {
    args: ["--method", "prompts/list"],
    holds: ({ prompts }) => prompts.some(({ name }) => name === "test_simple_prompt"),
  },
  "prompts/get": {
    args: ["--method", "prompts/get", "--prompt-name", "test_prompt_with_arguments"],
    more: ["--prompt-args", "arg1=one", "arg2=two"],
    holds: ({ messages }) => messages[0].content.text.includes("arg1='one', arg2='two'"),
  },
};

/** Why a case fails, or nothing. `run` starts a program of the suite's Node. */
export async function inspect({ args, more = [], holds, mayFail = false }, launcher, run) {
  const { stdout, stderr, code } = await run([launcher, ...server, ...args, ...more]);
  if (code !== 0 && !mayFail) return `the Inspector ended with ${code}: ${stderr.slice(-300)}`;
  try {
    return holds(JSON.parse(stdout)) ? undefined : `the answer differs: ${stdout.slice(0, 300)}`;
  } catch (error) {
    return `${error.message}: ${stdout.slice(0, 200)} ${stderr.slice(-200)}`;
  }
}

// The AI SDK in each version that is supported, with the mock model of that version.

export const VERSIONS = {
  "ai 5": { load: () => import("ai5"), test: () => import("ai5/test"), model: "MockLanguageModelV2" },
  "ai 6": { load: () => import("ai6"), test: () => import("ai6/test"), model: "MockLanguageModelV3" },
  "ai 7": { load: () => import("ai"), test: () => import("ai/test"), model: "MockLanguageModelV4" },
};

export const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A model that says, in turn, what each function makes of the prompt so far. */
export async function mockModel(version, turns) {
  const { test, model: kind } = VERSIONS[version];
  const mocks = await test();
  const prompts = [];
  const model = new mocks[kind]({
    doGenerate: async ({ prompt }) => {
      prompts.push(prompt);
      const turn = turns[prompts.length - 1];
      const said = typeof turn === "function" ? turn(prompt) : turn;
      const content =
        typeof said === "string"
          ? [{ type: "text", text: said }]
          : [
              {
                type: "tool-call",
                toolCallId: `call-${prompts.length}`,
                toolName: said.tool,
                input: typeof said.input === "string" ? said.input : JSON.stringify(said.input),
              },
            ];
      const reason = typeof said === "string" ? "stop" : "tool-calls";
      return {
        content,
        finishReason: version === "ai 5" ? reason : { unified: reason, raw: reason },
        usage: version === "ai 5" ? { inputTokens: 1, outputTokens: 1, totalTokens: 2 } : usage,
        warnings: [],
      };
    },
  });
  return { model, prompts };
}

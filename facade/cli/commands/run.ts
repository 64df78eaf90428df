import { resolve } from "node:path";
import { createCodeRunner } from "../../code/runner.js";
import type { CodeRun, CodeRunnerOptions } from "../../code-types.js";
import { CallError } from "../../errors.js";
import type { ApprovalQuestion } from "../../registry/approval-types.js";
import { EXIT, exitCodeOf, usageError } from "../exit-codes.js";
import { configFor, identityFor, withSources } from "../hub.js";
import type { Workplace } from "../perform.js";
import { jsonText } from "../terminal.js";
import { fileText, inputFrom, standardInput } from "./call.js";

export async function runCommand(at: Workplace): Promise<number> {
  const { options, words, interrupts, terminal } = at;
  const [program, given] = words as [string, string | undefined];
  const timeout = options.whole("timeout", 1);
  const store = options.text("store");
  const isResumed = options.has("resume");
  if (isResumed && store === undefined) throw usageError("--resume needs --store, where the run is");
  const config = await configFor(at);
  const identity = identityFor(at, config);
  const source = isResumed
    ? ""
    : await (program === "-" ? interrupts.during(standardInput()) : fileText(program));
  const input = given === undefined ? undefined : await inputFrom(given, at);
  return withSources(at, config, async ({ registry }) => {
    const made: CodeRunnerOptions = store === undefined ? {} : { store: { dir: resolve(store) } };
    const runner = createCodeRunner(registry, made);
    const approve = (asked: unknown) => {
      const { operationId, input } = asked as ApprovalQuestion;
      terminal.note(`Approved: ${operationId} ${jsonText(input)}`);
      return true;
    };
    const heard = {
      signal: interrupts.signal,
      onLog: ({ text }: { text: string }) => terminal.note(text),
      ...(options.has("approve") && { approve }),
    };
    const begin = {
      ...heard,
      ...(input !== undefined && { input }),
      ...(identity !== undefined && { identity }),
      ...(timeout !== undefined && { deadline: Date.now() + timeout }),
    };
    try {
      const run = await (isResumed ? runner.resume(program, heard) : runner.run(source, begin));
      return await print(run, at);
    } finally {
      await runner.close();
    }
  });
}

async function print(run: CodeRun, { terminal }: Workplace): Promise<number> {
  const { status, data, error, id, approvals = [] } = run;
  if (terminal.isJson) await terminal.printJson(run);
  else if (status === "completed") await terminal.print(typeof data === "string" ? data : jsonText(data, 2));
  else if (status === "waiting") {
    const ids = approvals.map((each) => `${each.operationId} (${each.id})`).join(", ");
    terminal.complain(`operations: run ${id} waits for an approval of ${ids}`);
  } else terminal.complain(`operations: ${error?.code}: ${error?.message}`);
  if (error !== undefined) return exitCodeOf(new CallError(error.code, error.message));
  return status === "completed" ? EXIT.OK : EXIT.FAILED;
}

import type { ToolTarget } from "../../tools/targets.js";
import { type ToToolsOptions, toTools } from "../../tools/to-tools.js";
import { TARGETS } from "../command-table.js";
import { usageError } from "../exit-codes.js";
import { configFor, identityFor, withSources } from "../hub.js";
import type { Workplace } from "../perform.js";

export async function toolsCommand(at: Workplace): Promise<undefined> {
  const { terminal, options, words } = at;
  const target = options.text("target") as ToolTarget | undefined;
  if (target === undefined) throw usageError(`--target is needed: ${TARGETS.join(", ")}`);
  const config = await configFor(at);
  const identity = identityFor(at, config);
  await withSources(at, config, async (sources) => {
    const wanted: ToToolsOptions = {
      target,
      ...(identity !== undefined && { identity }),
      ...(words.length > 0 && { include: words }),
    };
    const { tools, losses } = toTools(sources.registry, wanted);
    sources.reportFailures(options.has("strict"));
    if (terminal.isJson) {
      await terminal.printJson({ tools, losses, sources: sources.report() });
      return;
    }
    for (const { operationId, path, message } of losses) terminal.note(`${operationId}${path}: ${message}`);
    await terminal.printJson(tools);
  });
  return undefined;
}

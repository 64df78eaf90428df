import { configFor, identityFor, withSources } from "../hub.js";
import { accessOf, idOf, operationsFor, summaryOf } from "../operations.js";
import type { Workplace } from "../perform.js";
import { table } from "../table.js";

export async function listCommand(at: Workplace): Promise<undefined> {
  const { terminal, options, words } = at;
  const config = await configFor(at);
  const identity = identityFor(at, config);
  await withSources(at, config, async (sources) => {
    const found = operationsFor(sources, words, identity);
    sources.reportFailures(options.has("strict"));
    if (terminal.isJson) {
      await terminal.printJson({
        operations: found.map((spec) => ({
          id: idOf(spec),
          type: spec.type,
          ...(spec.title !== undefined && { title: spec.title }),
          description: spec.description,
          ...(spec.tags !== undefined && { tags: spec.tags }),
          accessControl: spec.accessControl,
        })),
        sources: sources.report(),
      });
    } else if (found.length === 0) {
      terminal.note(words.length === 0 ? "There are no operations" : "There are no such operations");
    } else {
      const rows = found.map((spec) => [
        idOf(spec),
        spec.type,
        accessOf(spec.accessControl),
        summaryOf(spec),
      ]);
      await terminal.print(table(["ID", "TYPE", "ACCESS", "WHAT IT DOES"], rows, terminal.width));
    }
  });
  return undefined;
}

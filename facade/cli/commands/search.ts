import { configFor, identityFor, withSources } from "../hub.js";
import { catalogueFor, summaryOf } from "../operations.js";
import type { Workplace } from "../perform.js";
import { table } from "../table.js";

export async function searchCommand(at: Workplace): Promise<undefined> {
  const { terminal, options, words } = at;
  const limit = options.whole("limit", 1, 1_000) ?? 10;
  const config = await configFor(at);
  const identity = identityFor(at, config);
  await withSources(at, config, async (sources) => {
    const hits = catalogueFor(sources, identity).search(words.join(" "), { limit });
    sources.reportFailures(options.has("strict"));
    if (terminal.isJson) {
      await terminal.printJson({ operations: hits, sources: sources.report() });
    } else if (hits.length === 0) {
      terminal.note("Nothing was found");
    } else {
      const rows = hits.map((hit) => [hit.id, hit.parameters.join(", "), summaryOf(hit)]);
      await terminal.print(table(["ID", "PARAMETERS", "WHAT IT DOES"], rows, terminal.width));
    }
  });
  return undefined;
}

import { schemaText } from "../../registry/describe-operation.js";
import { configFor, configNamed, identityFor, withSources } from "../hub.js";
import { idOf, operationsFor, summaryOf } from "../operations.js";
import type { Workplace } from "../perform.js";
import { commentOf, keyOf, pascal, SchemaTypes } from "../schema-types.js";

export async function typesCommand(at: Workplace): Promise<undefined> {
  const { terminal, options } = at;
  const config = await configFor(at, configNamed(at));
  const identity = identityFor(at, config);
  await withSources(at, config, async (sources) => {
    const types = new SchemaTypes();
    const namespaces = new Map<string, string[]>();
    for (const spec of operationsFor(sources, [], identity)) {
      const { namespace, name, type } = spec;
      const schema = (field: "inputSchema" | "outputSchema"): unknown => JSON.parse(schemaText(spec, field));
      const input = types.typeOf(schema("inputSchema"), pascal(idOf(spec)));
      const output = types.typeOf(schema("outputSchema"), pascal(idOf(spec)));
      const lines = namespaces.get(namespace) ?? [];
      const comment = commentOf({ description: summaryOf(spec) });
      lines.push(`    ${comment}${keyOf(name)}: ${pascal(type)}<${input}, ${output}>;`);
      namespaces.set(namespace, lines);
    }
    sources.reportFailures(options.has("strict"));
    const body = Array.from(namespaces, ([name, lines]) => `  ${keyOf(name)}: {\n${lines.join("\n")}\n  };`);
    const lines = [
      `// Written by \`operations types\`. Write it again when the sources have changed.`,
      "",
      `import type { Mutation, Query, Subscription } from "@alkdev/operations/client";`,
      "",
      ...types.declarations,
      "/** For `createClient<Operations>(url)`, `callMap.typed<Operations>()` and `OperationRegistry<Operations>`. */",
      `export interface Operations {`,
      ...body,
      "}",
    ];
    await terminal.print(lines.join("\n"));
  });
  return undefined;
}

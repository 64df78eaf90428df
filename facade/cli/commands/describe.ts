import type { AccessControl } from "../../types.js";
import { configFor, identityFor, sourcesOf, withSources } from "../hub.js";
import { accessOf, catalogueFor, refuseUnknown, sourceOf } from "../operations.js";
import type { Workplace } from "../perform.js";

export async function describeCommand(at: Workplace): Promise<undefined> {
  const { terminal, words } = at;
  const id = words[0] as string;
  const config = await configFor(at);
  const identity = identityFor(at, config);
  const namespace = sourceOf(id, config);
  await withSources(
    at,
    config,
    async (sources) => {
      const described = catalogueFor(sources, identity).describe(id);
      if (described === undefined) throw refuseUnknown(id, namespace, sources, identity);
      const { accessControl } = sources.registry.getSpec(id) as { accessControl: AccessControl };
      if (terminal.isJson) {
        await terminal.printJson({ ...described, accessControl });
        return;
      }
      const { type, title, description, tags, signature, inputSchema } = described;
      const says = description.trim();
      const lines = [
        `${id} (${type})`,
        // Documents often say the same in both.
        ...(title === undefined || title.trim() === says ? [] : [title]),
        ...(says === "" ? [] : ["", says]),
        "",
        ...(tags === undefined ? [] : [`Tags: ${tags.join(", ")}`]),
        `Access: ${accessOf(accessControl)}`,
        "",
        signature.trimEnd(),
        "",
        "Schema of the input:",
        JSON.stringify(inputSchema, undefined, 2),
      ];
      await terminal.print(lines.join("\n"));
    },
    sourcesOf(namespace),
  );
  return undefined;
}

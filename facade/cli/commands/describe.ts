import type { AccessControl } from "../../types.js";
import { configFor, identityFor, withSources } from "../hub.js";
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
      if (described === undefined) throw refuseUnknown(id, namespace, sources);
      const { accessControl } = sources.registry.getSpec(id) as { accessControl: AccessControl };
      if (terminal.isJson) {
        await terminal.printJson({ ...described, accessControl });
        return;
      }
      const { type, title, description, tags, signature } = described;
      const lines = [
        `${id} (${type})`,
        ...(title === undefined ? [] : [title]),
        ...(description.trim() === "" ? [] : ["", description.trim()]),
        "",
        ...(tags === undefined ? [] : [`Tags: ${tags.join(", ")}`]),
        `Access: ${accessOf(accessControl)}`,
        "",
        signature.trimEnd(),
      ];
      await terminal.print(lines.join("\n"));
    },
    namespace,
  );
  return undefined;
}

import { configFor, configNamed, withSources } from "../hub.js";
import type { Workplace } from "../perform.js";
import { table } from "../table.js";

/** Shows how the MCP servers of a configuration are, lazy ones without starting them. */
export async function serversCommand(at: Workplace): Promise<undefined> {
  const { terminal } = at;
  const config = await configFor(at, configNamed(at));
  const isServer = ({ kind }: { kind: string }) => kind === "mcp";
  await withSources(
    at,
    config,
    async (sources) => {
      const servers = [
        ...sources.servers(),
        ...config.disabled.map((name) => ({ name, status: "disabled", tools: 0, error: undefined })),
      ];
      if (terminal.isJson) await terminal.printJson({ servers });
      else if (servers.length === 0) terminal.note("There are no MCP servers");
      else {
        const rows = servers.map(({ name, status, tools, error }) => [
          name,
          status,
          String(tools),
          error?.message ?? "",
        ]);
        await terminal.print(table(["NAME", "STATUS", "TOOLS", "PROBLEM"], rows, terminal.width));
      }
    },
    isServer,
  );
  return undefined;
}

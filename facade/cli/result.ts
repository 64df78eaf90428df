// What people see of a result.

import type { MCPContentBlock, ResponseEnvelope } from "../envelope.js";
import { jsonText, type Terminal } from "./terminal.js";

/** Prints the data of an envelope: texts and bytes as they are, everything else as JSON. */
export async function printData({ data, meta }: ResponseEnvelope, terminal: Terminal): Promise<void> {
  if (data instanceof Uint8Array) {
    if (terminal.isOutputTerminal)
      terminal.note(`${data.byteLength} bytes: write them to a file with \`> file\``);
    else await terminal.write(data);
  } else if (meta.source === "mcp" && meta.structuredContent === undefined && isBlocks(data)) {
    await terminal.print(textOfBlocks(data));
  } else {
    await terminal.print(typeof data === "string" ? data : jsonText(data, 2));
  }
}

function isBlocks(data: unknown): data is MCPContentBlock[] {
  return Array.isArray(data) && data.every((block) => typeof Object(block).type === "string");
}

/** Content blocks in words. */
export function textOfBlocks(blocks: readonly MCPContentBlock[]): string {
  return blocks.map(textOfBlock).join("\n");
}

function textOfBlock(block: MCPContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "resource_link":
      return `[${block.name}: ${block.uri}]`;
    case "image":
    case "audio":
      return `[${block.mimeType}, ${Math.floor((block.data.length * 3) / 4)} bytes: --json shows them]`;
    default: {
      const { resource } = block as { resource?: { text?: unknown; uri?: unknown } };
      return typeof resource?.text === "string" ? resource.text : `[${String(resource?.uri ?? block.type)}]`;
    }
  }
}

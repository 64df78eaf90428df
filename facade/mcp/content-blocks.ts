import type { MCPContentBlock } from "../envelope.js";

type Fields = Record<string, unknown>;
type FieldType = "string" | "number" | "object";

interface KnownBlock {
  readonly required: Record<string, FieldType>;
  readonly optional: Record<string, FieldType>;
}

const extras = { annotations: "object", _meta: "object" } as const;
const media: KnownBlock = { required: { data: "string", mimeType: "string" }, optional: extras };

/** The kinds of content block that the protocol has, field by field. */
const KNOWN_BLOCKS = new Map<unknown, KnownBlock>([
  ["text", { required: { text: "string" }, optional: extras }],
  ["image", media],
  ["audio", media],
  ["resource", { required: { resource: "object" }, optional: extras }],
  [
    "resource_link",
    {
      required: { uri: "string", name: "string" },
      optional: { title: "string", description: "string", mimeType: "string", size: "number", ...extras },
    },
  ],
]);

const RESOURCE: KnownBlock = {
  required: { uri: "string" },
  optional: { mimeType: "string", text: "string", blob: "string", _meta: "object" },
};

/**
 * Content blocks as an MCP server sent them, to the five kinds that this package declares. A block
 * of another kind, or one that lacks what its kind requires, is kept as text (its JSON).
 */
export function mapMCPContentBlocks(blocks: readonly unknown[] | null | undefined): MCPContentBlock[] {
  return Array.isArray(blocks) ? blocks.map(mapBlock) : [];
}

function mapBlock(block: unknown): MCPContentBlock {
  if (isObject(block)) {
    const known = KNOWN_BLOCKS.get(block.type);
    const fields = known && pick(block, known);
    if (fields !== undefined) {
      const mapped: Fields = { type: block.type, ...fields };
      if (block.type !== "resource") return mapped as unknown as MCPContentBlock;
      const resource = pick(block.resource as Fields, RESOURCE);
      if (resource !== undefined) return { ...mapped, resource } as unknown as MCPContentBlock;
    }
  }
  return { type: "text", text: jsonOf(block) };
}

/** The declared fields of a block, or nothing if a required one is missing or of another type. */
function pick(source: Fields, { required, optional }: KnownBlock): Fields | undefined {
  const picked: Fields = {};
  for (const [key, type] of Object.entries(required)) {
    if (!isOfType(source[key], type)) return undefined;
    picked[key] = source[key];
  }
  for (const [key, type] of Object.entries(optional)) {
    if (isOfType(source[key], type)) picked[key] = source[key];
  }
  return picked;
}

function isOfType(value: unknown, type: FieldType): boolean {
  return type === "object" ? isObject(value) : typeof value === type;
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

/** What cannot be JSON (a cycle, a bigint) still becomes some text. */
function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

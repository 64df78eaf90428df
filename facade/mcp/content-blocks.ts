import type { MCPContentBlock } from "../envelope.js";
import { isObject } from "../interop/options.js";

type Fields = Record<string, unknown>;
type FieldType = "string" | "number" | "object";

/** The fields of a kind, as lists: they are gone through for every block of every result. */
interface KnownBlock {
  readonly required: readonly (readonly [string, FieldType])[];
  readonly optional: readonly (readonly [string, FieldType])[];
}

function known(
  required: Record<string, FieldType>,
  optional: Record<string, FieldType> = { annotations: "object", _meta: "object" },
): KnownBlock {
  return { required: Object.entries(required), optional: Object.entries(optional) };
}

const media = known({ data: "string", mimeType: "string" });

/** The kinds of content block that the protocol has, field by field. */
const KNOWN_BLOCKS = new Map<unknown, KnownBlock>([
  ["text", known({ text: "string" })],
  ["image", media],
  ["audio", media],
  ["resource", known({ resource: "object" })],
  [
    "resource_link",
    known(
      { uri: "string", name: "string" },
      {
        title: "string",
        description: "string",
        mimeType: "string",
        size: "number",
        annotations: "object",
        _meta: "object",
      },
    ),
  ],
]);

const RESOURCE = known(
  { uri: "string" },
  { mimeType: "string", text: "string", blob: "string", _meta: "object" },
);

/**
 * Converts content blocks of an MCP server to the five kinds that this package declares. A block of another kind, or a
 * block without a required field, becomes a text block with its JSON.
 *
 * @example
 * ```ts
 * const [block] = mapMCPContentBlocks([{ type: "text", text: "hello" }]);
 * ```
 */
export function mapMCPContentBlocks(blocks: readonly unknown[] | null | undefined): MCPContentBlock[] {
  return Array.isArray(blocks) ? blocks.map(mapBlock) : [];
}

function mapBlock(block: unknown): MCPContentBlock {
  if (isObject(block)) {
    const { type, text, annotations, _meta } = block;
    // Almost every block, without going through lists of names.
    if (type === "text" && typeof text === "string" && annotations === undefined && _meta === undefined) {
      return { type, text };
    }
    const fields = KNOWN_BLOCKS.get(block.type);
    const mapped = fields && pick({ type: block.type }, block, fields);
    if (mapped !== undefined) {
      if (block.type !== "resource") return mapped as unknown as MCPContentBlock;
      const resource = pick({}, block.resource as Fields, RESOURCE);
      if (resource !== undefined) return { ...mapped, resource } as unknown as MCPContentBlock;
    }
  }
  return { type: "text", text: jsonOf(block) };
}

/** Adds the declared fields of a block, or returns `undefined` if a required one is missing or of another type. */
function pick(picked: Fields, source: Fields, { required, optional }: KnownBlock): Fields | undefined {
  for (const [key, type] of required) {
    const value = source[key];
    if (!isOfType(value, type)) return undefined;
    picked[key] = value;
  }
  for (const [key, type] of optional) {
    const value = source[key];
    if (value !== undefined && isOfType(value, type)) picked[key] = value;
  }
  return picked;
}

function isOfType(value: unknown, type: FieldType): boolean {
  return type === "object" ? isObject(value) : typeof value === type;
}

/** What cannot be JSON (a cycle, a bigint) still becomes some text. */
function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

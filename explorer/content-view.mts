// The content blocks of an MCP result, each as what it is: texts as text, images as images.

import { type Child, h } from "./dom.mjs";
import { jsonTree } from "./json-tree.mjs";
import { isRecord } from "./schema-root.mjs";
import { beginning, visible } from "./text.mjs";

/** Images that browsers draw without running anything in them. */
const DRAWN = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"]);
const LONG_TEXT = 20_000;
const MOST_BLOCKS = 200;

/** The address of a block's image; `undefined` where it has none that can be shown. */
export function imageIn(block: unknown): string | undefined {
  if (!isRecord(block)) return undefined;
  const [type, data] =
    block.type === "image"
      ? [block.mimeType, block.data]
      : block.type === "resource" && isRecord(block.resource)
        ? [block.resource.mimeType, block.resource.blob]
        : [];
  if (typeof type !== "string" || typeof data !== "string") return undefined;
  const media = type.toLowerCase().split(";")[0]?.trim() ?? "";
  return DRAWN.has(media) && /^[\w+/=\s-]+$/.test(data) ? `data:${media};base64,${data}` : undefined;
}

export function contentView(blocks: readonly unknown[]): HTMLElement {
  const left = blocks.length - MOST_BLOCKS;
  return h(
    "div",
    { class: "blocks" },
    blocks.slice(0, MOST_BLOCKS).map(blockView),
    left > 0 && h("p", { class: "hint" }, `${left} more blocks are in the envelope.`),
  );
}

function blockView(block: unknown): Child {
  const image = imageIn(block);
  if (image !== undefined) return imageView(image);
  if (isRecord(block) && block.type === "text" && typeof block.text === "string") {
    const text = visible(block.text)
      .replaceAll("\\u000a", "\n")
      .replaceAll("\\u000d", "")
      .replaceAll("\\u0009", "\t");
    return h("p", { class: "block-text" }, beginning(text, LONG_TEXT));
  }
  return jsonTree(block);
}

function imageView(source: string): HTMLElement {
  const caption = h("figcaption", { class: "hint" });
  const image = h("img", { alt: "An image of the result" });
  image.addEventListener("load", () => {
    caption.textContent = `${image.naturalWidth} × ${image.naturalHeight}`;
  });
  image.addEventListener("error", () => {
    caption.textContent = "The browser cannot show this image. Its data is in the envelope.";
  });
  image.src = source;
  return h("figure", { class: "block-image" }, image, caption);
}

// What came of a call: data, the whole envelope, and the call as a program.

import { contentView, imageIn } from "./content-view.mjs";
import { copyButton, h } from "./dom.mjs";
import { jsonTree } from "./json-tree.mjs";
import { sampleView } from "./sample-view.mjs";
import type { Sample } from "./samples.mjs";
import { isRecord } from "./schema-root.mjs";
import type { Outcome } from "./server.mjs";
import { type Tab, tabs } from "./tabs.mjs";
import { bytesText, durationText, visible } from "./text.mjs";

export function resultView(outcome: Outcome, sample: Sample): HTMLElement {
  const { envelope } = outcome;
  const meta = isRecord(envelope) && isRecord(envelope.meta) ? envelope.meta : {};
  const data = isRecord(envelope) ? envelope.data : undefined;
  const content = meta.source === "mcp" && Array.isArray(meta.content) ? meta.content : [];
  const views: Tab[] = [
    {
      label: "Data",
      content: () => (data === undefined ? h("p", { class: "hint" }, "It gives no data.") : jsonTree(data)),
    },
    { label: "Envelope", content: () => jsonTree(envelope) },
    {
      label: "Text",
      content: () => h("pre", { class: "code", tabindex: 0 }, JSON.stringify(data, undefined, 2) ?? ""),
    },
    { label: "Code", content: () => sampleView(sample) },
  ];
  if (content.length > 0) {
    // Blocks come first where they have more to show than the data, which may be the same blocks as JSON.
    const isFirst =
      meta.structuredContent === undefined || content.some((block) => imageIn(block) !== undefined);
    views.splice(isFirst ? 0 : 1, 0, { label: "Content", content: () => contentView(content) });
  }
  const isToolError = meta.source === "mcp" && meta.isError === true;
  return h(
    "div",
    { class: "result" },
    h(
      "p",
      { class: "result-line" },
      h(
        "span",
        { class: `badge ${isToolError ? "bad" : "good"}` },
        isToolError ? "the tool failed" : outcome.status,
      ),
      h("span", {}, durationText(outcome.duration)),
      h("span", {}, bytesText(outcome.bytes)),
      typeof meta.source === "string" && h("span", {}, `from ${visible(meta.source)}`),
      h("span", { class: "spring" }),
      copyButton(() => JSON.stringify(data, undefined, 2) ?? "", "Copy data"),
    ),
    notes(meta.notes),
    tabs("Result", views),
    outcome.requestId !== null &&
      h("p", { class: "hint" }, "Request ", h("code", {}, visible(outcome.requestId))),
  );
}

/** What normalisation had to make up or replace. */
function notes(list: unknown): HTMLElement | undefined {
  if (!Array.isArray(list) || list.length === 0) return undefined;
  const lines = list
    .filter(isRecord)
    .map(({ path, message }) =>
      h("li", {}, h("code", {}, visible(String(path || "/"))), ` ${visible(String(message))}`),
    );
  return h(
    "div",
    { class: "notes", role: "note" },
    h("p", {}, "The result was not quite what the schema declares:"),
    h("ul", {}, lines),
  );
}

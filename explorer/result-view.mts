// What came of a call: data, the whole envelope, and the request to repeat it elsewhere.

import { copyButton, h } from "./dom.mjs";
import { jsonTree } from "./json-tree.mjs";
import { isRecord } from "./schema-root.mjs";
import type { Outcome } from "./server.mjs";
import { tabs } from "./tabs.mjs";
import { bytesText, durationText, visible } from "./text.mjs";

export function resultView(outcome: Outcome, command: string): HTMLElement {
  const { envelope } = outcome;
  const meta = isRecord(envelope) && isRecord(envelope.meta) ? envelope.meta : {};
  const data = isRecord(envelope) ? envelope.data : undefined;
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
    tabs("Result", [
      {
        label: "Data",
        content: () => (data === undefined ? h("p", { class: "hint" }, "It gives no data.") : jsonTree(data)),
      },
      { label: "Envelope", content: () => jsonTree(envelope) },
      {
        label: "Text",
        content: () => h("pre", { class: "code", tabindex: 0 }, JSON.stringify(data, undefined, 2) ?? ""),
      },
      { label: "Request", content: () => requestView(command) },
    ]),
    outcome.requestId !== null &&
      h("p", { class: "hint" }, "Request ", h("code", {}, visible(outcome.requestId))),
  );
}

export function requestView(command: string): HTMLElement {
  return h(
    "div",
    {},
    h("pre", { class: "code", tabindex: 0 }, command),
    copyButton(() => command, "Copy"),
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

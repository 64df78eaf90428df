// A value of JSON to look through: folded, and made as it is unfolded, so that large ones are no burden.

import { h } from "./dom.mjs";
import { isRecord } from "./schema-root.mjs";
import { counted, shortValue, visible } from "./text.mjs";

const MOST_AT_ONCE = 100;
const LONG_TEXT = 400;
/** Values with no more parts than this are unfolded. */
const SMALL = 24;

export function jsonTree(value: unknown): HTMLElement {
  return h("div", { class: "tree" }, branch(undefined, value, 0));
}

function branch(name: string | number | undefined, value: unknown, depth: number): HTMLElement {
  const label =
    name === undefined ? undefined : h("span", { class: "tree-name" }, `${visible(String(name))}: `);
  if (typeof value !== "object" || value === null)
    return h("div", { class: "tree-leaf" }, label, leaf(value));
  const entries: [string | number, unknown][] = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value);
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) return h("div", { class: "tree-leaf" }, label, `${open}${close}`);
  if (isRecord(value) && typeof value.$bytes === "string" && entries.length === 1) {
    return h("div", { class: "tree-leaf" }, label, bytes(value.$bytes));
  }
  const words = Array.isArray(value)
    ? counted(entries.length, "item")
    : counted(entries.length, "property").replace("propertys", "properties");
  const summary = h(
    "summary",
    {},
    label,
    h("span", { class: "tree-mark" }, `${open} `),
    h("span", { class: "tree-peek" }, `${words} · ${visible(shortValue(value, 60))}`),
  );
  const details = h("details", { class: "tree-branch" }, summary);
  const show = () => {
    if (details.childElementCount > 1) return;
    details.append(children(entries, depth), h("div", { class: "tree-end" }, close));
  };
  details.addEventListener("toggle", () => {
    if (details.open) show();
  });
  if (depth === 0 || (depth < 3 && entries.length <= SMALL)) {
    show();
    details.open = true;
  }
  return details;
}

function children(entries: readonly [string | number, unknown][], depth: number): HTMLElement {
  const list = h("div", { class: "tree-children" });
  let shown = 0;
  const more = h("button", { type: "button", class: "quiet small" });
  const show = () => {
    const next = entries.slice(shown, shown + MOST_AT_ONCE);
    shown += next.length;
    for (const [name, value] of next) list.insertBefore(branch(name, value, depth + 1), more);
    const left = entries.length - shown;
    if (left <= 0) more.remove();
    else more.textContent = `Show ${Math.min(left, MOST_AT_ONCE)} more of ${left}`;
  };
  list.append(more);
  more.addEventListener("click", show);
  show();
  return list;
}

function leaf(value: unknown): HTMLElement {
  if (typeof value !== "string")
    return h("span", { class: `tree-${value === null ? "null" : typeof value}` }, String(value));
  const element = h("span", { class: "tree-string" });
  if (value.length <= LONG_TEXT) {
    element.textContent = JSON.stringify(value);
    return element;
  }
  const all = h(
    "button",
    { type: "button", class: "quiet small" },
    `Show all ${counted(value.length, "character")}`,
  );
  element.append(`${JSON.stringify(value.slice(0, LONG_TEXT))}… `, all);
  all.addEventListener("click", () => {
    element.textContent = JSON.stringify(value);
  });
  return element;
}

function bytes(base64: string): HTMLElement {
  const size = Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
  const button = h("button", { type: "button", class: "quiet small" }, "Save as a file");
  button.addEventListener("click", () => {
    const text = atob(base64);
    const content = Uint8Array.from(text, (char) => char.charCodeAt(0));
    const url = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }));
    h("a", { href: url, download: "data.bin" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  });
  return h("span", {}, h("span", { class: "tree-null" }, `${counted(size, "byte")} of binary data `), button);
}

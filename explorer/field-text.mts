// The controls of fields that are typed: texts of all formats, and numbers.

import { h } from "./dom.mjs";
import { filePicker } from "./file-picker.mjs";
import type { TextPart } from "./form.mjs";
import { shortValue } from "./text.mjs";

const PLACEHOLDERS: Readonly<Record<string, string>> = {
  date: "2026-01-31",
  time: "12:00:00Z",
  "date-time": "2026-01-31T12:00:00Z",
  email: "ada@example.com",
  uri: "https://example.com",
  url: "https://example.com",
  hostname: "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uuid: "00000000-0000-4000-8000-000000000000",
};

const TYPES: Readonly<Record<string, string>> = {
  date: "date",
  email: "email",
  uri: "url",
  url: "url",
  password: "password",
};

/** What can be filled in by a button. */
const MAKERS: Readonly<Record<string, { label: string; make: () => string }>> = {
  "date-time": { label: "Now", make: () => new Date().toISOString() },
  time: { label: "Now", make: () => new Date().toISOString().slice(11) },
  date: { label: "Today", make: () => new Date().toISOString().slice(0, 10) },
  uuid: { label: "New", make: newUuid },
};

export function textControl(
  part: TextPart,
  { id, describedBy }: { id: string; describedBy: string },
  onchange: () => void,
): HTMLElement {
  const { shape, field } = part;
  const format = shape.kind === "string" ? (shape.format ?? "") : "";
  const placeholder =
    field.example !== undefined
      ? shortValue(field.example)
      : field.default !== undefined
        ? shortValue(field.default)
        : (PLACEHOLDERS[format] ?? "");
  const attributes = {
    id,
    placeholder,
    spellcheck: "false",
    autocomplete: "off",
    "aria-describedby": describedBy,
  };
  const control =
    shape.kind === "string" && shape.isLong
      ? h("textarea", { ...attributes, rows: 4 })
      : h("input", {
          ...attributes,
          type: TYPES[format] ?? "text",
          inputmode: shape.kind === "number" ? (shape.isInteger ? "numeric" : "decimal") : undefined,
        });
  control.value = part.text;
  // What a date field does not understand, it would hide.
  if (control.value !== part.text && control instanceof HTMLInputElement) {
    control.type = "text";
    control.value = part.text;
  }
  const take = () => {
    part.text = control.value;
    onchange();
  };
  control.addEventListener("input", take);
  if (shape.kind === "string" && shape.isBase64 === true) {
    const picker = filePicker({ id: undefined, describedBy, chosen: "" }, (base64) => {
      control.value = base64;
      take();
    });
    return h("div", {}, control, picker);
  }
  const maker = MAKERS[format];
  if (maker === undefined) return control;
  const button = h("button", { type: "button", class: "small" }, maker.label);
  button.addEventListener("click", () => {
    control.value = maker.make();
    take();
  });
  return h("div", { class: "with-button" }, control, button);
}

/** By hand: the browser's own is for pages on a secure origin only. */
function newUuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

// A control that takes the content of a file.

import { h } from "./dom.mjs";
import { bytesText } from "./text.mjs";

export function filePicker(
  { id, describedBy, chosen }: { id: string | undefined; describedBy: string; chosen: string },
  take: (base64: string, name: string) => void,
): HTMLElement {
  const input = h("input", {
    type: "file",
    id,
    "aria-describedby": describedBy,
    "aria-label": id === undefined ? "Fill in the content of a file" : undefined,
  });
  const said = h("p", { class: "hint", role: "status" }, chosen);
  input.addEventListener("change", async () => {
    const file = input.files?.[0];
    if (file === undefined) return;
    try {
      take(base64Of(new Uint8Array(await file.arrayBuffer())), `${file.name}, ${bytesText(file.size)}`);
      // The browser shows the name itself.
      said.textContent = bytesText(file.size);
    } catch {
      said.textContent = `The browser cannot read ${file.name}.`;
    }
  });
  return h("div", { class: "file" }, input, said);
}

/** How many bytes become characters at a time: as arguments of one call. */
const AT_A_TIME = 8192;

export function base64Of(content: Uint8Array): string {
  let text = "";
  for (let at = 0; at < content.length; at += AT_A_TIME)
    text += String.fromCharCode(...content.subarray(at, at + AT_A_TIME));
  return btoa(text);
}

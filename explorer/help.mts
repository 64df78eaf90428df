// Which keys do what.

import { h } from "./dom.mjs";
import { open } from "./token.mjs";

const KEYS: readonly (readonly [keys: readonly string[], what: string])[] = [
  [["/"], "Search operations"],
  [["↑", "↓"], "Go through the list, or through events"],
  [["Enter"], "Open the operation, or the event"],
  [["Ctrl", "Enter"], "Call the operation, or stop the call"],
  [["Esc"], "Empty the search, or close a dialog"],
  [["t"], "Set a token"],
  [["?"], "Show this list"],
];

export function showHelp(): void {
  const rows = KEYS.map(([keys, what]) =>
    h(
      "tr",
      {},
      h(
        "td",
        {},
        keys.map((key) => [h("kbd", {}, key), " "]),
      ),
      h("td", {}, what),
    ),
  );
  const dialog = h(
    "dialog",
    { class: "dialog", "aria-labelledby": "help-title" },
    h("h2", { id: "help-title" }, "Keyboard"),
    h("table", { class: "keys" }, h("tbody", {}, rows)),
    h(
      "div",
      { class: "dialog-foot" },
      h("button", { type: "button", onclick: () => dialog.close() }, "Close"),
    ),
  );
  open(dialog);
}

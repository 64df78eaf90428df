// The token that calls are made with. It is kept in memory, or, if the user asks for it, until the tab is closed.

import { h, newId } from "./dom.mjs";

const KEY = "operations-token";

/** The token of this tab, if it was to be kept. */
export function keptToken(): string | undefined {
  try {
    return sessionStorage.getItem(KEY) ?? undefined;
  } catch {
    return undefined;
  }
}

function keep(token: string | undefined): void {
  try {
    if (token === undefined) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, token);
  } catch {
    // A browser may forbid it. The token is then gone with the page.
  }
}

/** Asks for a token. `onset` gets it; nothing where it is to be forgotten. */
export function askForToken(current: string | undefined, onset: (token: string | undefined) => void): void {
  const id = newId();
  const input = h("input", {
    id,
    type: "password",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "Paste a token",
  });
  input.value = current ?? "";
  const kept = h("input", { type: "checkbox", id: newId() });
  kept.checked = keptToken() !== undefined;
  const dialog = h("dialog", { class: "dialog", "aria-labelledby": `${id}-title` });
  const set = (token: string | undefined) => {
    keep(kept.checked ? token : undefined);
    dialog.close();
    onset(token);
  };
  const save = () => set(input.value.trim() === "" ? undefined : input.value.trim());
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    // The focus goes back to the button that opened the dialog, which would take the key for itself.
    event.preventDefault();
    save();
  });
  dialog.append(
    h("h2", { id: `${id}-title` }, "Token"),
    h("p", { class: "hint" }, "It is sent with each request as Authorization: Bearer, to this server alone."),
    h("label", { class: "field-name", for: id }, "Token"),
    input,
    h("p", { class: "check" }, kept, h("label", { for: kept.id }, "Keep it until this tab is closed")),
    h(
      "div",
      { class: "dialog-foot" },
      h("button", { type: "button", class: "primary", onclick: save }, "Use it"),
      current !== undefined && h("button", { type: "button", onclick: () => set(undefined) }, "Forget it"),
      h("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
    ),
  );
  open(dialog);
  input.select();
}

/** Shows a dialog, which is gone when it is closed. */
export function open(dialog: HTMLDialogElement): void {
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// Tabs, as the keyboard knows them: arrow keys go from one to the next.

import { type Child, fill, h, newId } from "./dom.mjs";

export interface Tab {
  readonly label: string;
  /** Called when the tab is first opened. */
  readonly content: () => Child;
}

export function tabs(label: string, list: readonly Tab[], first = 0): HTMLElement {
  const panelId = newId();
  const panel = h("div", { role: "tabpanel", id: panelId, class: "tab-panel", tabindex: 0 });
  const buttons = list.map((tab, index) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        id: newId(),
        "aria-controls": panelId,
        onclick: () => open(index),
        onkeydown: (event) => {
          const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
          if (step === undefined) return;
          event.preventDefault();
          const next = (index + step + list.length) % list.length;
          open(next);
          buttons[next]?.focus();
        },
      },
      tab.label,
    ),
  );
  const open = (index: number) => {
    for (const [at, button] of buttons.entries()) {
      button.setAttribute("aria-selected", String(at === index));
      button.tabIndex = at === index ? 0 : -1;
    }
    const button = buttons[index];
    if (button) panel.setAttribute("aria-labelledby", button.id);
    fill(panel, list[index]?.content());
  };
  open(first);
  return h(
    "div",
    { class: "tabs" },
    h("div", { class: "tab-list", role: "tablist", "aria-label": label }, buttons),
    panel,
  );
}

// The call in the form, as programs to copy.

import { copyButton, h } from "./dom.mjs";
import { LANGUAGES, type Sample } from "./samples.mjs";
import { tabs } from "./tabs.mjs";

/** The language that was chosen last, for the next call too. */
let chosen = 0;

export function sampleView(sample: Sample): HTMLElement {
  const list = LANGUAGES.map(({ label, write }, index) => ({
    label,
    content: () => {
      chosen = index;
      const text = write(sample);
      return [h("pre", { class: "code", tabindex: 0 }, text), copyButton(() => text, "Copy")];
    },
  }));
  return tabs("Language", list, chosen);
}

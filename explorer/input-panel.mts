// The input of a call: a form, or JSON.

import { fill, h, newId } from "./dom.mjs";
import { FieldView } from "./fields.mjs";
import { KnownPart, type Part, type Problem, partFor } from "./form.mjs";
import { Root } from "./schema.mjs";
import type { Described } from "./server.mjs";

/** What was filled in, which stays while other operations are shown. */
export class Draft {
  readonly part: Part;
  /** The input as text; nothing while it is a form. */
  text: string | undefined;
  readonly #schema: string;

  constructor({ input }: Described) {
    const schema = input ?? true;
    this.part = partFor(schema, new Root(schema));
    this.#schema = JSON.stringify(schema);
  }

  /** Whether the operation still takes the same input. */
  isFor({ input }: Described): boolean {
    return JSON.stringify(input ?? true) === this.#schema;
  }
}

export class InputPanel {
  readonly element = h("div", { class: "input-panel" });
  readonly modes: HTMLElement;
  readonly #draft: Draft;
  readonly #problem = h("p", { class: "problem", id: newId(), role: "alert" });
  readonly #onchange: () => void;
  #form: FieldView | undefined;
  #area: HTMLTextAreaElement | undefined;

  constructor(draft: Draft, onchange: () => void) {
    this.#draft = draft;
    this.#onchange = onchange;
    this.modes = h("div", { class: "modes", role: "group", "aria-label": "How to fill it in" });
    this.#draw();
  }

  /** The input as JSON text; nothing where it has problems, which are shown. `undefined` as a body is no input at all. */
  read({ isQuiet = false } = {}): { body: string | undefined } | undefined {
    const { text, part } = this.#draft;
    if (text !== undefined) {
      if (text.trim() === "") return { body: undefined };
      try {
        JSON.parse(text);
      } catch (error) {
        if (!isQuiet) this.#say(`This is not JSON: ${error instanceof Error ? error.message : error}`);
        return undefined;
      }
      // As it was typed: a number may have more digits than JavaScript can hold.
      return { body: text };
    }
    const problems: Problem[] = [];
    const value = part.read("", problems);
    if (problems.length > 0) {
      if (!isQuiet) this.show(problems);
      return undefined;
    }
    return { body: value === undefined ? undefined : JSON.stringify(value) };
  }

  /** The input as it is now, with what is wrong left out. */
  current(): string | undefined {
    const { text, part } = this.#draft;
    if (text !== undefined) return this.read({ isQuiet: true })?.body;
    const value = part.read("", []);
    return value === undefined ? undefined : JSON.stringify(value);
  }

  /** Shows what is wrong, at the fields where that is known, and goes to the first. */
  show(problems: readonly Problem[]): void {
    if (this.#form === undefined) {
      this.#say(
        problems.map(({ path, message }) => (path === "" ? message : `${path}: ${message}`)).join("\n"),
      );
      return;
    }
    this.#form.show(problems)?.focus();
  }

  clear(): void {
    this.#say("");
    this.#form?.clear();
  }

  #say(message: string): void {
    this.#problem.textContent = message;
    if (message !== "") this.#area?.focus();
  }

  #draw(): void {
    const { part, text } = this.#draft;
    this.#form = undefined;
    this.#area = undefined;
    this.#problem.textContent = "";
    fill(this.modes, this.#mode("Form", text === undefined), this.#mode("JSON", text !== undefined));
    if (text !== undefined) {
      this.#area = h("textarea", {
        class: "code",
        rows: Math.min(24, Math.max(8, text.split("\n").length + 1)),
        spellcheck: "false",
        "aria-label": "Input as JSON",
        "aria-describedby": this.#problem.id,
      });
      this.#area.value = text;
      this.#area.addEventListener("input", () => {
        this.#draft.text = this.#area?.value ?? "";
        this.#say("");
        this.#onchange();
      });
      fill(this.element, this.#area, this.#problem);
      return;
    }
    if (part instanceof KnownPart && part.shape.kind === "nothing" && part.json === undefined) {
      fill(this.element, h("p", { class: "hint" }, "This operation takes no input."), this.#problem);
      return;
    }
    this.#form = new FieldView(part, { label: "", onchange: this.#onchange });
    fill(this.element, this.#form.element, this.#problem);
  }

  #mode(label: "Form" | "JSON", isOn: boolean): HTMLButtonElement {
    return h(
      "button",
      { type: "button", "aria-pressed": String(isOn), onclick: () => !isOn && this.#switch(label) },
      label,
    );
  }

  #switch(to: "Form" | "JSON"): void {
    const { part, text } = this.#draft;
    if (to === "JSON") {
      // Even what is wrong: the text shows why.
      const value = part.read("", []);
      this.#draft.text = JSON.stringify(value, undefined, 2) ?? "";
    } else if (text !== undefined && text.trim() !== "") {
      try {
        part.write(JSON.parse(text));
      } catch (error) {
        this.#say(
          `This is not JSON, so it cannot be shown as a form: ${error instanceof Error ? error.message : error}`,
        );
        return;
      }
      this.#draft.text = undefined;
    } else this.#draft.text = undefined;
    this.#draw();
    this.#onchange();
    const pressed = this.modes.querySelector<HTMLElement>("[aria-pressed=true]");
    pressed?.focus();
  }
}

// A form on the page: what is typed goes into its parts (`form.mts`).

import { type Child, fill, h, newId } from "./dom.mjs";
import { textControl } from "./field-text.mjs";
import { filePicker } from "./file-picker.mjs";
import {
  BooleanPart,
  BytesPart,
  begin,
  ChoicePart,
  KnownPart,
  ListPart,
  type Member,
  ObjectPart,
  type Part,
  type Problem,
  TextPart,
  UnionPart,
} from "./form.mjs";
import { type Field, shapeWord } from "./schema.mjs";
import { tokensOf } from "./schema-root.mjs";
import { beginning, shortValue, visible } from "./text.mjs";

/** How a field stands among others. */
interface Place {
  readonly label: string;
  readonly isRequired?: boolean;
  /** A property that may be left out. */
  readonly member?: Member;
  readonly owner?: ObjectPart;
  /** Buttons beside its name. */
  readonly actions?: Child;
  readonly onchange: () => void;
}

/** A field on the page. */
export class FieldView {
  readonly element: HTMLElement;
  readonly #part: Part;
  readonly #place: Place;
  readonly #body = h("div", { class: "field-body" });
  readonly #problem = h("p", { class: "problem", id: newId(), role: "alert" });
  readonly #controlId = newId();
  readonly #include: HTMLInputElement | undefined;
  readonly #json: HTMLButtonElement | undefined;
  #children = new Map<string, FieldView>();

  constructor(part: Part, place: Place) {
    this.#part = part;
    this.#place = place;
    const { field } = part;
    const isComposite = part instanceof ObjectPart || part instanceof ListPart || part instanceof UnionPart;
    if (place.member !== undefined && !isSelect(part)) {
      this.#include = h("input", {
        type: "checkbox",
        "aria-label": `Send ${place.label}`,
        title: "Send this property",
        onchange: () => this.#toggleInclude(),
      });
      this.#include.checked = place.member.part !== undefined;
    }
    if (isComposite) {
      this.#json = h(
        "button",
        { type: "button", class: "quiet tiny", "aria-pressed": "false", onclick: () => this.#toggleJson() },
        "JSON",
      );
    }
    const label = isComposite
      ? h("span", { class: "field-name" }, visible(place.label))
      : h("label", { class: "field-name", for: this.#controlId }, visible(place.label));
    const head = h(
      "div",
      { class: "field-head" },
      this.#include,
      label,
      place.isRequired && h("span", { class: "flag" }, "required"),
      h("span", { class: "kind" }, kindText(field)),
      field.isDeprecated && h("span", { class: "flag warn" }, "deprecated"),
      h("span", { class: "spring" }),
      this.#nullToggle(),
      this.#json,
      place.actions,
    );
    this.element = h(
      "div",
      {
        class: `field${isComposite ? " composite" : ""}`,
        role: isComposite ? "group" : undefined,
        "aria-label": isComposite ? place.label : undefined,
      },
      place.label !== "" && head,
      hint(field),
      this.#body,
      this.#problem,
    );
    this.draw();
  }

  /** Shows what its part holds. */
  draw(): void {
    this.#children = new Map();
    const isOut = this.#place.member !== undefined && this.#place.member.part === undefined;
    this.element.classList.toggle("left-out", isOut);
    if (this.#include) this.#include.checked = !isOut;
    this.#json?.setAttribute("aria-pressed", String(this.#part.json !== undefined));
    if (this.#json) this.#json.hidden = isOut || this.#part.isNull;
    fill(this.#body, this.#control(isOut));
  }

  /** Shows problems at their fields, or at the nearest above. Returns the first of these fields. */
  show(problems: readonly Problem[]): FieldView | undefined {
    this.clear();
    let first: FieldView | undefined;
    for (const { path, message } of problems) {
      const { view, isExact } = this.#at(tokensOf(path));
      view.#say(isExact ? message : `${path}: ${message}`);
      first ??= view;
    }
    return first;
  }

  /** Takes all problems away. */
  clear(): void {
    this.#say("");
    for (const child of this.#children.values()) child.clear();
  }

  focus(): void {
    const control = this.#body.querySelector<HTMLElement>("input, select, textarea, button");
    (control ?? this.#include ?? this.#json)?.focus();
  }

  #say(message: string): void {
    const { textContent } = this.#problem;
    this.#problem.textContent = message === "" ? "" : textContent ? `${textContent}\n${message}` : message;
    this.element.classList.toggle("wrong", message !== "");
    const control = document.getElementById(this.#controlId);
    if (message === "") control?.removeAttribute("aria-invalid");
    else control?.setAttribute("aria-invalid", "true");
  }

  /** The field for a path, or the nearest above it. */
  #at(tokens: readonly string[]): { view: FieldView; isExact: boolean } {
    const [first, ...rest] = tokens;
    // What a union holds is at the path of the union itself.
    const variant = this.#part instanceof UnionPart ? this.#children.get("") : undefined;
    if (variant !== undefined) return variant.#at(tokens);
    if (first === undefined) return { view: this, isExact: true };
    const child = this.#children.get(first);
    return child === undefined ? { view: this, isExact: false } : child.#at(rest);
  }

  #changed(): void {
    this.#say("");
    this.#place.onchange();
  }

  #nullToggle(): HTMLElement | undefined {
    const part = this.#part;
    if (!part.field.isNullable) return undefined;
    const box = h("input", { type: "checkbox" });
    box.checked = part.isNull;
    box.addEventListener("change", () => {
      part.isNull = box.checked;
      if (!part.isNull) begin(part);
      this.#attach();
      this.draw();
      this.#changed();
    });
    return h("label", { class: "null-toggle" }, box, "null");
  }

  #toggleJson(): void {
    const before = this.#part.json;
    this.#part.toggleJson();
    this.draw();
    this.#changed();
    if (before !== undefined && this.#part.json !== undefined)
      this.#say("This value does not fit the fields. It stays JSON.");
    this.focus();
  }

  #toggleInclude(): void {
    const { member, owner } = this.#place;
    if (member === undefined || owner === undefined) return;
    if (this.#include?.checked) {
      this.#attach();
      begin(this.#part);
    } else member.part = undefined;
    this.draw();
    this.#changed();
    if (this.#include?.checked) this.focus();
  }

  /** What was left out is not any more. */
  #attach(): void {
    const { member } = this.#place;
    if (member === undefined || member.part !== undefined) return;
    member.part = this.#part;
    this.element.classList.remove("left-out");
    if (this.#include) this.#include.checked = true;
  }

  #detach(): void {
    const { member } = this.#place;
    if (member === undefined) return;
    member.part = undefined;
    this.element.classList.add("left-out");
    if (this.#include) this.#include.checked = false;
  }

  #control(isOut: boolean): Child {
    const part = this.#part;
    if (part.isNull) return isOut ? undefined : h("p", { class: "known" }, "null");
    if (part.json !== undefined) return isOut ? undefined : this.#jsonControl();
    if (part instanceof TextPart) return this.#textControl(part);
    if (part instanceof BooleanPart) return this.#booleanControl(part);
    if (part instanceof ChoicePart) return this.#choiceControl(part);
    if (isOut) return undefined;
    if (part instanceof BytesPart) return this.#bytesControl(part);
    if (part instanceof KnownPart)
      return h("p", { class: "known", id: this.#controlId }, shortValue(part.value));
    if (part instanceof ListPart) return this.#listControl(part);
    if (part instanceof UnionPart) return this.#unionControl(part);
    if (part instanceof ObjectPart) return this.#objectControl(part);
    return undefined;
  }

  #jsonControl(): HTMLElement {
    const area = h("textarea", {
      id: this.#controlId,
      class: "code",
      rows: 4,
      spellcheck: "false",
      "aria-label": `${this.#place.label || "Input"} as JSON`,
      "aria-describedby": this.#problem.id,
    });
    area.value = this.#part.json ?? "";
    area.rows = Math.min(16, Math.max(3, area.value.split("\n").length));
    area.addEventListener("input", () => {
      this.#part.json = area.value;
      this.#changed();
    });
    return area;
  }

  #textControl(part: TextPart): HTMLElement {
    return textControl(part, { id: this.#controlId, describedBy: this.#problem.id }, () => {
      // To send an empty text, one ticks the box.
      if (part.text === "" && !this.#place.isRequired) this.#detach();
      else this.#attach();
      this.#changed();
    });
  }

  #booleanControl(part: BooleanPart): HTMLElement {
    const options = ["false", "true"];
    return this.#select(options, part.value ? 1 : 0, (index) => {
      part.value = index === 1;
    });
  }

  #choiceControl(part: ChoicePart): HTMLElement {
    const options = part.shape.options.map((option) =>
      typeof option === "string" ? option : (JSON.stringify(option) ?? ""),
    );
    return this.#select(options, part.index, (index) => {
      part.index = index;
    });
  }

  /** A choice; one that may be left out has a way to do that. */
  #select(options: readonly string[], index: number, choose: (index: number) => void): HTMLSelectElement {
    const { member } = this.#place;
    const select = h("select", { id: this.#controlId, "aria-describedby": this.#problem.id });
    if (member !== undefined) select.append(h("option", { value: "" }, "not set"));
    for (const [at, option] of options.entries()) {
      select.append(
        h("option", { value: at }, option === "" ? "(empty text)" : beginning(visible(option), 120)),
      );
    }
    select.value = member !== undefined && member.part === undefined ? "" : String(index);
    select.addEventListener("change", () => {
      if (select.value === "") this.#detach();
      else {
        choose(Number(select.value));
        this.#attach();
      }
      this.#changed();
    });
    return select;
  }

  #bytesControl(part: BytesPart): HTMLElement {
    return filePicker(
      { id: this.#controlId, describedBy: this.#problem.id, chosen: part.name },
      (base64, name) => {
        part.base64 = base64;
        part.name = name;
        this.#changed();
      },
    );
  }

  #child(token: string, part: Part, place: Omit<Place, "onchange">): FieldView {
    const view = new FieldView(part, { ...place, onchange: () => this.#place.onchange() });
    this.#children.set(token, view);
    return view;
  }

  #objectControl(part: ObjectPart): HTMLElement {
    const list = h("div", { class: "members" });
    for (const member of part.members) {
      const { property } = member;
      const inner = member.part ?? spare(part, member);
      const place = property.isRequired ? { isRequired: true } : { member, owner: part };
      list.append(this.#child(property.name, inner, { label: property.name, ...place }).element);
    }
    for (const entry of part.entries) list.append(this.#entry(part, entry));
    if (part.rest !== undefined) {
      const add = this.#button("Add a property", () => {
        part.addEntry();
        return () => list.querySelector<HTMLInputElement>(".entry:last-of-type .entry-name");
      });
      list.append(add);
    }
    if (list.childElementCount === 0) list.append(h("p", { class: "hint" }, "There is nothing to fill in."));
    return list;
  }

  #entry(part: ObjectPart, entry: ObjectPart["entries"][number]): HTMLElement {
    const name = h("input", {
      type: "text",
      class: "entry-name code",
      placeholder: "name",
      "aria-label": "Name of the property",
      spellcheck: "false",
    });
    name.value = entry.name;
    name.addEventListener("input", () => {
      entry.name = name.value;
      this.#changed();
    });
    const remove = this.#remove("Remove this property", () => {
      part.entries = part.entries.filter((other) => other !== entry);
    });
    const view = this.#child(entry.name, entry.part, { label: "value", actions: remove });
    return h("div", { class: "entry" }, name, view.element);
  }

  #listControl(part: ListPart): HTMLElement {
    const list = h("div", { class: "members" });
    for (const [index, item] of part.items.entries()) {
      const remove = this.#remove(`Remove item ${index + 1}`, () => {
        part.items = part.items.filter((other) => other !== item);
      });
      const up = h(
        "button",
        { type: "button", class: "quiet tiny", "aria-label": `Move item ${index + 1} up` },
        "↑",
      );
      up.addEventListener("click", () => {
        part.items.splice(index - 1, 2, item, part.items[index - 1] as Part);
        this.#redraw();
      });
      const isFixed = part.shape.kind === "tuple" && index < part.shape.items.length;
      const actions = isFixed ? undefined : [index > 0 && up, remove];
      const title = isFixed ? item.field.title : undefined;
      list.append(this.#child(String(index), item, { label: title ?? `${index + 1}`, actions }).element);
    }
    if (part.canGrow) {
      const add = this.#button("Add an item", () => {
        part.add();
        return () => {
          this.#children.get(String(part.items.length - 1))?.focus();
          return undefined;
        };
      });
      list.append(add);
    }
    return list;
  }

  #unionControl(part: UnionPart): HTMLElement {
    const select = h("select", {
      "aria-label": `Kind of ${this.#place.label || "input"}`,
      id: this.#controlId,
    });
    for (const [index, { label }] of part.shape.variants.entries()) {
      select.append(h("option", { value: index }, beginning(visible(label), 120)));
    }
    select.value = String(part.index);
    const place = h("div", { class: "variant" });
    const show = () => {
      if (part.part === undefined) return;
      fill(place, this.#child("", part.part, { label: "" }).element);
    };
    select.addEventListener("change", () => {
      part.choose(Number(select.value));
      show();
      this.#changed();
    });
    show();
    return h("div", {}, select, place);
  }

  #button(text: string, act: () => () => HTMLElement | null | undefined): HTMLButtonElement {
    return h(
      "button",
      {
        type: "button",
        class: "quiet small",
        onclick: () => {
          const find = act();
          this.#redraw();
          const last = [
            ...this.#body.querySelectorAll<HTMLElement>(":scope > .members > .entry > .entry-name"),
          ].pop();
          (last ?? find())?.focus();
        },
      },
      `+ ${text}`,
    );
  }

  #remove(label: string, act: () => void): HTMLButtonElement {
    return h(
      "button",
      {
        type: "button",
        class: "quiet tiny",
        "aria-label": label,
        title: label,
        onclick: () => {
          act();
          this.#redraw();
          this.#body.querySelector<HTMLElement>(":scope > .members > button")?.focus();
        },
      },
      "✕",
    );
  }

  #redraw(): void {
    this.draw();
    this.#changed();
  }
}

/** Fields that are a choice, which has a way to say "not set". */
const isSelect = (part: Part): boolean => part instanceof BooleanPart || part instanceof ChoicePart;

/** A part for a property that is left out: it is sent once something is typed. */
function spare(part: ObjectPart, member: Member): Part {
  const made = part.include(member);
  member.part = undefined;
  return made;
}

function kindText(field: Field): string {
  return `${shapeWord(field.shape)}${field.isNullable ? " or null" : ""}`;
}

function hint(field: Field): HTMLElement | undefined {
  const words = [
    field.description && visible(field.description).replaceAll("\\u000a", "\n"),
    field.limits.length > 0 && visible(field.limits.join(", ")),
    field.default !== undefined && `Default: ${visible(shortValue(field.default))}`,
  ].filter((word) => typeof word === "string" && word !== "");
  return words.length === 0 ? undefined : h("p", { class: "hint" }, words.join(" · "));
}

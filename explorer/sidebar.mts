// The list of operations, searched as the user types.

import { byId, fill, h } from "./dom.mjs";
import { type Listed, SearchIndex } from "./search.mjs";
import { beginning, countText, oneLine, visible } from "./text.mjs";
import { WindowedList } from "./windowed-list.mjs";

const ROW = 52;

export class Sidebar {
  readonly search = byId<HTMLInputElement>("search");
  readonly #namespace = byId<HTMLSelectElement>("namespace");
  readonly #count = byId("count");
  readonly #list: WindowedList;
  readonly #onopen: (operation: Listed) => void;
  #index = new SearchIndex([]);
  #total = 0;
  #shown: Listed[] = [];
  #current: string | undefined;

  constructor(onopen: (operation: Listed) => void) {
    this.#onopen = onopen;
    this.#list = new WindowedList({
      id: "operations",
      label: "Operations",
      rowHeight: ROW,
      render: (row, index) => this.#row(row, index),
      onpick: (index) => {
        const operation = this.#shown[index];
        if (operation !== undefined) onopen(operation);
      },
    });
    byId("operations-place").replaceWith(this.#list.element);
    this.search.addEventListener("input", () => this.#draw());
    this.#namespace.addEventListener("change", () => this.#draw());
    this.search.addEventListener("keydown", (event) => this.#keydown(event));
  }

  /** Shows these operations. The search text stays. */
  set(operations: readonly Listed[]): void {
    this.#index = new SearchIndex(operations);
    this.#total = operations.length;
    const counts = new Map<string, number>();
    for (const { namespace } of operations) counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
    const before = this.#namespace.value;
    fill(
      this.#namespace,
      h("option", { value: "" }, `All namespaces (${counts.size})`),
      [...counts]
        .sort(([one], [other]) => (one < other ? -1 : 1))
        .map(([name, count]) => h("option", { value: name }, `${visible(beginning(name, 60))} (${count})`)),
    );
    this.#namespace.value = counts.has(before) ? before : "";
    this.#draw();
  }

  /** Marks the operation that is open. */
  mark(id: string | undefined): void {
    this.#current = id;
    this.#list.update(this.#shown.length, { isSame: false });
  }

  #draw(): void {
    this.#shown = this.#index.search(this.search.value, this.#namespace.value);
    this.#list.reset(this.#shown.length);
    this.search.removeAttribute("aria-activedescendant");
    const isAll = this.#shown.length === this.#total;
    this.#count.textContent = isAll
      ? countText(this.#total)
      : `${countText(this.#shown.length)} of ${countText(this.#total)}`;
  }

  #keydown(event: KeyboardEvent): void {
    if (event.key === "Escape" && this.search.value !== "") {
      this.search.value = "";
      this.#draw();
      return;
    }
    if (event.key === "Enter" && this.#list.active === -1) {
      const [first] = this.#shown;
      if (first !== undefined) this.#onopen(first);
      return;
    }
    this.#list.keydown(event);
    const active = this.#list.element.getAttribute("aria-activedescendant");
    if (active !== null) this.search.setAttribute("aria-activedescendant", active);
  }

  #row(row: HTMLElement, index: number): void {
    const operation = this.#shown[index];
    if (operation === undefined) return;
    const { namespace, name, type, title, description, deprecated } = operation;
    row.classList.toggle("current", `${namespace}.${name}` === this.#current);
    fill(
      row,
      h("span", { class: `type ${type}`, title: type, "aria-label": type }, type.slice(0, 1).toUpperCase()),
      h(
        "span",
        { class: "row-text" },
        h(
          "span",
          { class: `row-name${deprecated ? " deprecated" : ""}` },
          h("span", { class: "muted" }, `${visible(beginning(namespace, 60))}.`),
          visible(beginning(name, 100)),
        ),
        h("span", { class: "row-words" }, visible(beginning(oneLine(title || description), 120))),
      ),
    );
  }
}

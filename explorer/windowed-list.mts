// A list of any length of which only what can be seen is on the page.

import { fill, h, newId } from "./dom.mjs";

export interface WindowedListOptions {
  readonly id: string;
  readonly label: string;
  readonly rowHeight: number;
  /** Puts what a row shows into it. */
  readonly render: (row: HTMLElement, index: number) => void;
  /** The user has chosen a row. */
  readonly onpick: (index: number) => void;
}

/** Rows beyond the edges, so that nothing is empty while the user scrolls. */
const BEYOND = 8;

/** A list that is worked with arrow keys, by itself or from a text field (`keydown`). */
export class WindowedList {
  readonly element: HTMLElement;
  readonly #options: WindowedListOptions;
  readonly #space: HTMLElement;
  readonly #rows = new Map<number, HTMLElement>();
  readonly #rowId = newId();
  #count = 0;
  #active = -1;
  #isDrawing = false;
  /** Whether the end stays in view when rows are added. */
  #follows = false;

  constructor(options: WindowedListOptions) {
    this.#options = options;
    this.#space = h("div", { class: "window-space", role: "presentation" });
    this.element = h(
      "div",
      {
        id: options.id,
        class: "window",
        role: "listbox",
        "aria-label": options.label,
        tabindex: 0,
        onkeydown: (event) => this.keydown(event),
        onfocus: () => {
          if (this.#active === -1 && this.#count > 0) this.activate(0);
        },
        onclick: (event) => this.#clicked(event),
      },
      this.#space,
    );
    this.element.addEventListener("scroll", () => {
      const { scrollTop, clientHeight, scrollHeight } = this.element;
      this.#follows = scrollTop + clientHeight >= scrollHeight - options.rowHeight;
      this.#drawSoon();
    });
    new ResizeObserver(() => this.#drawSoon()).observe(this.element);
  }

  get active(): number {
    return this.#active;
  }

  /** Shows another list, from its beginning. */
  reset(count: number): void {
    this.#clear();
    this.#active = -1;
    this.#resize(count);
    this.element.scrollTop = 0;
    this.element.removeAttribute("aria-activedescendant");
  }

  /** Shows the same list with more rows, or with other contents. */
  update(count: number, { isSame = true, follow = false } = {}): void {
    if (!isSame) this.#clear();
    const wasEmpty = this.#count === 0;
    this.#resize(count);
    if (follow && (this.#follows || wasEmpty)) {
      this.#follows = true;
      this.element.scrollTop = this.element.scrollHeight;
    }
  }

  /** Marks a row and brings it into view. */
  activate(index: number): void {
    if (this.#count === 0) return;
    const before = this.#rows.get(this.#active);
    before?.setAttribute("aria-selected", "false");
    this.#active = Math.max(0, Math.min(index, this.#count - 1));
    const { rowHeight } = this.#options;
    const top = this.#active * rowHeight;
    const { scrollTop, clientHeight } = this.element;
    if (top < scrollTop) this.element.scrollTop = top;
    else if (top + rowHeight > scrollTop + clientHeight)
      this.element.scrollTop = top + rowHeight - clientHeight;
    this.#draw();
    this.element.setAttribute("aria-activedescendant", `${this.#rowId}-${this.#active}`);
  }

  /** Takes a row's mark away, without choosing another. */
  deactivate(): void {
    this.#rows.get(this.#active)?.setAttribute("aria-selected", "false");
    this.#active = -1;
    this.element.removeAttribute("aria-activedescendant");
  }

  keydown(event: KeyboardEvent): boolean {
    const page = Math.max(1, Math.floor(this.element.clientHeight / this.#options.rowHeight) - 1);
    const to = {
      ArrowDown: this.#active + 1,
      ArrowUp: this.#active - 1,
      PageDown: this.#active + page,
      PageUp: this.#active - page,
      Home: 0,
      End: this.#count - 1,
    }[event.key];
    const isText = event.target instanceof HTMLInputElement;
    if (isText && (event.key === "Home" || event.key === "End")) return false;
    if (to !== undefined && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      this.activate(to);
      return true;
    }
    if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && this.#active >= 0) {
      event.preventDefault();
      this.#options.onpick(this.#active);
      return true;
    }
    return false;
  }

  #clicked(event: MouseEvent): void {
    const row = event.target instanceof Element ? event.target.closest("[data-index]") : null;
    if (!(row instanceof HTMLElement)) return;
    const index = Number(row.dataset.index);
    this.activate(index);
    this.#options.onpick(index);
  }

  #clear(): void {
    this.#rows.clear();
    fill(this.#space);
  }

  #resize(count: number): void {
    this.#count = count;
    this.#space.style.height = `${count * this.#options.rowHeight}px`;
    this.#drawSoon();
  }

  #drawSoon(): void {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    requestAnimationFrame(() => {
      this.#isDrawing = false;
      this.#draw();
    });
  }

  #draw(): void {
    const { rowHeight, render } = this.#options;
    const { scrollTop, clientHeight } = this.element;
    const first = Math.max(0, Math.floor(scrollTop / rowHeight) - BEYOND);
    const last = Math.min(this.#count, Math.ceil((scrollTop + clientHeight) / rowHeight) + BEYOND);
    for (const [index, row] of this.#rows) {
      if (index >= first && index < last) continue;
      row.remove();
      this.#rows.delete(index);
    }
    for (let index = first; index < last; index++) {
      let row = this.#rows.get(index);
      if (row === undefined) {
        row = h("div", {
          class: "row",
          role: "option",
          id: `${this.#rowId}-${index}`,
          "data-index": index,
          "aria-posinset": index + 1,
        });
        row.style.transform = `translateY(${index * rowHeight}px)`;
        row.style.height = `${rowHeight}px`;
        render(row, index);
        this.#rows.set(index, row);
        this.#space.append(row);
      }
      row.setAttribute("aria-setsize", String(this.#count));
      row.setAttribute("aria-selected", String(index === this.#active));
    }
  }
}

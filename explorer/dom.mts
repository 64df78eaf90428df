// Elements, made by name. What strangers have written becomes text, never HTML: there is no other way here.

export type Child = Node | string | number | undefined | null | false | readonly Child[];

type Listeners = {
  readonly [K in keyof HTMLElementEventMap as `on${K}`]?: (event: HTMLElementEventMap[K]) => void;
};
type Attributes = { readonly [name: string]: string | number | boolean | undefined };
export type Props = Listeners | Attributes | (Listeners & { readonly [name: string]: unknown });

/** An element. A function in `props` listens to an event, everything else is an attribute; `true` is one without a value. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  add(element, children);
  return element;
}

/** Puts children into an element. */
export function add(element: Element, children: Child): void {
  if (children === undefined || children === null || children === false) return;
  if (typeof children === "object" && !(children instanceof Node)) {
    for (const child of children) add(element, child);
    return;
  }
  element.append(children instanceof Node ? children : String(children));
}

/** Puts children into the place of those that are there. */
export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  add(element, children);
}

/** An element of the page itself. */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no element #${id}`);
  return element as T;
}

let last = 0;
/** An id that no other element has. */
export function newId(): string {
  last += 1;
  return `e${last}`;
}

/** A button that copies a text. */
export function copyButton(text: () => string, label: string): HTMLButtonElement {
  const button = h("button", { type: "button", class: "quiet small" }, label);
  button.addEventListener("click", async () => {
    let said = "Copied";
    try {
      await navigator.clipboard.writeText(text());
    } catch {
      said = "The browser does not allow it";
    }
    button.textContent = said;
    setTimeout(() => {
      button.textContent = label;
    }, 1500);
  });
  return button;
}

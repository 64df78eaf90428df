// What waits for an approval, what exactly would be called with what, and who decided what. It follows by itself.

import { unreachable } from "./advice.mjs";
import { type Approval, inputText, storyOf, waitingFor } from "./approvals.mjs";
import { byId, fill, h } from "./dom.mjs";
import { type Actions, failureView } from "./failure-view.mjs";
import { Failed, type Server } from "./server.mjs";
import { visible } from "./text.mjs";

/** How often the list is requested while it is shown, in milliseconds. */
const FOLLOW_EVERY = 2000;
const BADGES = { pending: "warn", approved: "good", used: "good", denied: "bad", expired: "" } as const;

export class ApprovalsView {
  readonly element: HTMLElement;
  readonly heading = h("h1", { tabindex: "-1" }, "Approvals");
  readonly #server: Server;
  readonly #actions: Actions;
  readonly #waiting = h("div", { "aria-label": "What waits", role: "group" });
  readonly #decided = h("div", { "aria-label": "What was decided", role: "group" });
  readonly #failure = h("div", {});
  readonly #said = h("p", { class: "empty", role: "status" });
  /** The cards that are shown: one whose request is as it was stays, with what was typed into it. */
  #cards = new Map<string, { readonly text: string; readonly card: HTMLElement }>();
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(server: Server, actions: Actions) {
    this.#server = server;
    this.#actions = actions;
    const head = h("header", { class: "operation-head" }, this.heading);
    this.element = h(
      "article",
      { class: "operation" },
      head,
      this.#failure,
      this.#said,
      this.#waiting,
      h("h2", {}, "Decided"),
      this.#decided,
    );
  }

  /** `id` is of the request that an address leads to. */
  async open(id = ""): Promise<void> {
    this.heading.focus();
    this.#timer = setInterval(() => {
      if (document.visibilityState === "visible") void this.refresh();
    }, FOLLOW_EVERY);
    await this.refresh();
    this.#cards.get(id)?.card.scrollIntoView();
  }

  leave(): void {
    clearInterval(this.#timer);
  }

  /** There is nothing to call here. */
  async call(): Promise<void> {}

  /** Requests the list again. */
  async refresh(): Promise<void> {
    try {
      this.#show(await this.#server.approvals());
      fill(this.#failure);
    } catch (error) {
      this.#fail(error);
    }
  }

  #show(approvals: readonly Approval[]): void {
    const count = waitingFor(approvals);
    const button = byId("approvals");
    button.textContent = count === 0 ? "Approvals" : `Approvals (${count})`;
    button.hidden = approvals.length === 0 && !this.element.isConnected;
    const pending = approvals.filter(({ status }) => status === "pending");
    const said = pending.length === 0 ? "Nothing waits for an approval." : `${pending.length} waiting`;
    if (this.#said.textContent !== said) this.#said.textContent = said;
    const cards = new Map<string, { text: string; card: HTMLElement }>();
    for (const approval of approvals) {
      const text = JSON.stringify(approval);
      const known = this.#cards.get(approval.id);
      cards.set(approval.id, known?.text === text ? known : { text, card: this.#card(approval) });
    }
    const isOther = [...cards].some(([id, { card }]) => this.#cards.get(id)?.card !== card);
    const isSame = !isOther && cards.size === this.#cards.size;
    this.#cards = cards;
    if (isSame) return;
    const of = (list: readonly Approval[]) => list.map(({ id }) => cards.get(id)?.card);
    fill(this.#waiting, of(pending));
    fill(this.#decided, of(approvals.filter(({ status }) => status !== "pending")));
  }

  #card(approval: Approval): HTMLElement {
    const { id, operationId, input, status, mayDecide } = approval;
    const isOpen = status === "pending" && mayDecide;
    return h(
      "section",
      { class: "card approval", "aria-label": `${visible(operationId)} ${visible(id)}` },
      h(
        "div",
        { class: "card-head" },
        h("h2", {}, h("code", {}, visible(operationId))),
        h("span", { class: `badge ${BADGES[status]}` }, status),
      ),
      h("p", { class: "description" }, storyOf(approval, Date.now())),
      h("pre", { class: "code", tabindex: 0, "aria-label": "Input" }, inputText(input)),
      isOpen && this.#buttons(id),
    );
  }

  #buttons(id: string): HTMLElement {
    const reason = h("input", { type: "text", placeholder: "Why (may be empty)", "aria-label": "Reason" });
    const decide = (approve: boolean) => async () => {
      try {
        await this.#server.decide(id, approve, reason.value.trim());
        await this.refresh();
      } catch (error) {
        this.#fail(error);
      }
    };
    const button = (label: string, approve: boolean, kind: string) =>
      h("button", { type: "button", class: kind, onclick: () => void decide(approve)() }, label);
    return h(
      "div",
      { class: "decide" },
      reason,
      button("Approve", true, "primary"),
      button("Deny", false, ""),
    );
  }

  #fail(error: unknown): void {
    const failure = error instanceof Failed ? error.failure : unreachable(error);
    fill(this.#failure, failureView(failure, { hasToken: this.#server.token !== undefined }, this.#actions));
  }
}

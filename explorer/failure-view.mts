// An error, and what to do about it.

import { type Advised, adviceOn, type Failure } from "./advice.mjs";
import { h } from "./dom.mjs";
import { jsonTree } from "./json-tree.mjs";
import { isRecord } from "./schema-root.mjs";
import { visible } from "./text.mjs";

/** What the page does when advice is followed. */
export interface Actions {
  readonly token: () => void;
  readonly reload: () => void;
  readonly again?: () => void;
}

const LABELS = { token: "Set a token", reload: "Load the list again", again: "Try again" };

/** What failed: a call, or a request of the page itself. */
export interface FailedCall extends Advised {
  /** Whether the form beside it shows the errors of its fields. */
  readonly hasForm?: boolean;
}

export function failureView(failure: Failure, call: FailedCall, actions: Actions): HTMLElement {
  const advice = adviceOn(failure, call).map(({ text, action }) => {
    const act = action && actions[action];
    return h(
      "li",
      {},
      text,
      act && action && h("button", { type: "button", class: "small", onclick: act }, LABELS[action]),
    );
  });
  const details = isRecord(failure.details)
    ? Object.fromEntries(Object.entries(failure.details).filter(([name]) => name !== "errors"))
    : failure.details;
  // What the fields say is not said again: the message has a line for each of them.
  const isAtFields = call.hasForm === true && failure.errors.length > 0;
  const message = isAtFields ? failure.message.replace(/:?\n[\s\S]*/, "") : failure.message;
  const hasDetails = isRecord(details) ? Object.keys(details).length > 0 : details !== undefined;
  return h(
    "div",
    { class: "failure", role: "alert" },
    h(
      "p",
      { class: "failure-head" },
      h("strong", { class: "code" }, visible(failure.code)),
      failure.status !== undefined && h("span", { class: "badge bad" }, failure.status),
    ),
    h("p", { class: "failure-text" }, visible(message).replaceAll("\\u000a", "\n")),
    failure.errors.length > 0 &&
      !isAtFields &&
      h(
        "ul",
        { class: "errors" },
        failure.errors.map(({ path, message }) =>
          h("li", {}, h("code", {}, visible(path || "/")), ` ${visible(message)}`),
        ),
      ),
    h("p", { class: "label" }, "What to do"),
    h("ul", { class: "advice" }, advice),
    hasDetails && h("details", {}, h("summary", {}, "Details"), jsonTree(details)),
    failure.requestId && h("p", { class: "hint" }, "Request ", h("code", {}, visible(failure.requestId))),
  );
}

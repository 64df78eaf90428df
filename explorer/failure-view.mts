// An error, and what to do about it.

import { adviceOn, type Failure } from "./advice.mjs";
import { h } from "./dom.mjs";
import { jsonTree } from "./json-tree.mjs";
import { isRecord } from "./schema-root.mjs";
import { visible } from "./text.mjs";

/** What the page does when somebody follows an advice. */
export interface Actions {
  readonly token: () => void;
  readonly reload: () => void;
  readonly again?: () => void;
}

const LABELS = { token: "Set a token", reload: "Load the list again", again: "Try again" };

export function failureView(failure: Failure, hasToken: boolean, actions: Actions): HTMLElement {
  const advice = adviceOn(failure, hasToken).map(({ text, action }) => {
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
    h("p", { class: "failure-text" }, visible(failure.message).replaceAll("\\u000a", "\n")),
    failure.errors.length > 0 &&
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

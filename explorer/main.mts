// The page: a list beside the operation that is open, which the address names (`#op/<namespace>/<name>`).

import { unreachable } from "./advice.mjs";
import { ApprovalsView } from "./approvals-view.mjs";
import { byId, fill, h } from "./dom.mjs";
import { type Actions, failureView } from "./failure-view.mjs";
import { showHelp } from "./help.mjs";
import { Draft } from "./input-panel.mjs";
import { OperationView } from "./operation-view.mjs";
import { ProgramView } from "./program-view.mjs";
import { pathOf } from "./request.mjs";
import { type Described, Failed, Server, type Status } from "./server.mjs";
import { ServerView } from "./server-view.mjs";
import { Sidebar } from "./sidebar.mjs";
import { visible } from "./text.mjs";
import { askForToken, keptToken } from "./token.mjs";

/** How often the state of the server is requested, in milliseconds. */
const LOOK_EVERY = 5000;

/** What has a button at the top. */
const PAGES = ["server", "program", "approvals"];

const server = new Server();
server.token = keptToken();
const main = byId("main");
const drafts = new Map<string, Draft>();
/** Operations that were shown, each with its result. The one that was shown last is at the end. */
const views = new Map<string, { readonly text: string; readonly view: OperationView }>();
/** How many of them are kept: results can be large. */
const MOST_VIEWS = 20;
const sidebar = new Sidebar((operation) => {
  const hash = `#op/${pathOf(operation)}`;
  if (location.hash === hash) void route();
  else location.hash = hash;
});
const serverView = new ServerView();
let view: { call(): Promise<void>; leave?(): void } | undefined;
let status: Status | undefined;
/** What is requested last is what is shown, in whatever order the responses come. */
let turn = 0;
let loads = 0;

const actions: Actions = { token: setToken, reload: () => void load() };
let programView = new ProgramView(server, actions);
const approvalsView = new ApprovalsView(server, actions);

function setToken(): void {
  askForToken(server.token, (token) => {
    server.token = token;
    // What one caller got is not shown to the next.
    for (const { view } of views.values()) view.close();
    views.clear();
    programView.close();
    programView = new ProgramView(server, actions);
    void load();
  });
}

/** Loads everything again: another caller may see other operations. */
async function load(): Promise<void> {
  loads += 1;
  const mine = loads;
  try {
    await refreshStatus();
    await list();
    if (mine === loads) await route();
  } catch (error) {
    if (mine !== loads) return;
    sidebar.set([]);
    leaveView();
    document.body.classList.add("is-open");
    fill(main, h("div", { class: "center" }, failed(error)));
  }
}

async function list(): Promise<void> {
  const mine = loads;
  const operations = await server.operations();
  if (mine !== loads) return;
  sidebar.set(operations);
  byId("program").hidden = !programView.set(operations);
}

/** How the server is doing. When its operations have changed, so does the list. */
async function refreshStatus(): Promise<void> {
  const before = status;
  try {
    status = await server.status();
  } catch (error) {
    status = undefined;
    throw error;
  } finally {
    showStatus();
  }
  void approvalsView.refresh();
  if (before !== undefined && before.revision !== status.revision) await list();
}

function showStatus(): void {
  byId("health").classList.toggle("good", status !== undefined);
  byId("who").textContent = status?.caller
    ? visible(status.caller)
    : server.token === undefined
      ? "Anonymous"
      : "Token set";
  const title = status?.title ?? "Operations";
  byId("title").textContent = visible(title);
  document.title = visible(title);
  serverView.show(status);
}

function leaveView(): void {
  view?.leave?.();
  view = undefined;
}

/** The operation as it was left, unless it has changed since. */
function viewOf(id: string, operation: Described): OperationView {
  const text = JSON.stringify(operation);
  const known = views.get(id);
  if (known?.text !== text) known?.view.close();
  const before = drafts.get(id);
  const draft = before?.isFor(operation) ? before : new Draft(operation);
  drafts.set(id, draft);
  const shown = known?.text === text ? known.view : new OperationView(operation, draft, server, actions);
  views.delete(id);
  views.set(id, { text, view: shown });
  const [oldest] = views;
  if (oldest !== undefined && views.size > MOST_VIEWS) {
    oldest[1].view.close();
    views.delete(oldest[0]);
  }
  return shown;
}

/** Shows what the address names. */
async function route(): Promise<void> {
  turn += 1;
  const mine = turn;
  const [kind, namespace, name] = location.hash.slice(1).split("/");
  const isOperation = kind === "op" && namespace !== undefined && name !== undefined;
  document.body.classList.toggle("is-open", isOperation || PAGES.includes(kind ?? ""));
  leaveView();
  if (kind === "server") {
    sidebar.mark(undefined);
    fill(main, back(), serverView.element);
    serverView.heading.focus();
    return;
  }
  if (kind === "program" || kind === "approvals") {
    sidebar.mark(undefined);
    const opened = kind === "program" ? programView : approvalsView;
    view = opened;
    fill(main, back(), opened.element);
    await opened.open(decoded(namespace ?? ""));
    return;
  }
  if (!isOperation) {
    sidebar.mark(undefined);
    fill(main, welcome());
    return;
  }
  const asked = { namespace: decoded(namespace), name: decoded(name) };
  const id = `${asked.namespace}.${asked.name}`;
  sidebar.mark(id);
  try {
    const operation = await server.operation(asked);
    if (mine !== turn) return;
    const opened = viewOf(id, operation);
    view = opened;
    fill(main, back(), opened.element);
    main.scrollTop = 0;
    opened.heading.focus();
  } catch (error) {
    if (mine === turn) fill(main, back(), h("div", { class: "center" }, failed(error)));
  }
}

function failed(error: unknown): HTMLElement {
  const failure = error instanceof Failed ? error.failure : unreachable(error);
  return failureView(
    failure,
    { hasToken: server.token !== undefined, isQuery: true },
    { ...actions, again: () => void load() },
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** On a narrow screen the list is a page of its own. */
function back(): HTMLElement {
  return h("a", { class: "back", href: "#home" }, "← All operations");
}

function welcome(): HTMLElement {
  return h(
    "div",
    { class: "center welcome" },
    h("h1", {}, "Choose an operation"),
    h(
      "p",
      {},
      "Search on the left, or press ",
      h("kbd", {}, "/"),
      " and type. Then fill in the form and call it.",
    ),
    h(
      "p",
      {},
      "You see what you may call. ",
      h("button", { type: "button", class: "small", onclick: setToken }, "Set a token"),
      " to see more.",
    ),
  );
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
}

document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    void view?.call();
    return;
  }
  if (
    isTyping(event.target) ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    document.querySelector("dialog[open]")
  )
    return;
  if (event.key === "/") {
    event.preventDefault();
    document.body.classList.remove("is-open");
    sidebar.search.focus();
    sidebar.search.select();
  } else if (event.key === "?") showHelp();
  else if (event.key === "t") {
    // Otherwise the letter goes into the field that is focused now.
    event.preventDefault();
    setToken();
  }
});

byId("who").addEventListener("click", setToken);
byId("help").addEventListener("click", showHelp);
for (const page of PAGES) {
  byId(page).addEventListener("click", () => {
    location.hash = page;
  });
}
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", () => void route());
setInterval(() => {
  if (document.visibilityState !== "visible" || document.querySelector("dialog[open]")) return;
  const wasThere = status !== undefined;
  // A server that is back may have other operations.
  refreshStatus().then(
    () => {
      if (!wasThere) void load();
    },
    () => {},
  );
}, LOOK_EVERY);

void load();

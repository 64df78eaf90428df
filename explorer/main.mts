// The page: a list beside the operation that is open, which the address names (`#op/<namespace>/<name>`).

import { unreachable } from "./advice.mjs";
import { byId, fill, h } from "./dom.mjs";
import { type Actions, failureView } from "./failure-view.mjs";
import { showHelp } from "./help.mjs";
import { type Draft, draftFor } from "./input-panel.mjs";
import { OperationView } from "./operation-view.mjs";
import { ProgramView } from "./program-view.mjs";
import { pathOf } from "./request.mjs";
import { Failed, Server, type Status } from "./server.mjs";
import { ServerView } from "./server-view.mjs";
import { Sidebar } from "./sidebar.mjs";
import { visible } from "./text.mjs";
import { askForToken, keptToken } from "./token.mjs";

/** How often the server is asked how it is doing, in milliseconds. */
const LOOK_EVERY = 5000;

const server = new Server();
server.token = keptToken();
const main = byId("main");
const drafts = new Map<string, Draft>();
const sidebar = new Sidebar((operation) => {
  const hash = `#op/${pathOf(operation)}`;
  if (location.hash === hash) void route();
  else location.hash = hash;
});
const serverView = new ServerView();
let view: { call(): Promise<void>; close(): void } | undefined;
let status: Status | undefined;
/** What is asked for last is what is shown, in whatever order the answers come. */
let turn = 0;

const actions: Actions = { token: setToken, reload: () => void load() };
const programView = new ProgramView(server, actions);

function setToken(): void {
  askForToken(server.token, (token) => {
    server.token = token;
    void load();
  });
}

/** Everything anew: who calls may see other operations. */
async function load(): Promise<void> {
  try {
    await look();
    await list();
    await route();
  } catch (error) {
    sidebar.set([]);
    closeView();
    document.body.classList.add("is-open");
    fill(main, h("div", { class: "center" }, failed(error)));
  }
}

async function list(): Promise<void> {
  const operations = await server.operations();
  sidebar.set(operations);
  byId("program").hidden = !programView.set(operations);
}

/** How the server is doing. When its operations have changed, so does the list. */
async function look(): Promise<void> {
  const before = status;
  try {
    status = await server.status();
  } catch (error) {
    status = undefined;
    throw error;
  } finally {
    showStatus();
  }
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

function closeView(): void {
  view?.close();
  view = undefined;
}

/** Shows what the address names. */
async function route(): Promise<void> {
  turn += 1;
  const mine = turn;
  const [kind, namespace, name] = location.hash.slice(1).split("/");
  const isOperation = kind === "op" && namespace !== undefined && name !== undefined;
  document.body.classList.toggle("is-open", isOperation || kind === "server" || kind === "program");
  closeView();
  if (kind === "server") {
    sidebar.mark(undefined);
    fill(main, back(), serverView.element);
    serverView.heading.focus();
    return;
  }
  if (kind === "program") {
    sidebar.mark(undefined);
    view = programView;
    fill(main, back(), programView.element);
    await programView.open();
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
    const draft = drafts.get(id) ?? draftFor(operation);
    drafts.set(id, draft);
    const opened = new OperationView(operation, draft, server, actions);
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
  return failureView(failure, server.token !== undefined, { ...actions, again: () => void load() });
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
  else if (event.key === "t") setToken();
});

byId("who").addEventListener("click", setToken);
byId("help").addEventListener("click", showHelp);
for (const page of ["server", "program"]) {
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
  // A server that is back has everything anew.
  look().then(
    () => {
      if (!wasThere) void load();
    },
    () => {},
  );
}, LOOK_EVERY);

void load();

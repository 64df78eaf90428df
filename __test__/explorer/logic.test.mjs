// What the explorer works out without a page: searching, reading streams, advice, requests, texts.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { adviceOn, failureOf, unreachable } from "../../dist/explorer/advice.mjs";
import { imageIn } from "../../dist/explorer/content-view.mjs";
import { EventReader } from "../../dist/explorer/events.mjs";
import { pathOf } from "../../dist/explorer/request.mjs";
import { SearchIndex } from "../../dist/explorer/search.mjs";
import { bytesText, counted, durationText, shortValue, visible } from "../../dist/explorer/text.mjs";

const listed = (id, more = {}) => {
  const [namespace, name] = id.split(".");
  return {
    namespace,
    name,
    type: "query",
    title: null,
    description: "",
    tags: [],
    deprecated: false,
    ...more,
  };
};

describe("searching", () => {
  const index = new SearchIndex([
    listed("tracker.listIssues", { title: "List issues", description: "All open bugs" }),
    listed("tracker.getIssue"),
    listed("tracker.issues", { deprecated: true }),
    listed("billing.createInvoice", { tags: ["money"] }),
    listed("mail.send", { description: "Sends an issue by mail" }),
  ]);
  const names = (query, namespace) => index.search(query, namespace).map(({ name }) => name);

  it("searching without a query shows all, in their order", () =>
    assert.deepEqual(names(""), ["listIssues", "getIssue", "issues", "createInvoice", "send"]));

  it("searching ranks names before words of names, and those before descriptions", () => {
    assert.deepEqual(names("issues"), ["issues", "listIssues"]);
    assert.deepEqual(names("issue"), ["issues", "getIssue", "listIssues", "send"]);
  });

  it("searching requires every word, in any field", () => {
    assert.deepEqual(names("bugs list"), ["listIssues"]);
    assert.deepEqual(names("money INVOICE"), ["createInvoice"]);
    assert.deepEqual(names("list nothing"), []);
  });

  it("searching takes whole ids, and stays in a namespace", () => {
    assert.equal(names("tracker.getissue")[0], "getIssue");
    assert.deepEqual(names("issue", "mail"), ["send"]);
  });
});

describe("reading a stream", () => {
  const text =
    ": hello\r\n\r\nevent: tick\r\nid: 1\r\ndata: {\r\ndata: }\r\n\r\ndata:x\n\nid: 2\rdata\r\rretry: 5\n\nevent: lost\ndata: never ends";
  const expected = [
    { event: "tick", id: "1", data: "{\n}" },
    { event: "message", id: "1", data: "x" },
    { event: "message", id: "2", data: "" },
  ];

  it("reading a stream finds the events, wherever the chunks end", () => {
    for (let size = 1; size <= text.length; size++) {
      const reader = new EventReader();
      const events = [];
      for (let at = 0; at < text.length; at += size) events.push(...reader.read(text.slice(at, at + size)));
      assert.deepEqual(events, expected, `pieces of ${size}`);
    }
  });
});

it("the address of an operation has its names, escaped", () =>
  assert.equal(pathOf({ namespace: "a/b", name: "c d" }), "a%2Fb/c%20d"));

describe("advice", () => {
  const first = (body, status, hasToken = false) => adviceOn(failureOf(body, status), { hasToken })[0];

  it("advice says what to do about each error", () => {
    assert.equal(first({ code: "ACCESS_DENIED" }, 401).action, "token");
    assert.match(first({ code: "ACCESS_DENIED" }, 401, true).text, /not valid/);
    assert.match(
      first({ code: "ACCESS_DENIED", details: { missingScopes: ["a", "b"] } }, 403).text,
      /needs the scopes a, b\./,
    );
    assert.match(
      first({ code: "ACCESS_DENIED", details: { requiredScopesAny: ["a", "b"] } }, 403).text,
      /needs one of the scopes a, b\./,
    );
    const resource = { resourceType: "project", resourceAction: "write" };
    assert.match(
      first({ code: "ACCESS_DENIED", details: { resource } }, 403).text,
      /the right to write a resource of type project/,
    );
    assert.match(
      first({ code: "ACCESS_DENIED", details: { missingScopes: 1 } }, 403).text,
      /^You may not call this\. /,
    );
    assert.match(
      first({ code: "VALIDATION_ERROR", errors: [{ path: "/a", message: "no" }] }, 400).text,
      /marked fields/,
    );
    assert.equal(first({ code: "OPERATION_NOT_FOUND" }, 404).action, "reload");
    assert.match(first({ code: "TIMEOUT" }, 504).text, /longer than the server allows/);
    assert.match(
      first({ code: "EXECUTION_ERROR", details: { reason: "rate-limited" } }, 503).text,
      /Wait a moment/,
    );
    assert.match(adviceOn(failureOf({}, 503, 7), { hasToken: false })[0].text, /Wait 7 s/);
    assert.match(first({ code: "EXECUTION_ERROR" }, 502).text, /called in turn/);
    assert.match(first({ code: "UNKNOWN_ERROR" }, 500).text, /request id/);
    assert.match(first({ code: "OUT_OF_STOCK" }, 409).text, /operation itself/);
    assert.match(adviceOn(unreachable(new Error("down")), { hasToken: false })[0].text, /is running/);
  });

  it("advice says whether the call may have run", () => {
    const second = (mayHaveRun, isQuery) =>
      adviceOn(failureOf({ code: "X", mayHaveRun }, 500), { hasToken: false, isQuery })[1]?.text;
    assert.match(second(true), /may have run/);
    assert.match(second(false), /did not run/);
    assert.equal(second(undefined), undefined);
    assert.equal(second(true, true), undefined, "a query changes nothing");
  });

  it("advice makes an error of any response", () => {
    for (const body of [undefined, null, "<html>", [], { errors: [1, { path: 2, message: "x" }, {}] }]) {
      const failure = failureOf(body, 500);
      assert.equal(failure.code, "UNKNOWN_ERROR");
      assert.match(failure.message, /status 500/);
      assert.ok(
        failure.errors.every(({ path, message }) => typeof path === "string" && typeof message === "string"),
      );
    }
  });
});

describe("images of MCP results", () => {
  const png = { type: "image", mimeType: "image/png", data: "iVBORw0KGgo=" };

  it("images of MCP results have an address that the page may show", () => {
    assert.equal(imageIn(png), "data:image/png;base64,iVBORw0KGgo=");
    const resource = { type: "resource", resource: { uri: "a:b", mimeType: "image/PNG; q=1", blob: "AAAA" } };
    assert.equal(imageIn(resource), "data:image/png;base64,AAAA");
  });

  it("images of MCP results are shown only where they are images, and nothing else", () => {
    for (const block of [
      undefined,
      "image",
      { type: "text", text: "x" },
      { ...png, mimeType: "image/svg+xml" },
      { ...png, mimeType: "text/html" },
      { ...png, mimeType: 'image/png,"><script>' },
      { ...png, data: 'AAAA"><script>alert(1)</script>' },
      { ...png, data: 7 },
      { type: "resource", resource: { uri: "a:b", mimeType: "image/png" } },
    ])
      assert.equal(imageIn(block), undefined, JSON.stringify(block));
  });
});

describe("texts", () => {
  it("invisible characters are made visible", () => {
    assert.equal(visible("a\u202Eb\u200Bc\n"), "a\\u202eb\\u200bc\\u000a");
    assert.equal(visible("<b>ä 日本 😀"), "<b>ä 日本 😀");
  });

  it("numbers are written as people write them", () => {
    assert.deepEqual([bytesText(999), bytesText(1500), bytesText(2_500_000)], ["999 B", "1.5 kB", "2.5 MB"]);
    assert.deepEqual(
      [durationText(0.2), durationText(12.4), durationText(1234)],
      ["under 1 ms", "12 ms", "1.23 s"],
    );
    assert.deepEqual([counted(1, "event"), counted(10_000, "event")], ["1 event", "10,000 events"]);
    assert.equal(shortValue({ a: "x".repeat(99) }, 10), '{"a":"xxxx…');
  });
});

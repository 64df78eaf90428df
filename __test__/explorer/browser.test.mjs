// The explorer in a browser, against a hub with 1,500 operations. What it looks like is kept in target/explorer-screenshots/.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { missingBrowser, startBrowser } from "../support/browser.mjs";
import { HOW_MANY, startHub, TOKEN } from "./support/hub.mjs";
import { openPage } from "./support/page.mjs";

const skip = missingBrowser();
// Not in a hook: what is started there ends with it.
const hub = skip ? undefined : await startHub();
const browser = skip ? undefined : await startBrowser();
const open = (hash, options) => openPage(browser, { hash, url: hub.url, ...options });

describe("the explorer", { skip }, () => {
  it("the explorer lists the operations, and finds them as one types", async () => {
    const { page, text, shot, close } = await open();
    await page.getByText("1,499", { exact: true }).waitFor();
    assert.equal(await page.title(), "Test hub");
    const rows = page.locator("#operations .row");
    assert.ok((await rows.count()) < 60, "only what can be seen is on the page");
    assert.equal(await rows.first().getAttribute("aria-setsize"), String(HOW_MANY - 1));
    await shot("list");
    await page.keyboard.press("/");
    for (const typed of "archive inv") await page.keyboard.type(typed);
    await page.getByText(/^\d+ of 1,499$/).waitFor();
    assert.match(await rows.first().innerText(), /archiveInvoices/);
    await shot("search");
    await page.locator("#namespace").selectOption("mail");
    assert.match(await rows.first().innerText(), /mail\.archiveInvoices/);
    await page.locator("#search").fill("nothing has this name");
    assert.match(await text("#count"), /^0 of/);
    await close();
  });

  it("the explorer calls an operation and shows its data and its envelope", async () => {
    const { page, field, call, shot, close } = await open("#op/demo/greet");
    await field("name").fill("Ada");
    await call();
    await page.getByText('"Hello, Ada"', { exact: true }).waitFor();
    await shot("call-light");
    await page.getByRole("tab", { name: "Envelope" }).click();
    await page.getByText('"demo.greet"', { exact: true }).waitFor();
    await page.getByRole("tab", { name: "Code" }).click();
    assert.match(await page.locator(".tab-panel pre").innerText(), /curl -X POST '.*\/api\/demo\/greet'/);
    await close();
  });

  it("the explorer has a form with every kind of field", async () => {
    const { page, field, call, shot, close } = await open("#op/demo/everything", {
      viewport: { width: 1440, height: 2600 },
    });
    await field("title").fill("An order");
    await field("body").fill("Two\nlines");
    await field("count").fill("3");
    await field("price").fill("9.5");
    await field("active").selectOption("true");
    await field("color").selectOption("green");
    await field("level").selectOption({ label: "2" });
    await page
      .getByRole("group", { name: "tags", exact: true })
      .getByLabel("1", { exact: true })
      .fill("first");
    await page
      .getByRole("group", { name: "tags", exact: true })
      .getByRole("button", { name: "Add an item" })
      .click();
    await page
      .getByRole("group", { name: "tags", exact: true })
      .getByLabel("2", { exact: true })
      .fill("second");
    await field("Send point").check();
    await field("x").fill("1");
    await field("y").fill("-2");
    await field("city").fill("Paris");
    await field("zip").fill("75001");
    await field("Kind of shape").selectOption("box");
    await field("width").fill("4");
    await field("height").fill("5");
    const labels = page.getByRole("group", { name: "labels", exact: true });
    await labels.getByRole("button", { name: "Add a property" }).click();
    await labels.getByLabel("Name of the property").fill("team");
    await labels.getByLabel("value", { exact: true }).fill("red");
    await page
      .locator(".field", { has: page.getByText("note", { exact: true }) })
      .last()
      .getByLabel("null")
      .check();
    await field("day").fill("2026-02-03");
    await field("at").fill("2026-02-03T04:05:06Z");
    await field("email").fill("ada@example.com");
    await page
      .locator(".field", { has: page.getByLabel("id", { exact: true }) })
      .last()
      .getByRole("button", { name: "New" })
      .click();
    const id = await field("id").inputValue();
    await field("site").fill("https://example.com/");
    await field("Send tree").check();
    const tree = page.getByRole("group", { name: "tree", exact: true });
    await tree.getByLabel("value", { exact: true }).fill("root");
    await field("Send children").check();
    await tree.getByRole("button", { name: "Add an item" }).click();
    await tree.getByLabel("value", { exact: true }).last().fill("leaf");
    await field("Send extra").check();
    await field("extra as JSON").fill('{ "any": [1, null] }');
    await shot("form-every-kind");
    await call();
    await page.getByRole("tab", { name: "Text" }).click();
    const data = JSON.parse(await page.locator(".tab-panel pre").innerText());
    assert.deepEqual(data, {
      title: "An order",
      body: "Two\nlines",
      count: 3,
      price: 9.5,
      active: true,
      color: "green",
      level: 2,
      kind: "order",
      tags: ["first", "second"],
      point: [1, -2],
      address: { city: "Paris", zip: "75001" },
      shape: { type: "box", width: 4, height: 5 },
      labels: { team: "red" },
      note: null,
      day: "2026-02-03",
      at: "2026-02-03T04:05:06Z",
      email: "ada@example.com",
      id,
      site: "https://example.com/",
      tree: { value: "root", children: [{ value: "leaf" }] },
      extra: { any: [1, null] },
    });
    assert.match(id, /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    // The same as JSON, and as a form again.
    await page.getByRole("button", { name: "JSON", exact: true }).first().click();
    const area = page.getByLabel("Input as JSON");
    assert.deepEqual(JSON.parse(await area.inputValue()), data);
    await area.fill(JSON.stringify({ ...data, title: "Changed", shape: { type: "circle", radius: 1 } }));
    await page.getByRole("button", { name: "Form", exact: true }).click();
    assert.equal(await field("title").inputValue(), "Changed");
    assert.equal(await field("radius").inputValue(), "1");
    await close();
  });

  it("the explorer shows what is wrong at its field, and what to do", async () => {
    const { page, field, call, shot, close } = await open("#op/demo/everything");
    await call();
    await page.getByText("A number is needed").first().waitFor();
    assert.equal(
      await page.evaluate(() => document.activeElement === document.querySelector("[aria-invalid=true]")),
      true,
    );
    await field("count").fill("300");
    await field("price").fill("1");
    await field("radius").fill("1");
    await call();
    await page.getByText("VALIDATION_ERROR").waitFor();
    await page.getByText("Correct the marked fields").waitFor();
    const wrong = page.locator(".field.wrong", { has: page.getByLabel("count", { exact: true }) }).last();
    assert.match(await wrong.locator(".problem").first().innerText(), /100/);
    await shot("error-fields");
    await close();
  });

  it("the explorer shows errors of operations with what to do, and says whether they may have run", async () => {
    const { page, call, shot, close } = await open("#op/demo/broken");
    await call();
    await page.getByText("OUT_OF_STOCK", { exact: true }).waitFor();
    await page
      .locator(".advice")
      .getByText(/may have run|did not run/)
      .waitFor();
    await shot("error");
    await close();
    const odd = await open("#op/demo/odd");
    await odd.call();
    await odd.page.getByText("not quite what the schema declares").waitFor();
    await odd.close();
  });

  it("the explorer shows a stream of 10,000 events with a few rows", async () => {
    const { page, call, shot, close } = await open("#op/demo/ticks");
    await call();
    await page.getByText("10,000 events · the stream is over").waitFor();
    const rows = page.locator("#events .row");
    await page.getByText("the tick number 10000").waitFor();
    assert.ok((await rows.count()) < 60, "only what can be seen is on the page");
    await shot("stream");
    await page.locator("#events").focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.locator(".event-detail").getByText('"the tick number 2"', { exact: true }).waitFor();
    await close();
  });

  it("the explorer stops a stream and a call on request", async () => {
    const { page, call, close } = await open("#op/demo/endless");
    await call();
    await page.getByText(/^\d+ events · live$/).waitFor();
    await call();
    await page.getByText("stopped by you").waitFor();
    await close();
    const slow = await open("#op/demo/slow");
    await slow.call();
    await slow.page.getByRole("button", { name: "Stop" }).click();
    await slow.page.getByText("You have stopped the call").waitFor();
    await slow.close();
    const failing = await open("#op/demo/failing");
    await failing.call();
    await failing.page.getByText("The source is gone").waitFor();
    await failing.page.getByText("1 event · failed").waitFor();
    await failing.close();
  });

  it("the explorer shows large results bit by bit, and empty results", async () => {
    const { page, call, close } = await open("#op/demo/large");
    await call();
    await page.getByRole("button", { name: "Show 100 more of 1900" }).click();
    await page.getByRole("button", { name: "Show 100 more of 1800" }).waitFor();
    await close();
    const nothing = await open("#op/demo/nothing");
    await nothing.page.getByText("takes no input").waitFor();
    await nothing.call();
    await nothing.page.getByText("It gives no data").waitFor();
    await nothing.close();
  });

  it("the explorer runs no code from operations and results", async () => {
    const { page, call, shot, close } = await open();
    await page.getByText("1,499", { exact: true }).waitFor();
    await page.locator("#search").fill("<img");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "<b>bad</b>." }).waitFor();
    assert.match(await page.locator(".badges").innerText(), /\\u202eevil/);
    for (const summary of await page.locator(".fold > summary").all()) await summary.click();
    await page.getByRole("button", { name: "Show all", exact: true }).click();
    await call();
    await page.getByText('"javascript:window.hacked=1"', { exact: true }).waitFor();
    assert.equal(await page.locator("main img, main script, main b, main a:not(.back)").count(), 0);
    await shot("hostile");
    await page.goto(`${hub.url}/#op/bad/fails`);
    await page.getByRole("heading", { level: 1, name: "bad.fails" }).waitFor();
    await call();
    await page.locator(".failure-text").getByText("<script>window.hacked=1</script>").waitFor();
    await page.goto(`${hub.url}/#op/bad/events`);
    await page.getByRole("heading", { level: 1, name: "bad.events" }).waitFor();
    await call();
    await page.getByText("1 event · the stream is over").waitFor();
    await close();
  });

  it("the explorer has a policy that refuses what an intruder would try", async () => {
    const { page } = await open();
    const tried = await page.evaluate(async () => {
      const outcome = {};
      try {
        document.body.innerHTML = "<p>injected</p>";
      } catch {
        outcome.html = "refused";
      }
      const script = document.createElement("script");
      try {
        script.textContent = "window.hacked = 1";
        document.head.append(script);
      } catch {
        outcome.script = "refused";
      }
      await fetch("https://example.com/").catch(() => {
        outcome.fetch = "refused";
      });
      return { ...outcome, hacked: window.hacked };
    });
    assert.deepEqual(tried, { html: "refused", script: "refused", fetch: "refused", hacked: undefined });
    await page.waitForFunction(() => window.violations.some((line) => line.startsWith("connect-src")));
    await page.context().close();
  });

  it("the explorer takes a token, shows who it is for, and forgets it with the tab", async () => {
    const { page, shot, close } = await open();
    await page.getByRole("button", { name: "Anonymous" }).click();
    await page.getByRole("textbox", { name: "Token" }).fill("wrong");
    await page.getByRole("button", { name: "Use it" }).click();
    await page.getByText("The token is not valid here").waitFor();
    await shot("token-wrong");
    await page.locator(".advice").getByRole("button", { name: "Set a token" }).click();
    await page.getByRole("textbox", { name: "Token" }).fill(TOKEN);
    await shot("token");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "ada" }).waitFor();
    await page.getByText("1,500", { exact: true }).waitFor();
    assert.deepEqual(
      await page.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie]),
      [0, 0, ""],
    );
    await page.goto(`${hub.url}/#op/admin/secret`);
    await page.locator("#call").click();
    await page.locator(".tab-panel").getByText('"ada"', { exact: true }).waitFor();
    await page.getByRole("tab", { name: "Code" }).click();
    assert.equal((await page.content()).includes(TOKEN), false);
    await page.reload();
    await page.getByText("This needs to know who you are. Set a token.").waitFor();
    await page.getByRole("button", { name: "Anonymous" }).waitFor();
    await close();
  });

  it("the explorer says as whom one calls, and shows counters to callers with an identity only", async () => {
    const { page, shot, close } = await open("#server");
    await page.getByText("You call it anonymously").waitFor();
    // Counters are for callers with an identity, as those of /metrics are.
    assert.equal(await page.getByText("open connections").count(), 0);
    await shot("server");
    await close();
  });

  it("the explorer works with the keyboard alone", async () => {
    const { page, shot, close } = await open();
    await page.getByText("1,499", { exact: true }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("greet");
    await page.keyboard.press("ArrowDown");
    const active = await page.locator("#search").getAttribute("aria-activedescendant");
    assert.match(await page.locator(`#${active}`).innerText(), /demo\.greet/);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "demo.greet" }).waitFor();
    assert.equal(await page.evaluate(() => document.activeElement?.tagName), "H1");
    const pressTabTo = async (isThere) => {
      for (let count = 0; count < 20; count++) {
        await page.keyboard.press("Tab");
        if (await page.evaluate(isThere)) return;
      }
      assert.fail("the keyboard does not get there");
    };
    await pressTabTo(() => document.activeElement?.matches("main input"));
    await page.keyboard.type("Grace");
    await pressTabTo(() => document.activeElement?.id === "call");
    await shot("keyboard");
    await page.keyboard.press("Enter");
    await page.getByText('"Hello, Grace"', { exact: true }).waitFor();
    await pressTabTo(() => document.activeElement?.getAttribute("role") === "tab");
    await page.keyboard.press("ArrowRight");
    await page.getByText('"demo.greet"', { exact: true }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").getByText("Search operations").waitFor();
    await shot("help");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("Control+Enter");
    await page.getByText('"Hello, Grace"', { exact: true }).waitFor();
    await close();
  });

  it("the explorer follows the system's light and dark, with text that can be read", async () => {
    for (const colorScheme of ["light", "dark"]) {
      const { page, field, call, shot, close } = await open("#op/demo/greet", { colorScheme });
      await field("name").fill("Ada");
      await call();
      await page.getByText('"Hello, Ada"', { exact: true }).waitFor();
      const contrasts = await page.evaluate(contrastsOnPage);
      assert.ok(contrasts.length > 20);
      assert.deepEqual(
        contrasts.filter(({ ratio }) => ratio < 4.5),
        [],
        colorScheme,
      );
      const isDark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.equal(isDark === "rgb(18, 21, 28)", colorScheme === "dark");
      await shot(`call-${colorScheme}`);
      await close();
    }
  });

  it("the explorer fits a telephone", async () => {
    const { page, shot, close } = await open("", { viewport: { width: 390, height: 780 } });
    await page.getByText("1,499", { exact: true }).waitFor();
    await shot("phone-list");
    await page.locator("#operations .row", { hasText: "demo.everything" }).click();
    await page.getByRole("heading", { level: 1, name: "demo.everything" }).waitFor();
    const tooWide = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth);
    assert.equal(tooWide, false);
    await shot("phone-operation");
    await page.getByText("← All operations").click();
    await page.locator("#search").waitFor();
    await close();
  });

  it("the explorer preserves what was filled in, and has an address for each operation", async () => {
    const { page, field, close } = await open("#op/demo/greet");
    await field("name").fill("kept");
    await page.locator("#search").fill("demo.odd");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "demo.odd" }).waitFor();
    await page.goBack();
    await page.getByRole("heading", { level: 1, name: "demo.greet" }).waitFor();
    assert.equal(await field("name").inputValue(), "kept");
    await page.goto(`${hub.url}/#op/demo/unknown`);
    await page.getByText("OPERATION_NOT_FOUND").waitFor();
    await close();
  });

  it("the explorer works below another path", async () => {
    const other = await startHub({
      doors: { http: { path: "/v1/api" }, explorer: { path: "/tools/explorer" } },
    });
    const { page, field, call, close } = await open("#op/demo/greet", {
      url: other.url,
      path: "/tools/explorer",
    });
    await field("name").fill("there");
    await call();
    await page.getByText('"Hello, there"', { exact: true }).waitFor();
    await close();
  });
});

/** The contrast of each text on the page with what is behind it. Runs in the page. */
function contrastsOnPage() {
  const parse = (color) => {
    const [red, green, blue, alpha = 1] = color.match(/[\d.]+/g).map(Number);
    return { red, green, blue, alpha };
  };
  const light = (value) =>
    value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4;
  const luminance = ({ red, green, blue }) =>
    0.2126 * light(red) + 0.7152 * light(green) + 0.0722 * light(blue);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.alpha === 1) return color;
    }
    return { red: 255, green: 255, blue: 255 };
  };
  return [...document.querySelectorAll("body *")]
    .filter((element) =>
      [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== ""),
    )
    .filter(
      (element) => element.checkVisibility() && !element.closest(".visually-hidden, .skip, noscript, option"),
    )
    .map((element) => {
      const [one, other] = [luminance(parse(getComputedStyle(element).color)), luminance(behind(element))];
      const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
      return { text: element.textContent.slice(0, 30), ratio: Math.round(ratio * 100) / 100 };
    });
}

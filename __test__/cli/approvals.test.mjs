// `operations approvals`, and approvals in configuration files.

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { env, folderWith, KEY, run, runJson, shopDocument, startHub, startShop } from "./support/cli.mjs";

/** A folder with a hub whose pet shop needs approvals. */
async function hub(test, more = {}) {
  const shop = await startShop(test);
  const cwd = folderWith(test, {
    "shop.json": shopDocument(),
    "operations.json": {
      port: 0,
      openapi: {
        shop: {
          document: "shop.json",
          baseUrl: shop.url,
          auth: { type: "bearer", token: env("SHOP_KEY") },
          approval: "always",
        },
      },
      approvals: { store: { folder: "approvals" }, expires: env("EXPIRES") },
      tokens: {
        [env("ADA_TOKEN")]: { id: "ada", scopes: [] },
        [env("BOB_TOKEN")]: { id: "bob", scopes: ["approvals:decide"] },
      },
      ...more,
    },
  });
  const variables = { SHOP_KEY: KEY, ADA_TOKEN: "ada-token", BOB_TOKEN: "bob-token", EXPIRES: "600000" };
  return { shop, options: { cwd, env: variables } };
}

describe("operations approvals", { concurrency: true }, () => {
  it("approvals of a store: listed, approved, and used by another process", async (t) => {
    const { options } = await hub(t);
    const call = (...args) =>
      runJson(t, ["call", "shop.getPet", '{"petId":1}', "--as", "ada", ...args], options);
    const asked = await call();
    assert.equal(asked.code, 1);
    const { code, details } = JSON.parse(asked.stderr).error;
    assert.equal(code, "APPROVAL_REQUIRED");
    const { id, expires } = details.approval;
    assert.ok(expires - Date.now() <= 600_000);
    const shown = await run(t, ["approvals"], options);
    assert.match(shown.stdout, /^ID +STATUS +OPERATION +INPUT +WHO/);
    assert.match(shown.stdout, new RegExp(`^${id} +pending +shop\\.getPet .* ada`, "m"));
    const { value } = await runJson(t, ["approvals", "list"], options);
    assert.deepEqual(
      value.approvals.map(({ input }) => input),
      [{ petId: 1 }],
    );
    const decided = await run(t, ["approvals", "approve", id, "--as", "bob", "--reason", "fine"], options);
    assert.equal(decided.stdout, `approved ${id}: shop.getPet {"petId":1}\n`);
    const again = await run(t, ["approvals", "deny", id], options);
    assert.equal(again.code, 5);
    assert.match(again.stderr, /cannot be decided: it is approved/);
    assert.equal((await call("--approval", id)).code, 0);
    assert.equal((await run(t, ["approvals"], options)).stderr, "Nothing waits\n");
    const [used] = (await runJson(t, ["approvals", "--all"], options)).value.approvals;
    assert.deepEqual([used.status, used.by.id, used.reason], ["used", "bob", "fine"]);
  });

  it("approvals of a hub that runs: by URL and token, as far as the hub allows it", async (t) => {
    const { shop, options } = await hub(t, { approvals: {} });
    const { told } = await startHub(t, ["operations.json"], options);
    const call = (approval) =>
      fetch(`${told.doors.http}/shop/getPet`, {
        method: "POST",
        headers: {
          authorization: "Bearer ada-token",
          "content-type": "application/json",
          ...(approval && { approval }),
        },
        body: '{"petId":1}',
      });
    const { approval } = await (await call()).json();
    const as = (token, ...args) =>
      run(t, ["approvals", ...args, "--url", told.url], { env: { OPERATIONS_TOKEN: token } });
    assert.match((await as("bob-token")).stdout, new RegExp(`^${approval.id} +pending`, "m"));
    const own = await as("ada-token", "approve", approval.id);
    assert.equal(own.code, 4);
    assert.match(own.stderr, /you may not decide about this request/);
    assert.equal((await as("bob-token", "approve", "no-such-id")).code, 3);
    assert.equal((await as("wrong-token", "list")).code, 4);
    assert.doesNotMatch((await as("wrong-token", "list")).stderr, /wrong-token/);
    assert.equal((await as("bob-token", "approve", approval.id)).code, 0);
    const requests = shop.requests.length;
    assert.equal((await call(approval.id)).status, 200);
    assert.equal((await call(approval.id)).status, 202);
    assert.equal(shop.requests.length, requests + 1);
    const elsewhere = await run(t, ["approvals", "--url", "http://127.0.0.1:1"]);
    assert.equal(elsewhere.code, 1);
    assert.match(elsewhere.stderr, /127\.0\.0\.1:1 cannot be reached/);
  });

  it("approvals that cannot be meant are refused with what to do", async (t) => {
    const { options } = await hub(t, { approvals: {} });
    const refused = async (args, pattern, code = 2) => {
      const outcome = await run(t, ["approvals", ...args], options);
      assert.match(outcome.stderr, pattern);
      assert.equal(outcome.code, code);
    };
    await refused([], /has its approvals in memory.*--url/);
    await refused(["aprove", "x"], /there are list, approve and deny/);
    await refused(["approve"], /name the id/);
    await refused(["--url", "ftp://h"], /http or https URL/);
    const configured = async (more, pattern) => {
      const { options } = await hub(t, more);
      const outcome = await run(t, ["serve", "--check"], options);
      assert.match(outcome.stderr, pattern);
      assert.equal(outcome.code, 2);
    };
    await configured({ approvals: { store: "disk" } }, /operations\.json: approvals\.store must be/);
    await configured({ approvals: { strore: "memory" } }, /approvals\.strore.*Did you mean store/);
    await configured(
      { openapi: { shop: { document: join("shop.json"), approval: "maybe" } } },
      /openapi\.shop\.approval must be "never" or "always"/,
    );
  });
});

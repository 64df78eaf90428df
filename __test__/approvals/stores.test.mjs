// What every store of approvals has to do.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { OperationRegistry } from "@alkdev/operations";
import { missingBroker, startRedis } from "../support/brokers.mjs";
import { until } from "../support/waiting.mjs";
import { ADA, BOB, guarded, isNotApproved, requestOf } from "./support/guarded.mjs";

const stores = {
  memory: { open: () => "memory", isShared: false },
  folder: {
    open: (t) => {
      const folder = mkdtempSync(join(tmpdir(), "approvals-"));
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      return { folder };
    },
    isShared: true,
  },
  redis: {
    open: async (t) => {
      const broker = await startRedis();
      t.after(() => broker.stop());
      return { redis: { url: broker.url, prefix: "test:" } };
    },
    isShared: true,
    skip: missingBroker("redis-server"),
  },
};

const call = ({ registry }, input, approval, identity = ADA) =>
  registry.execute("files.remove", input, { identity, ...(approval && { approval }) });

/** Calls for an identity of its own, because one caller alone cannot fill a store. */
const callAlone = (one, input, approval) => call(one, input, approval, { ...ADA, id: `caller-${input}` });

const isOverloaded = ({ code, details }) =>
  code === "EXECUTION_ERROR" && details.reason === "overloaded" && details.delivery === "none";

for (const [name, { open, isShared, skip = false }] of Object.entries(stores)) {
  describe(`approvals in ${name}`, { skip }, () => {
    it(`${name}: of many decisions and uses at the same moment, one counts each`, async (t) => {
      const one = guarded({ store: await open(t) });
      const { id } = await requestOf(call(one, 1));
      const decisions = await Promise.allSettled(
        [true, false, true, false].map((approve) => one.registry.approvals.decide(id, { approve, by: BOB })),
      );
      const [won, ...others] = decisions.filter(({ status }) => status === "fulfilled");
      assert.deepEqual(others, []);
      assert.equal(won.value.by.id, "bob");
      const uses = await Promise.allSettled(Array.from({ length: 8 }, () => call(one, 1, id)));
      const isApproved = won.value.status === "approved";
      assert.equal(uses.filter(({ status }) => status === "fulfilled").length, isApproved ? 1 : 0);
      assert.equal(one.calls.length, isApproved ? 1 : 0);
    });

    it(`${name}: a request expires between its decision and its use`, async (t) => {
      const one = guarded({ store: await open(t), expires: 300 });
      const { id } = await requestOf(call(one, 1));
      await one.registry.approvals.decide(id, { approve: true });
      await until(async () => (await one.registry.approvals.get(id)).status === "expired");
      assert.notEqual((await requestOf(call(one, 1, id))).id, id);
      await assert.rejects(one.registry.approvals.decide(id, { approve: true }), /it is expired/);
      assert.equal(one.calls.length, 0);
    });

    it(`${name}: a full store refuses, says so, and has room again for each approval that is used`, async (t) => {
      const one = guarded({ store: await open(t) });
      const ids = [];
      for (let nr = 0; nr < 1_000; nr++) ids.push((await requestOf(callAlone(one, nr))).id);
      await assert.rejects(callAlone(one, "more"), isOverloaded);
      const [first, second] = ids;
      await one.registry.approvals.decide(first, { approve: true });
      await callAlone(one, 0, first);
      assert.equal((await one.registry.approvals.get(first)).status, "used");
      await requestOf(callAlone(one, "more"));
      await assert.rejects(callAlone(one, "even more"), isOverloaded);
      await one.registry.approvals.decide(second, { approve: false });
      await assert.rejects(callAlone(one, 1, second), isNotApproved);
      assert.deepEqual(one.calls, [0]);
      assert.equal((await one.registry.approvals.list({ status: "pending" })).length, 999);
    });

    it(`${name}: ids that were guessed are worth nothing`, async (t) => {
      const one = guarded({ store: await open(t) });
      const { id } = await requestOf(call(one, 1));
      await one.registry.approvals.decide(id, { approve: true });
      const guesses = [
        "",
        " ",
        "*",
        "all",
        "../x",
        `${id} `,
        id.toUpperCase(),
        `${id}\0`,
        "request:x",
        "%00",
      ];
      for (const guess of guesses.filter((each) => each !== id)) {
        assert.equal(await one.registry.approvals.get(guess), undefined, JSON.stringify(guess));
        assert.notEqual((await requestOf(call(one, 1, guess))).id, id);
        await assert.rejects(one.registry.approvals.decide(guess, { approve: true }), /There is no approval/);
      }
      assert.equal(one.calls.length, 0);
    });

    it(`${name}: ${isShared ? "another registry on the same store decides and uses what this one requested" : "another registry has approvals of its own"}`, async (t) => {
      const store = await open(t);
      const one = guarded({ store });
      const two = guarded({ store });
      const { id } = await requestOf(call(one, { path: "é" }));
      if (!isShared) {
        assert.equal(await two.registry.approvals.get(id), undefined);
        return;
      }
      const [waiting] = await two.registry.approvals.list({ status: "pending" });
      assert.deepEqual([waiting.id, waiting.input, waiting.identity], [id, { path: "é" }, ADA]);
      await two.registry.approvals.decide(id, { approve: true, by: BOB });
      await call(two, { path: "é" }, id);
      assert.notEqual((await requestOf(call(one, { path: "é" }, id))).id, id);
      assert.deepEqual([one.calls.length, two.calls.length], [0, 1]);
    });
  });
}

it("a store that cannot be reached fails calls that need it, without saying where it is", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "approvals-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const gone = { store: { redis: { url: "redis://user:secret@127.0.0.1:1" } } };
  const broken = guarded({ store: { folder } });
  rmSync(folder, { recursive: true });
  writeFileSync(folder, "");
  for (const one of [guarded(gone), broken]) {
    const error = await call(one, 1).catch((thrown) => thrown);
    assert.equal(error.details.reason, "approval-store");
    assert.equal(error.details.delivery, "none");
    assert.doesNotMatch(error.message, /secret|127\.0\.0\.1|approvals-/);
    assert.equal(one.calls.length, 0);
  }
});

it("what processes that were killed left in a folder goes when the folder is full", async (t) => {
  const { folder } = stores.folder.open(t);
  const left = `${randomUUID()}.new`;
  const others = ["notes.used", `${randomUUID()}.new`];
  for (const name of [left, `${randomUUID()}.decision`, ...others]) writeFileSync(join(folder, name), "{}");
  utimesSync(join(folder, left), 1, 1);
  const one = guarded({ store: { folder } });
  for (let nr = 0; nr < 1_000; nr++) await requestOf(callAlone(one, nr));
  await assert.rejects(callAlone(guarded({ store: { folder } }), "more"), isOverloaded);
  assert.deepEqual(
    readdirSync(folder)
      .filter((name) => !name.endsWith(".request"))
      .sort(),
    others.sort(),
  );
});

it("a Redis as a store is refused by field where it cannot be meant", () => {
  const opened = (redis) => () => new OperationRegistry({ approvals: { store: { redis } } });
  assert.throws(opened({}), /approvals\.store\.redis\.url/);
  assert.throws(opened({ url: "http://h" }), /approvals\.store\.redis\.url must look like redis:/);
  assert.throws(opened({ url: "redis://h", prefx: "a" }), /approvals\.store\.redis\.prefx.*prefix/);
  assert.throws(opened({ url: "redis://h", tls: { ca: "x" } }), /approvals\.store\.redis\.tls/);
});

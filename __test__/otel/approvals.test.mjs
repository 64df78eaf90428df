// Decisions about approvals, in traces.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { instrument } from "@alkdev/operations/otel";
import { ADA, BOB, guarded, isNotApproved, requestOf } from "../approvals/support/guarded.mjs";
import { spanOf, spans, useSdk } from "./support.mjs";

useSdk();

describe("approvals in traces", () => {
  it("every decision about an approval is in a trace: of a person, of the call that uses it, and of approve", async (t) => {
    const { registry } = guarded();
    t.after(instrument(registry));
    const call = (input, more) => registry.execute("files.remove", input, { identity: ADA, ...more });
    const { id } = await requestOf(call(1));
    await registry.approvals.decide(id, { approve: true, by: BOB });
    const { attributes } = spanOf("operations.approval");
    assert.deepEqual(attributes, {
      "operations.id": "files.remove",
      "operations.approval.granted": true,
      "operations.approval.id": id,
      "operations.approval.by": "bob",
    });
    await call(1, { approval: id });
    await assert.rejects(call(2, { approve: () => false }), isNotApproved);
    const decisions = spans()
      .filter(({ name }) => name === "files.remove")
      .map(({ events }) =>
        events.filter(({ name }) => name === "operations.approval").map((event) => event.attributes),
      );
    const about = (granted, more) => ({
      "operations.id": "files.remove",
      "operations.approval.granted": granted,
      ...more,
    });
    assert.deepEqual(decisions, [[], [about(true, { "operations.approval.id": id })], [about(false)]]);
  });
});

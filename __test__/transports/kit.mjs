// What every transport of the call protocol has to do (`CallTransport`), as tests that any of them can run. A transport of
// your own runs them too: it needs this file and the package. `docs/guides/transports.md` says how.

import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { buildEnv, CallError, OperationRegistry } from "@alkdev/operations";
import { Type } from "@sinclair/typebox";
import { withTimeEnough } from "../support/time-enough.mjs";
import { collectData as all, deferred, failureOf, until } from "../support/waiting.mjs";

/** Who calls in these tests, where it matters. */
export const ADA = { id: "ada", scopes: ["kit:read"] };

/**
 * @typedef {object} Opened
 * @property {import("@alkdev/operations").CallTransport} transport the side that calls
 * @property {object} [as] what makes ADA the caller, as an option of `discover` and of calls; nothing where the connection has an identity
 * @property {() => unknown} [changed] called after the registry has changed, where the transport does not notice by itself
 * @property {() => unknown} cut ends the connection as a fault would: nobody is told in good order
 * @property {(options?: { drain?: number }) => Promise<unknown>} shut closes the side that serves, in good order
 * @property {() => unknown} end lets go of everything
 */

/**
 * Runs the tests for one transport.
 *
 * @param {string} name
 * @param {{ open: (registry: OperationRegistry) => Promise<Opened>, lost: string[], skip?: unknown, window?: number }} how
 * `open` serves a registry and connects to it as ADA; `lost` has the words of `details.reason` for a call whose peer is gone;
 * `window` bounds the events that are made ahead of a slow consumer.
 */
export function transportTests(name, { open, lost, skip = false, window = 256 }) {
  describe(name, { skip, timeout: 120_000 }, () => {
    const opened = [];
    const on = async (...operations) => {
      const registry = new OperationRegistry();
      registry.registerAll(operations);
      const made = await open(registry);
      opened.push(made);
      return { ...made, registry, as: made.as ?? {}, callMap: made.transport.callMap };
    };
    after(async () => {
      for (const { end } of opened) await end();
    });

    for (const [title, test] of TESTS) it(`${name}: ${title}`, () => test(on, { lost, window }));
  });
}

const TESTS = [];
const kit = (title, test) => TESTS.push([title, test]);

// Calls.

kit("a call gets the response of the operation", async (on) => {
  const { callMap } = await on(echo);
  for (const value of [1, "text", null, [1, [2]], { a: { b: true } }, "\u{1f600}", 1e300]) {
    assert.deepEqual((await callMap.call("kit.echo", value)).data, value);
  }
  const { data, meta } = await callMap.call("kit.echo", {});
  assert.deepEqual(data, {});
  assert.equal(meta.source, "local");
  assert.equal(meta.operationId, "kit.echo");
  assert.equal(callMap.getPendingCount(), 0);
});

kit("values arrive as they were, binary data and undefined too", async (on) => {
  const { callMap } = await on(echo, operation("nothing", { handler: () => undefined }));
  const bytes = Uint8Array.from([0, 1, 254, 255]);
  assert.deepEqual((await callMap.call("kit.echo", { bytes })).data, { bytes });
  const looksLikeIt = { $bytes: "AAH+/w==" };
  assert.deepEqual((await callMap.call("kit.echo", looksLikeIt)).data, looksLikeIt);
  const nothing = await callMap.call("kit.nothing", {});
  assert.equal(nothing.data, undefined);
  assert.ok("data" in nothing);
  const refused = await failureOf(callMap.call("kit.echo", { big: 1n }));
  assert.equal(refused.code, "VALIDATION_ERROR");
  assert.match(refused.message, /big/);
});

kit("1,000 calls in flight get their own responses", async (on) => {
  const gate = deferred();
  let begun = 0;
  const wait = operation("wait", {
    handler: async (input) => {
      begun += 1;
      // Not all of them: a transport may have fewer places than there are calls.
      if (begun === 100) gate.resolve();
      await gate.promise;
      return input;
    },
  });
  const { callMap } = await on(wait);
  const answers = await Promise.all(Array.from({ length: 1_000 }, (_, n) => callMap.call("kit.wait", n)));
  assert.ok(answers.every(({ data }, n) => data === n));
  assert.equal(callMap.getPendingCount(), 0);
});

kit("the caller's identity and metadata arrive with the call, and trust does not", async (on) => {
  const about = operation("about", {
    handler: (_, { identity, metadata, deadline, parentRequestId, requestId, trusted }) => ({
      who: identity?.id ?? null,
      metadata,
      isBefore: deadline !== undefined && deadline > Date.now(),
      parentRequestId,
      hasId: typeof requestId === "string",
      trusted: trusted ?? null,
    }),
  });
  const { callMap, as } = await on(about);
  const parentRequestId = crypto.randomUUID();
  const { data } = await callMap.call(
    "kit.about",
    {},
    { ...as, metadata: { tag: 7 }, deadline: Date.now() + 60_000, parentRequestId, trusted: true },
  );
  assert.deepEqual(data, {
    who: "ada",
    metadata: { tag: 7 },
    isBefore: true,
    parentRequestId,
    hasId: true,
    trusted: null,
  });
});

// Errors.

kit("an error of the operation arrives with code, message and details", async (on) => {
  const refuse = operation("refuse", {
    errorSchemas: [{ code: "TEAPOT", schema: Type.Object({ size: Type.Number() }) }],
    handler: () => {
      throw new CallError("TEAPOT", "short and stout", { size: 3 });
    },
  });
  const { callMap } = await on(refuse);
  const error = await failureOf(callMap.call("kit.refuse", {}));
  assert.ok(error instanceof CallError);
  assert.equal(error.code, "TEAPOT");
  assert.equal(error.details.size, 3);
  assert.equal(error.details.delivery, "done");
});

kit("a call of an unknown or forbidden operation has not run", async (on) => {
  let ran = 0;
  const count = () => {
    ran += 1;
  };
  const { callMap, as } = await on(
    operation("secret", { accessControl: { requiredScopes: ["kit:write"] }, handler: count }),
    operation("inner", { visibility: "internal", handler: count }),
    operation("picky", { inputSchema: Type.Object({ n: Type.Number() }), handler: count }),
  );
  const unknown = await failureOf(callMap.call("kit.unknown", {}, as));
  assert.equal(unknown.code, "OPERATION_NOT_FOUND");
  assert.equal(unknown.details.delivery, "none");
  assert.equal((await failureOf(callMap.call("kit.inner", {}, as))).code, "OPERATION_NOT_FOUND");
  for (const [id, input, code] of [
    ["kit.secret", {}, "ACCESS_DENIED"],
    ["kit.picky", { n: "x" }, "VALIDATION_ERROR"],
  ]) {
    const error = await failureOf(callMap.call(id, input, as));
    assert.deepEqual([error.code, error.details.delivery], [code, "none"]);
  }
  assert.equal(ran, 0);
});

kit(
  "a call that needs an approval rejects with it, and its metadata names it when it is repeated",
  async (on) => {
    let ran = 0;
    const handler = (_, { metadata }) => {
      ran += 1;
      return { metadata };
    };
    const { callMap, transport, registry, as } = await on(
      operation("guarded", { approval: "always", handler }),
    );
    const named = (id) => ({ ...as, metadata: { note: 1, "operations/approval": id } });
    const { code, details } = await failureOf(callMap.call("kit.guarded", 7, as));
    assert.equal(code, "APPROVAL_REQUIRED");
    assert.equal(details.delivery, "none");
    const { id, operationId, expires } = details.approval;
    assert.equal(operationId, "kit.guarded");
    assert.ok(expires > Date.now());
    assert.equal((await failureOf(callMap.call("kit.guarded", 7, named(id)))).details.approval.id, id);
    await registry.approvals.decide(id, { approve: true });
    assert.equal((await failureOf(callMap.call("kit.guarded", 8, named(id)))).code, "APPROVAL_REQUIRED");
    assert.equal(ran, 0);
    assert.deepEqual((await callMap.call("kit.guarded", 7, named(id))).data, { metadata: { note: 1 } });
    assert.equal((await failureOf(callMap.call("kit.guarded", 7, named(id)))).code, "APPROVAL_REQUIRED");
    // An imported operation takes it as any other does.
    const mine = new OperationRegistry();
    mine.registerAll(await transport.import({ namespace: "far", ...as }));
    const who = { identity: ADA };
    const { approval } = (await failureOf(mine.execute("far.guarded", 9, who))).details;
    await registry.approvals.decide(approval.id, { approve: true });
    await mine.execute("far.guarded", 9, { ...who, approval: approval.id });
    assert.equal(ran, 2);
  },
);

// Streams.

kit("a stream has all events in their order, and its end", async (on) => {
  const { callMap } = await on(numbers);
  assert.deepEqual(await all(callMap.subscribe("kit.numbers", { to: 1_000 })), upTo(1_000));
  assert.deepEqual(await all(callMap.subscribe("kit.numbers", { to: 0 })), []);
  const both = await Promise.all([1, 2].map(() => all(callMap.subscribe("kit.numbers", { to: 300 }))));
  assert.deepEqual(both, [upTo(300), upTo(300)]);
  assert.equal(callMap.getPendingCount(), 0);
});

kit("an error ends a stream, after the events before it", async (on) => {
  const breaks = stream("breaks", {
    handler: async function* () {
      yield 1;
      yield 2;
      throw new CallError("BROKEN", "no more", {});
    },
  });
  const { callMap } = await on(breaks);
  const got = [];
  const error = await failureOf(
    (async () => {
      for await (const { data } of callMap.subscribe("kit.breaks", {})) got.push(data);
    })(),
  );
  assert.deepEqual(got, [1, 2]);
  assert.equal(error.code, "BROKEN");
});

kit("a consumer that leaves a stream ends it at the server", async (on) => {
  const ended = deferred();
  const endless = stream("endless", {
    handler: async function* () {
      try {
        for (let n = 0; ; n++) yield n;
      } finally {
        ended.resolve();
      }
    },
  });
  const { callMap } = await on(endless);
  for await (const { data } of callMap.subscribe("kit.endless", {})) if (data === 300) break;
  await ended.promise;
  assert.equal(callMap.getPendingCount(), 0);
});

kit("a call of a subscription gets its first event, and ends it", async (on) => {
  const ended = deferred();
  const endless = stream("endless", {
    handler: async function* () {
      try {
        for (let n = 7; ; n++) yield n;
      } finally {
        ended.resolve();
      }
    },
  });
  const { callMap } = await on(endless);
  assert.equal((await callMap.call("kit.endless", {})).data, 7);
  await ended.promise;
});

kit("a slow consumer slows the handler that serves it", async (on, { window }) => {
  let made = 0;
  const endless = stream("endless", {
    handler: async function* () {
      for (;;) {
        made += 1;
        yield made;
      }
    },
  });
  const { callMap } = await on(endless);
  const events = callMap.subscribe("kit.endless", {});
  assert.equal((await events.next()).value.data, 1);
  await untilStill(() => made);
  assert.ok(made <= window, `${made} events were made for one that was read`);
  for (let n = 2; n <= 1_000; n++) assert.equal((await events.next()).value.data, n);
  await untilStill(() => made);
  assert.ok(made <= 1_000 + window, `${made} events were made for 1,000 that were read`);
  await events.return();
});

// Abort and time.

kit("an abort reaches the handler", async (on) => {
  const began = deferred();
  const aborted = deferred();
  const { callMap } = await on(hanging(began, aborted));
  const controller = new AbortController();
  const call = failureOf(callMap.call("kit.hang", {}, { signal: controller.signal }));
  await began.promise;
  controller.abort();
  const error = await call;
  assert.equal(error.code, "ABORTED");
  assert.equal(error.details.delivery, "unknown");
  await aborted.promise;
  assert.equal(callMap.getPendingCount(), 0);
});

kit("a call that was aborted before it began is not sent", async (on) => {
  const { callMap } = await on(echo);
  const signal = AbortSignal.abort();
  const call = await failureOf(callMap.call("kit.echo", {}, { signal }));
  assert.equal(call.code, "ABORTED");
  assert.equal(call.details.delivery, "none");
  const events = await failureOf(all(callMap.subscribe("kit.echo", {}, { signal })));
  assert.equal(events.code, "ABORTED");
  callMap.abort("nobody knows this one");
  assert.equal(callMap.getPendingCount(), 0);
});

kit("a deadline ends the call at both sides", async (on) => {
  const began = deferred();
  const aborted = deferred();
  const { callMap } = await on(hanging(began, aborted));
  let hasBegun = false;
  began.promise.then(() => {
    hasBegun = true;
  });
  await withTimeEnough(async (time) => {
    const error = await failureOf(callMap.call("kit.hang", {}, { deadline: Date.now() + time }));
    assert.equal(error.code, "TIMEOUT");
    assert.match(error.message, /timed out/);
    return hasBegun;
  });
  await aborted.promise;
  const passed = await failureOf(callMap.call("kit.hang", {}, { deadline: Date.now() - 1 }));
  assert.equal(passed.code, "TIMEOUT");
  assert.equal(passed.details.delivery, "none");
  assert.equal(callMap.getPendingCount(), 0);
});

kit("idleTimeout ends a silent subscription", async (on) => {
  const ended = deferred();
  const quiet = stream("quiet", {
    handler: async function* (_, { signal }) {
      try {
        yield 1;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      } finally {
        ended.resolve();
      }
    },
  });
  const { callMap } = await on(quiet);
  await withTimeEnough(async (idleTimeout) => {
    const events = callMap.subscribe("kit.quiet", {}, { idleTimeout });
    const first = await events.next().catch((error) => ({ error }));
    const error = first.error ?? (await failureOf(events.next()));
    assert.equal(error.code, "TIMEOUT");
    assert.equal(error.details.idleTimeout, idleTimeout);
    return first.value?.data === 1;
  });
  await ended.promise;
});

// What the other side serves.

kit("discover returns whole specs of what the caller may call", async (on) => {
  const inputSchema = Type.Object({ path: Type.String({ minLength: 1 }) });
  const outputSchema = Type.Object({ size: Type.Integer() });
  const { transport, as } = await on(
    operation("stat", {
      version: "2.1.0",
      title: "Size of a file",
      description: "How large a file is",
      tags: ["files"],
      inputSchema,
      outputSchema,
      errorSchemas: [{ code: "GONE", description: "No such file" }],
      accessControl: { requiredScopes: ["kit:read"] },
    }),
    operation("secret", { accessControl: { requiredScopes: ["kit:write"] } }),
    operation("inner", { visibility: "internal" }),
    numbers,
  );
  const { operations } = await transport.discover(as);
  assert.deepEqual(operations.map(({ namespace, name }) => `${namespace}.${name}`).sort(), [
    "kit.numbers",
    "kit.stat",
  ]);
  const stat = operations.find((found) => found.name === "stat");
  const { version, type, title, description, tags, errorSchemas } = stat;
  assert.deepEqual(
    { version, type, title, description, tags, errorSchemas },
    {
      version: "2.1.0",
      type: "query",
      title: "Size of a file",
      description: "How large a file is",
      tags: ["files"],
      errorSchemas: [{ code: "GONE", description: "No such file" }],
    },
  );
  assert.deepEqual(stat.inputSchema, JSON.parse(JSON.stringify(inputSchema)));
  assert.deepEqual(stat.outputSchema, JSON.parse(JSON.stringify(outputSchema)));
  assert.ok(!("accessControl" in stat) && !("handler" in stat));
  assert.equal(operations.find((found) => found.name === "numbers").type, "subscription");
});

kit("import makes operations that work like any other", async (on) => {
  const who = operation("who", {
    handler: (_, { identity, trusted }) => [identity?.id ?? null, trusted ?? null],
  });
  const greet = operation("greet", {
    inputSchema: Type.Object({ name: Type.String() }),
    outputSchema: Type.String(),
    handler: ({ name }) => `Hello, ${name}`,
  });
  const { transport, as } = await on(greet, who, numbers, echo);
  const operations = await transport.import({ ...as, namespace: "far", exclude: ["kit.echo"] });
  assert.deepEqual(operations.map(({ name }) => name).sort(), ["greet", "numbers", "who"]);
  const mine = new OperationRegistry();
  mine.registerAll(operations);
  assert.equal((await mine.execute("far.greet", { name: "Bob" })).data, "Hello, Bob");
  const wrong = await failureOf(mine.execute("far.greet", { name: 7 }));
  assert.equal(wrong.code, "VALIDATION_ERROR");
  assert.deepEqual((await mine.execute("far.who", {}, { identity: ADA, trusted: true })).data, ["ada", null]);
  assert.deepEqual(await all(mine.subscribe("far.numbers", { to: 3 }, {})), [0, 1, 2]);
  const env = buildEnv({ registry: mine, context: { identity: ADA } });
  assert.equal((await env.far.greet({ name: "Eve" })).data, "Hello, Eve");
  const one = await transport.import({ ...as, include: ["kit.gr*"] });
  assert.deepEqual(
    one.map(({ namespace, name }) => `${namespace}.${name}`),
    ["kit.greet"],
  );
});

kit("two operations that would have one id are not imported", async (on) => {
  const { transport, as } = await on(echo, { ...echo, namespace: "kit2" });
  const error = await failureOf(transport.import({ ...as, namespace: "one" }));
  assert.equal(error.details.reason, "collision");
  const mine = new OperationRegistry();
  mine.register(echo);
  const taken = await failureOf(transport.import({ ...as, keepInStep: mine }));
  assert.equal(taken.details.reason, "collision");
  assert.deepEqual(
    mine.list().map(({ namespace, name }) => `${namespace}.${name}`),
    ["kit.echo"],
  );
});

kit("an abort and a deadline reach an imported operation", async (on) => {
  const began = deferred();
  const aborted = deferred();
  const { transport, as } = await on(hanging(began, aborted));
  const mine = new OperationRegistry();
  mine.registerAll(await transport.import(as));
  const controller = new AbortController();
  const call = failureOf(mine.execute("kit.hang", {}, { signal: controller.signal }));
  await began.promise;
  controller.abort();
  assert.equal((await call).code, "ABORTED");
  await aborted.promise;
  const late = await failureOf(mine.execute("kit.hang", {}, { deadline: Date.now() + 200 }));
  assert.equal(late.code, "TIMEOUT");
});

kit("keepInStep follows what is served, until the connection is closed", async (on) => {
  const { transport, registry, as, changed } = await on(echo);
  const mine = new OperationRegistry();
  mine.register({ ...echo, namespace: "own" });
  await transport.import({ ...as, namespace: "far", keepInStep: mine });
  assert.equal((await mine.execute("far.echo", 1)).data, 1);
  registry.register(operation("late", { handler: () => "late" }));
  await changed?.();
  await until(() => mine.get("far.late") !== undefined);
  assert.equal((await mine.execute("far.late", {})).data, "late");
  registry.unregister("kit.echo");
  await changed?.();
  await until(() => mine.get("far.echo") === undefined);
  await transport.close({ drain: 0 });
  assert.deepEqual(
    mine.list().map(({ namespace, name }) => `${namespace}.${name}`),
    ["own.echo"],
  );
});

kit("rules, visibility and limits of the program survive what the other side changes", async (on) => {
  const { transport, registry, as, changed } = await on(echo, operation("inner"), operation("few"));
  const mine = new OperationRegistry();
  const limits = { concurrency: 1 };
  await transport.import({ ...as, namespace: "far", keepInStep: mine });
  mine.register({ ...mine.get("far.echo"), accessControl: { requiredScopes: ["kit:admin"] } });
  mine.register({ ...mine.get("far.inner"), visibility: "internal" });
  mine.register({ ...mine.get("far.few"), limits });
  const changeAll = async (description) => {
    for (const name of ["echo", "inner", "few"]) registry.register(operation(name, { description }));
    await changed?.();
    await until(() => mine.getSpec("far.few")?.description === description);
  };
  await changeAll("changed");
  for (const name of ["echo", "inner", "few"]) registry.unregister(`kit.${name}`);
  await changed?.();
  await until(() => mine.get("far.few") === undefined);
  await changeAll("back");
  assert.deepEqual(mine.getSpec("far.echo").accessControl, { requiredScopes: ["kit:admin"] });
  assert.equal(mine.getSpec("far.inner").visibility, "internal");
  assert.deepEqual(mine.getSpec("far.few").limits, limits);
  assert.equal((await failureOf(mine.execute("far.echo", 1))).code, "ACCESS_DENIED");
});

kit("what the other side changes does not touch operations of the program", async (on) => {
  const { transport, registry, as, changed } = await on(echo);
  const mine = new OperationRegistry();
  mine.register(operation("own", { namespace: "far", handler: () => "mine" }));
  await transport.import({ ...as, namespace: "far", keepInStep: mine });
  const { handler } = mine.get("far.echo");
  const guarded = (input, context) => (input === "bad" ? "refused" : handler(input, context));
  mine.register({ ...mine.get("far.echo"), handler: guarded });
  registry.registerAll([operation("own"), operation("echo", { description: "changed" }), operation("late")]);
  await changed?.();
  await until(() => mine.get("far.late") !== undefined);
  assert.equal((await mine.execute("far.own", {})).data, "mine");
  assert.equal((await mine.execute("far.echo", "bad")).data, "refused");
  for (const name of ["own", "echo", "late"]) registry.unregister(`kit.${name}`);
  await changed?.();
  await until(() => mine.get("far.late") === undefined);
  assert.equal((await mine.execute("far.own", {})).data, "mine");
  assert.equal(mine.getHandler("far.echo"), guarded);
});

kit("serving the same registry again is harmless", async (on) => {
  const { transport } = await on(echo);
  const mine = new OperationRegistry();
  mine.register(operation("mine"));
  const first = transport.serve(mine);
  const again = transport.serve(mine);
  assert.deepEqual(await again, await first);
  assert.deepEqual(await transport.serve(mine), await first);
  const other = await failureOf(transport.serve(new OperationRegistry()));
  assert.equal(other.code, "VALIDATION_ERROR");
});

// The end.

kit("calls and streams whose peer is lost fail with what is known", async (on, { lost }) => {
  const began = deferred();
  const { transport, callMap, cut } = await on(
    hanging(began, deferred()),
    stream("silent", { handler: silent }),
  );
  const call = failureOf(callMap.call("kit.hang", {}));
  const events = callMap.subscribe("kit.silent", {});
  assert.equal((await events.next()).value.data, 1);
  await began.promise;
  const next = failureOf(events.next());
  await cut();
  for (const error of [await call, await next]) {
    assert.equal(error.code, "EXECUTION_ERROR");
    assert.ok(lost.includes(error.details.reason), error.details.reason);
    assert.equal(error.details.delivery, "unknown");
  }
  assert.equal(callMap.getPendingCount(), 0);
  await transport.close({ drain: 0 });
});

kit("a server finishes running calls before it closes", async (on) => {
  const began = deferred();
  const gate = deferred();
  const slow = operation("slow", {
    handler: async () => {
      began.resolve();
      await gate.promise;
      return "done";
    },
  });
  const { callMap, shut } = await on(slow);
  const call = callMap.call("kit.slow", {});
  await began.promise;
  const closed = shut({ drain: 60_000 });
  gate.resolve();
  assert.equal((await call).data, "done");
  await closed;
});

kit("closing a connection ends its pending calls", async (on) => {
  const began = deferred();
  const aborted = deferred();
  const { transport, callMap } = await on(hanging(began, aborted));
  const call = failureOf(callMap.call("kit.hang", {}));
  await began.promise;
  await Promise.all([transport.close({ drain: 0 }), transport.close({ drain: 0 })]);
  assert.equal((await call).details.reason, "closed");
  await aborted.promise;
  const later = await failureOf(callMap.call("kit.hang", {}));
  assert.equal(later.details.delivery, "none");
  const asked = await failureOf(transport.discover());
  assert.ok(asked instanceof CallError);
  assert.equal(callMap.getPendingCount(), 0);
  assert.equal(typeof transport.stats(), "object");
});

// What the tests are made of.

function operation(name, changes = {}) {
  return {
    namespace: "kit",
    name,
    version: "1.0.0",
    type: "query",
    description: `The operation ${name} of the kit`,
    inputSchema: Type.Unknown(),
    outputSchema: Type.Unknown(),
    accessControl: { requiredScopes: [] },
    handler: (input) => input,
    ...changes,
  };
}

function stream(name, changes) {
  return operation(name, { type: "subscription", ...changes });
}

const echo = operation("echo");
const numbers = stream("numbers", {
  inputSchema: Type.Object({ to: Type.Number() }),
  outputSchema: Type.Number(),
  handler: async function* ({ to }) {
    for (let n = 0; n < to; n++) yield n;
  },
});

/** One event, and then nothing until nobody waits for more. */
async function* silent(_, { signal }) {
  yield 1;
  await new Promise((resolve) => signal.addEventListener("abort", resolve));
}

/** An operation that ends by being aborted only. */
function hanging(began, aborted) {
  return operation("hang", {
    handler: (_, { signal }) => {
      signal.addEventListener("abort", () => aborted.resolve());
      began.resolve();
      return new Promise(() => {});
    },
  });
}

function upTo(count) {
  return Array.from({ length: count }, (_, n) => n);
}

/** Waits until a number does not change any more. */
async function untilStill(read) {
  let before;
  await until(async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const isStill = before === read();
    before = read();
    return isStill;
  });
}

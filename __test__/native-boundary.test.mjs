// What crosses between Rust and JavaScript: errors, panics, thrown values.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { CallError } from "@alkdev/operations";
import { hooks, native, runtime } from "./support/internals.mjs";
import { declared, exported } from "./support/native-signatures.mjs";
import { runModule } from "./support/run-node.mjs";

describe("errors raised in Rust", () => {
  const expected = (error) => {
    assert.ok(error instanceof CallError);
    assert.equal(error.code, "MY_CODE");
    assert.equal(error.message, "what happened");
    assert.deepEqual(error.details, { list: [1, "a", null], big: 2 ** 53 });
    return true;
  };
  const details = JSON.stringify({ list: [1, "a", null], big: 2 ** 53 });

  it("errors raised in Rust are CallErrors with code, message and details", () => {
    assert.throws(() => hooks.failNow("MY_CODE", "what happened", details), expected);
  });

  it("errors raised in Rust on another thread are CallErrors", async () => {
    await assert.rejects(hooks.failLater("MY_CODE", "what happened", details), expected);
  });

  it("errors raised in Rust have undefined details when there are no details", async () => {
    assert.throws(() => hooks.failNow("A", "b"), { code: "A", details: undefined });
    await assert.rejects(hooks.failLater("A", "b"), { code: "A", details: undefined });
  });

  it("errors raised in Rust keep an own __proto__ key in details as data", () => {
    assert.throws(
      () => hooks.failNow("A", "b", '{"__proto__":{"polluted":true}}'),
      (error) => Object.hasOwn(error.details, "__proto__") && error.details.polluted === undefined,
    );
  });
});

describe("panics in Rust", () => {
  const expected = (error) => {
    assert.ok(error instanceof CallError);
    assert.equal(error.code, "UNKNOWN_ERROR");
    assert.match(error.message, /index out of bounds/);
    assert.match(error.message, /report/);
    assert.equal(error.details.panic, "index out of bounds");
    assert.match(error.details.location, /test_hooks\.rs:\d+/);
    return true;
  };

  it("a panic in Rust becomes a CallError", () => {
    assert.throws(() => hooks.panicNow("index out of bounds"), expected);
  });

  it("a panic in Rust on another thread becomes a CallError", async () => {
    await assert.rejects(hooks.panicLater("index out of bounds"), expected);
  });

  it("panics in Rust leave the process alive and standard error clean", async () => {
    const { code, stdout, stderr } = await runModule(
      `
      import { hooks } from "./internals.mjs";
      for (let i = 0; i < 100; i++) {
        try { hooks.panicNow("again") } catch {}
        await hooks.panicLater("again").catch(() => {});
      }
      console.log("alive");
    `,
      { cwd: new URL("./support/", import.meta.url) },
    );
    assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: "alive\n", stderr: "" });
  });
});

describe("what a user's function throws", () => {
  const thrown = [
    new Error("mine"),
    new CallError("A", "b"),
    { plain: "object" },
    "a string",
    42,
    Number.NaN,
    undefined,
    null,
    true,
    10n,
    Symbol("s"),
    () => {},
    new Proxy({}, { get: () => assert.fail("nobody may look inside") }),
  ];
  for (const value of thrown) {
    it(`what a user's function throws passes through Rust unchanged: ${typeof value === "object" && value !== null ? "object" : String(value)}`, () => {
      let caught;
      let count = 0;
      try {
        hooks.callThrough(() => {
          count += 1;
          throw value;
        });
      } catch (error) {
        caught = { error };
      }
      assert.equal(count, 1);
      assert.ok(caught !== undefined && Object.is(caught.error, value));
    });
  }

  it("what a user's function returns passes through Rust", () => {
    const value = {};
    assert.equal(
      hooks.callThrough(() => value),
      value,
    );
  });
});

describe("the declarations of the addon", () => {
  const file = fileURLToPath(new URL("../facade/native-binding.ts", import.meta.url));

  // If this fails: `npm run build:dev` writes the file anew.
  it("the generated declarations have the names, parameters and results of the Rust source", () => {
    const signatures = exported(fileURLToPath(new URL("../src", import.meta.url)));
    assert.ok(signatures.includes("RedisBus.publish(string, string, string?): void"));
    assert.deepEqual(declared(file), signatures);
  });

  it("the binary was made of the current Rust source", () => {
    const isClass = (name) => /^[A-Z]/.test(name);
    const members = Object.keys(native).flatMap((name) =>
      isClass(name)
        ? Object.getOwnPropertyNames(native[name].prototype)
            .filter((member) => member !== "constructor")
            .map((member) => `${name}.${member}`)
        : name,
    );
    const names = declared(file)
      .map((line) => line.match(/^[\w.]+/)[0])
      .filter((name) => !name.endsWith(".new"));
    assert.deepEqual(members.sort(), [...new Set(names)].sort());
  });

  it("the binary was built for this version of the package", () => {
    const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
    assert.equal(runtime.version, version);
  });
});

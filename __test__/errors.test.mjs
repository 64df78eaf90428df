import assert from "node:assert/strict";
import { describe, it } from "node:test";
import vm from "node:vm";
import { CallError, InfrastructureErrorCode, mapError } from "@alkdev/operations";

describe("CallError", () => {
  it("CallError is an Error with a name, a code and details", () => {
    const error = new CallError("MY_CODE", "what happened", { a: 1 });
    assert.ok(error instanceof Error);
    assert.ok(error instanceof CallError);
    assert.equal(error.name, "CallError");
    assert.equal(error.code, "MY_CODE");
    assert.equal(error.message, "what happened");
    assert.deepEqual(error.details, { a: 1 });
    assert.equal(String(error), "CallError: what happened");
    assert.match(error.stack, /errors\.test\.mjs/);
  });

  it("CallError has undefined details unless they are given", () => {
    assert.equal(new CallError("A", "b").details, undefined);
  });

  it("CallError can be extended", () => {
    class Mine extends CallError {}
    const error = new Mine("A", "b");
    assert.ok(error instanceof Mine && error instanceof CallError);
    assert.equal(mapError(error), error);
  });
});

describe("InfrastructureErrorCode", () => {
  it("InfrastructureErrorCode holds the seven codes, each under its own name", () => {
    const codes = [
      "OPERATION_NOT_FOUND",
      "ACCESS_DENIED",
      "VALIDATION_ERROR",
      "TIMEOUT",
      "ABORTED",
      "EXECUTION_ERROR",
      "UNKNOWN_ERROR",
    ];
    assert.deepEqual(InfrastructureErrorCode, Object.fromEntries(codes.map((code) => [code, code])));
  });
});

describe("mapError", () => {
  it("mapError returns a CallError as it is, whatever is declared", () => {
    const error = new CallError("A", "B: x");
    assert.equal(mapError(error), error);
    assert.equal(mapError(error, [{ code: "B" }]), error);
  });

  it("mapError wraps any other Error in an EXECUTION_ERROR", () => {
    const thrown = new TypeError("x is not a function");
    const mapped = mapError(thrown);
    assert.ok(mapped instanceof CallError);
    assert.equal(mapped.code, "EXECUTION_ERROR");
    assert.equal(mapped.message, "x is not a function");
    assert.equal(mapped.details, thrown);
  });

  it("mapError wraps what is no Error in an UNKNOWN_ERROR", () => {
    for (const [value, text] of [
      ["text", "text"],
      [42, "42"],
      [undefined, "undefined"],
      [null, "null"],
      [{ a: 1 }, "[object Object]"],
      [Symbol("s"), "Symbol(s)"],
      [10n, "10"],
      [[1, 2], "1,2"],
    ]) {
      const mapped = mapError(value, [{ code: "text" }]);
      assert.equal(mapped.code, "UNKNOWN_ERROR");
      assert.equal(mapped.message, text);
      assert.deepEqual(mapped.details, { raw: text });
    }
  });

  it("mapError does not throw for values that cannot become a string", () => {
    const hostile = [
      Object.create(null),
      {
        toString() {
          throw new Error("no");
        },
      },
      new Proxy(
        {},
        {
          get() {
            throw new Error("no");
          },
        },
      ),
    ];
    for (const value of hostile) {
      const mapped = mapError(value);
      assert.equal(mapped.code, "UNKNOWN_ERROR");
      assert.equal(typeof mapped.message, "string");
      assert.deepEqual(mapped.details, { raw: mapped.message });
    }
  });

  it("mapError treats an error of another realm as an Error", () => {
    const foreign = vm.runInNewContext("new RangeError('from elsewhere')");
    const mapped = mapError(foreign);
    assert.equal(mapped.code, "EXECUTION_ERROR");
    assert.equal(mapped.message, "from elsewhere");
    assert.equal(mapped.details, foreign);
  });

  it("mapError survives an Error whose message is hostile", () => {
    const error = new Error("x");
    Object.defineProperty(error, "message", {
      get() {
        throw new Error("no");
      },
    });
    assert.equal(mapError(error).code, "EXECUTION_ERROR");
    const odd = new Error("x");
    odd.message = { toString: () => "odd" };
    assert.equal(mapError(odd).message, "odd");
  });
});

describe("a declared code is recognised by the message of an error", () => {
  const cases = [
    ["NOT_FOUND", ["NOT_FOUND"], "NOT_FOUND"],
    ["NOT_FOUND: no such task", ["NOT_FOUND"], "NOT_FOUND"],
    ["NOT_FOUND:no space", ["NOT_FOUND"], "NOT_FOUND"],
    ["task NOT_FOUND", ["NOT_FOUND"], "EXECUTION_ERROR"],
    ["NOT_FOUND_AT_ALL", ["NOT_FOUND"], "EXECUTION_ERROR"],
    ["NOT_FOUND - no such task", ["NOT_FOUND"], "EXECUTION_ERROR"],
    ["NOT_FOUND_AT_ALL: really", ["NOT_FOUND", "NOT_FOUND_AT_ALL"], "NOT_FOUND_AT_ALL"],
    ["not_found", ["NOT_FOUND"], "EXECUTION_ERROR"],
    [" NOT_FOUND", ["NOT_FOUND"], "EXECUTION_ERROR"],
    ["A:B: both are declared", ["A:B", "A"], "A:B"],
    ["A:B: the first one wins", ["A", "A:B"], "A"],
    ["anything", [], "EXECUTION_ERROR"],
    ["", ["NOT_FOUND"], "EXECUTION_ERROR"],
    ["Zeit überschritten: später", ["Zeit überschritten"], "Zeit überschritten"],
  ];
  for (const [message, declared, code] of cases) {
    it(`an error message ${JSON.stringify(message)} with declared ${JSON.stringify(declared)} is ${code}`, () => {
      const thrown = new Error(message);
      const errorSchemas = declared.map((each) => ({ code: each }));
      const mapped = mapError(thrown, errorSchemas);
      assert.deepEqual([mapped.code, mapped.message], [code, message]);
      assert.equal(mapped.details, thrown);
    });
  }
});

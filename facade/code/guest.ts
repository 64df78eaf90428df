// What runs in the machine before the program: the functions that a program sees. Text, because the machine is QuickJS. It keeps the
// built-ins that it uses, so that a program which changes `JSON` or `Promise` changes them for itself only.

/** An expression: a function of the host's function and of what the program may use. Its value settles calls and starts programs. */
export const GUEST = `((host, offered) => {
  "use strict";
  const { parse, stringify } = JSON, { freeze, defineProperty, create, keys } = Object;
  const ObjectOf = Object, PromiseOf = Promise, ErrorOf = Error, TypeErrorOf = TypeError, text = String, ProxyOf = Proxy;
  const { apply } = Reflect, { then } = PromiseOf.prototype, { asyncIterator } = Symbol, global = globalThis;
  // In a stack, a program would find the functions below, and the host's through them.
  defineProperty(ErrorOf, "prepareStackTrace", { value: undefined });
  const pending = create(null);
  let last = 0, ended = false;
  // Without a prototype, so that a toJSON of the program's has no say in what a message is.
  const send = (type, n, message) => {
    let line;
    try { line = stringify({ __proto__: null, ...message }); }
    catch (error) { throw new TypeErrorOf("The input cannot be written as JSON: " + (error && error.message)); }
    host(type, text(n), line);
  };
  const request = (type, message) =>
    new PromiseOf((resolve, reject) => {
      const n = (last += 1);
      send(type, n, message);
      pending[n] = { __proto__: null, resolve, reject };
    });
  class OperationError extends ErrorOf {
    constructor({ code, message, details }) {
      super(message);
      defineProperty(this, "name", { value: "CallError", configurable: true });
      this.code = code;
      if (details !== undefined) this.details = details;
    }
  }
  const dataOf = ({ data, meta }) => {
    if (meta && meta.source === "mcp" && meta.isError === true) {
      throw new OperationError({ code: "TOOL_ERROR", message: "The tool reported an error", details: { content: meta.content } });
    }
    return data;
  };
  const same = (envelope) => envelope;
  const streamOf = (id, input, read) => {
    let stream, done = false;
    return {
      async next() {
        if (done) return { value: undefined, done };
        if (stream === undefined) send("open", (stream = last += 1), { id, input });
        try {
          const event = await request("next", { stream });
          done = event === null;
          return { value: done ? undefined : read(event), done };
        } catch (error) { done = true; throw error; }
      },
      async return(value) {
        if (stream !== undefined && !done) send("return", stream);
        done = true;
        return { value, done };
      },
      [asyncIterator]() { return this; },
    };
  };
  const functionOf = ({ id, isStream, description }) => {
    const make = (read) => isStream
      ? (input) => streamOf(id, input, read)
      : (input) => apply(then, request("call", { id, input }), [read]);
    const call = make(dataOf);
    const use = isStream ? "for await (const event of operations[" + stringify(id) + "](input))" : "await operations[" + stringify(id) + "](input)";
    const shown = () => "[operation " + id + (description ? ": " + description : "") + ". Use: " + use + ". Its types: (await describe(" + stringify(id) + ")).signature]";
    for (const [name, value] of [["envelope", make(same)], ["toString", shown], ["toJSON", shown], ["name", id]]) defineProperty(call, name, { value });
    return freeze(call);
  };
  const SILENT = { __proto__: null, then: 1, toJSON: 1, constructor: 1, toString: 1, valueOf: 1, default: 1 };
  const operations = create(null), spaces = create(null);
  const guarded = (members, what, prefix) => new ProxyOf(freeze(members), {
    get(target, name) {
      if (typeof name !== "string" || name in target || name in SILENT) return name === "toString" ? () => what : target[name];
      if (prefix === "" && name in spaces) return spaces[name];
      throw new TypeErrorOf(what + " has no operation " + stringify(name) + ". " + host("nearest", "0", prefix + name));
    },
  });
  for (const operation of offered) {
    const call = (operations[operation.id] = functionOf(operation));
    // A namespace with a \`then\` would be taken for a promise. Its id reaches it.
    if (operation.name !== "then") (spaces[operation.namespace] ??= create(null))[operation.name] = call;
  }
  for (const name of keys(spaces)) spaces[name] = guarded(spaces[name], name, name + ".");
  const format = (value) => {
    if (typeof value === "string") return value;
    if (typeof value === "function") return text(value);
    if (value instanceof ErrorOf) return text(value.stack ? value + "\\n" + value.stack : value);
    try { return stringify(value) ?? text(value); } catch { return text(value); }
  };
  const console = create(null);
  for (const level of ["debug", "info", "log", "warn", "error"]) {
    console[level] = (...values) => {
      let line = "";
      for (let at = 0; at < values.length; at++) line += (at ? " " : "") + format(values[at]);
      send("log", 0, { level: level === "log" ? "info" : level, text: line });
    };
  }
  const add = (name, value) => defineProperty(global, name, { value, configurable: true, writable: true });
  add("operations", guarded(operations, "operations", ""));
  add("search", (query, options) => request("search", { query, options }));
  add("describe", (id) => request("describe", { id: typeof id === "function" ? id.name : id }));
  add("console", console);
  for (const name of keys(spaces)) if (!(name in global) && name !== "input") add(name, spaces[name]);
  const finish = (type, line) => { if (!ended) host(type, "0", line); ended = true; };
  const failed = (error) => {
    const read = (name) => { try { return ObjectOf(error) === error ? error[name] : undefined; } catch { return undefined; } };
    const textOf = (value) => { try { return value === undefined ? undefined : text(value); } catch { return undefined; } };
    const message = textOf(read("message")) ?? textOf(error) ?? "an error that cannot be read", code = read("code");
    const short = { __proto__: null, code: typeof code === "string" ? code : undefined, name: textOf(read("name")), message, stack: textOf(read("stack")) };
    let line = stringify(short);
    try { line = stringify({ __proto__: null, ...short, details: read("details") }); } catch {}
    finish("failed", line);
  };
  const completed = (value) => {
    let line;
    try {
      line = stringify(value);
      if (line === undefined && value !== undefined) throw new TypeErrorOf("it is a " + typeof value);
    } catch (error) {
      return failed(new TypeErrorOf("The value of the program cannot be written as JSON: " + (error && error.message)));
    }
    finish("completed", line ?? "");
  };
  return freeze({
    settle(line) {
      const { n, error, value } = parse(line);
      const waiting = pending[n];
      delete pending[n];
      if (waiting === undefined) return;
      if (error !== undefined) waiting.reject(new OperationError(error));
      else waiting.resolve(value);
    },
    start(program, isModule, input) {
      const given = input === undefined ? undefined : parse(input);
      add("input", given);
      const valueOf = (exports) => typeof exports.default === "function" ? exports.default(given) : exports.default;
      const main = async () => completed(await (isModule ? valueOf(await program) : program()));
      apply(then, main(), [undefined, failed]);
    },
  });
})`;

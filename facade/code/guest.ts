// What runs in the machine before the program: the functions that a program sees. Text, because the machine is QuickJS. It keeps the
// built-ins that it uses, so that a program which changes `JSON` or `Promise` changes them for itself only.

/** An expression: a function of the host's function and of what the program may use. Its value settles calls and starts programs. */
export const GUEST = `((host, offered) => {
  "use strict";
  const { parse, stringify } = JSON, { freeze, defineProperty, create, keys } = Object;
  const PromiseOf = Promise, ErrorOf = Error, TypeErrorOf = TypeError, text = String, ProxyOf = Proxy, listOf = Array.isArray;
  const { apply } = Reflect, { then } = PromiseOf.prototype, { asyncIterator } = Symbol, global = globalThis;
  const pending = create(null);
  let last = 0, ended = false;
  const send = (message) => host(stringify(message));
  const request = (message) =>
    new PromiseOf((resolve, reject) => {
      const n = (last += 1);
      let line;
      try { line = stringify({ __proto__: null, ...message, n }); }
      catch (error) { throw new TypeErrorOf("The input cannot be written as JSON: " + (error && error.message)); }
      pending[n] = { resolve, reject };
      host(line);
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
  const plain = (promise, read) => apply(then, promise, [read]);
  const streamOf = (id, input, read) => {
    let stream, done = false;
    const end = { value: undefined, done: true };
    return {
      async next() {
        if (done) return end;
        stream ??= send({ t: "stream", id, input });
        try {
          const event = await request({ t: "next", stream: text(stream) });
          if (event === null) done = true;
          return event === null ? end : { value: read(event), done: false };
        } catch (error) { done = true; throw error; }
      },
      async return(value) {
        if (stream !== undefined && !done) send({ t: "return", stream: text(stream) });
        done = true;
        return { value, done: true };
      },
      [asyncIterator]() { return this; },
    };
  };
  const functionOf = ({ id, isStream, description }) => {
    const make = (read) => isStream
      ? (input) => streamOf(id, input, read)
      : (input) => plain(request({ t: "call", id, input }), read);
    const call = make(dataOf);
    const use = isStream ? "for await (const event of operations[" + stringify(id) + "](input))" : "await operations[" + stringify(id) + "](input)";
    const shown = () => "[operation " + id + (description ? ": " + description : "") + ". Use: " + use + ". Its types: (await describe(" + stringify(id) + ")).signature]";
    for (const [name, value] of [["envelope", make(same)], ["toString", shown], ["toJSON", shown], ["name", id]]) defineProperty(call, name, { value });
    return freeze(call);
  };
  const SILENT = { __proto__: null, then: 1, toJSON: 1, constructor: 1, toString: 1, valueOf: 1, default: 1 };
  const guarded = (members, what, prefix) => new ProxyOf(freeze(members), {
    get(target, name) {
      if (typeof name !== "string" || name in target || name in SILENT) return name === "toString" ? () => what : target[name];
      throw new TypeErrorOf(what + " has no operation " + stringify(name) + ". " + host(stringify({ t: "nearest", name: prefix + name })));
    },
  });
  const operations = create(null), spaces = create(null);
  for (const operation of offered) {
    const call = (operations[operation.id] = functionOf(operation));
    (spaces[operation.namespace] ??= create(null))[operation.name] = call;
  }
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
      send({ t: "log", level: level === "log" ? "info" : level, text: line });
    };
  }
  const add = (name, value) => defineProperty(global, name, { value, configurable: true, writable: true });
  add("operations", guarded(operations, "operations", ""));
  add("search", (query, options) => request({ t: "search", query, options }));
  add("describe", (id) => request({ t: "describe", id: typeof id === "function" ? id.name : id }));
  add("console", console);
  for (const name of keys(spaces)) if (!(name in global) && name !== "input") add(name, guarded(spaces[name], name, name + "."));
  const finish = (message) => { if (!ended) { ended = true; host(stringify(message)); } };
  const failed = (error) => {
    const read = (name) => { try { return error[name]; } catch { return undefined; } };
    const isObject = typeof error === "object" && error !== null;
    const code = isObject ? read("code") : undefined, name = isObject ? read("name") : undefined, details = isObject ? read("details") : undefined;
    let message = isObject ? read("message") : undefined;
    try { message = text(message ?? error); } catch { message = "an error that cannot be read"; }
    const unknown = /^'?([\\w$]+)'? is not defined$/.exec(message);
    const short = { t: "failed", code: typeof code === "string" ? code : undefined, name: typeof name === "string" ? name : undefined, message, unknown: unknown ? unknown[1] : undefined };
    try { finish({ ...short, stack: isObject ? text(read("stack") ?? "") : undefined, details }); } catch { finish(short); }
  };
  const completed = (value) => {
    let line;
    try {
      line = stringify(value);
      if (line === undefined && value !== undefined) throw new TypeErrorOf("it is a " + typeof value);
    } catch (error) {
      return failed(new TypeErrorOf("The value of the program cannot be written as JSON: " + (error && error.message)));
    }
    finish({ t: "completed", json: line });
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
      const main = async () => completed(await (isModule ? valueOf(await program) : program(given)));
      apply(then, main(), [undefined, failed]);
    },
  });
})`;

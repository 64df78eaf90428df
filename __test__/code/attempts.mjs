// What hostile programs try, for attacks.test.mjs. Each names what it reaches for and has the only result that it may have.

/** Reaching for the host: the program's value must be this one. */
export const REACH = {
  "the process, by the constructor of an operation": [
    "return demo.double.constructor('return typeof process')()",
    "undefined",
  ],
  "the process, by the constructor of asynchronous functions": [
    "return await Object.getPrototypeOf(async () => {}).constructor('return typeof process')()",
    "undefined",
  ],
  "the process, by the constructor of generators": [
    "return [...Object.getPrototypeOf(function* () {}).constructor('yield typeof process')()]",
    ["undefined"],
  ],
  "the process, by the constructor of a result": [
    "return (await demo.echo({})).constructor.constructor('return typeof process')()",
    "undefined",
  ],
  "the process, by the constructor of an error of a call": [
    "return await demo.fail({}).catch((error) => error.constructor.constructor('return typeof process')())",
    "undefined",
  ],
  "the process, by the promise of a call": [
    "return demo.double({ n: 1 }).constructor.constructor('return typeof process + typeof require')()",
    "undefinedundefined",
  ],
  "the process, by eval": [
    "return (0, eval)('typeof process + typeof require + typeof module')",
    "undefined".repeat(3),
  ],
  "the process, by a getter that the host reads": [
    "const seen = []; await demo.echo({ get a() { seen.push(typeof process, this === globalThis); return 1 } }); return seen",
    ["undefined", false],
  ],
  "modules of Node": ["return await import('node:fs').then(() => 'in', () => 'out')", "out"],
  "modules of QuickJS": [
    "return await Promise.all(['std', 'os', 'qjs:std', 'qjs:os', 'bjson'].map((name) => import(name).then(() => 'in', () => 'out')))",
    ["out", "out", "out", "out", "out"],
  ],
  "modules of a path": [
    "return await Promise.all(['/etc/passwd', './x.js', 'file:///etc/hosts', 'data:text/javascript,1'].map((name) => import(name).then(() => 'in', () => 'out')))",
    ["out", "out", "out", "out"],
  ],
  "globals of the host and of other engines": [
    "return ['process', 'require', 'module', 'Buffer', 'global', 'fetch', 'setTimeout', 'setInterval', 'setImmediate', 'WebAssembly', 'Atomics', 'Worker', 'std', 'os', 'bjson', 'scriptArgs', 'print', 'gc', 'load', '__loadScript', 'navigator', 'host'].filter((name) => name in globalThis)",
    [],
  ],
  "the host's function, by this": ["return typeof (function () { return this.host })()", "undefined"],
  "the host's function, by breaking out of the wrapper": [
    "}); globalThis.found = [typeof host, typeof pending, typeof offered, typeof send]; (async () => { return found",
    ["undefined", "undefined", "undefined", "undefined"],
  ],
  "functions in a stack": [
    "let seen = 'nothing'; Error.prepareStackTrace = (_, frames) => { seen = frames.map((frame) => typeof frame.getFunction?.()) }; try { operations.nix } catch (error) { void error.stack } return seen",
    "nothing",
  ],
  "functions in a captured stack": [
    "let seen = 'nothing'; Error.prepareStackTrace = (_, frames) => { seen = frames }; const o = {}; Error.captureStackTrace(o); void o.stack; return typeof seen",
    "string",
  ],
  "the caller of a getter": [
    "let got; await demo.echo({ get a() { try { got = typeof Object.getOwnPropertyDescriptor(this, 'a').get.caller } catch { got = 'out' } return 1 } }); return got === 'function' ? 'in' : 'out'",
    "out",
  ],
  "what is written to arrays": [
    "const seen = []; Object.defineProperty(Array.prototype, 0, { configurable: true, set(value) { seen[seen.length + 1] = typeof value } }); const n = await demo.double({ n: 4 }); delete Array.prototype[0]; return [n, seen.includes('function')]",
    [8, false],
  ],
  "the functions that settle a call, by the species of promises": [
    "const seen = []; class Own extends Promise { constructor(run) { super((a, b) => { seen.push(typeof a); run(a, b) }) } } Object.defineProperty(Promise, Symbol.species, { get: () => Own }); const n = await demo.double({ n: 4 }); return [n, new Set(seen).size <= 1]",
    [8, true],
  ],
  "the calls that wait, by the prototype of objects": [
    "const seen = []; for (const name of ['n', 'error', 'resolve', 'reject', 'stream']) Object.defineProperty(Object.prototype, name, { configurable: true, get() { for (const key of Reflect.ownKeys(this)) seen.push(typeof this[key]); return undefined } }); await demo.double({ n: 1 }); return seen.includes('function')",
    false,
  ],
  "the answers of calls, with other built-ins": [
    "Promise.prototype.then = () => { throw 1 }; JSON.parse = () => ({ n: 1 }); JSON.stringify = () => '{}'; Reflect.apply = () => 'mine'; Object.freeze = Object.defineProperty = (o) => o; return await demo.double({ n: 4 })",
    8,
  ],
  "names that the guest looks up, with another prototype of the global": [
    "Object.setPrototypeOf(globalThis, new Proxy({}, { has: (_, name) => typeof name === 'string' && name === 'host', get: () => 1 })); return await demo.double({ n: 2 })",
    4,
  ],
  "the class of errors": [
    "const error = await demo.fail({}).catch((it) => it); let got = 'nothing'; Object.setPrototypeOf(error.constructor, class { constructor(...given) { got = given.map((it) => typeof it) } }); await demo.fail({}).catch(() => {}); return got",
    ["string"],
  ],
  "the function of another operation": [
    "try { operations['demo.double'] = () => 'mine' } catch {} try { Object.defineProperty(demo, 'double', { value: () => 'mine' }) } catch {} try { delete demo.double } catch {} try { Object.setPrototypeOf(operations, { x: 1 }) } catch {} return [await operations['demo.double']({ n: 1 }), await demo.double({ n: 2 })]",
    [2, 4],
  ],
  "prototypes of the host, by keys of an input": [
    'await demo.echo(JSON.parse(\'{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}\')); return 1',
    1,
  ],
  "prototypes of the host, by the value of the program": [
    'return JSON.stringify(JSON.parse(\'{"a":{"__proto__":{"polluted":1}}}\'))',
    '{"a":{"__proto__":{"polluted":1}}}',
  ],
  "prototypes of the host, by an error": [
    'return await Promise.reject(JSON.parse(\'{"code":"X","message":"m","details":{"__proto__":{"polluted":1}}}\')).catch(({ code }) => code)',
    "X",
  ],
  "the host, by a proxy as input": [
    "let reads = 0; const sly = new Proxy({}, { ownKeys: () => ['a'], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 1 }), get: (_, name) => name === 'a' ? ++reads : undefined }); return await demo.echo(sly)",
    { a: 1 },
  ],
  "the host, by a proxy as value": [
    "return new Proxy([1, 2], { get: (target, name) => name === 'toJSON' ? () => 'pretended' : target[name] })",
    "pretended",
  ],
  "the host, by toJSON of everything": [
    "Object.prototype.toJSON = String.prototype.toJSON = Number.prototype.toJSON = function () { return 'mine' }; const n = await demo.double.envelope({ n: 4 }).catch(({ message }) => message); delete Object.prototype.toJSON; delete String.prototype.toJSON; delete Number.prototype.toJSON; return typeof n",
    "object",
  ],
  "two answers, by a thenable": ["return { then(resolve) { resolve(1); resolve(2); throw 3 } }", 1],
  "another answer, after the end": [
    "const held = { n: 1 }; (async () => { for (let i = 0; i < 50; i++) await null; held.n = 2; console.log('late') })(); return held",
    { n: 1 },
  ],
  "the host, by symbols": [
    "return await demo.echo({ [Symbol.toPrimitive]: () => 1, [Symbol.iterator]: () => 1, [Symbol.toStringTag]: 'process', a: Symbol('x') })",
    {},
  ],
  "operations that are not there, by names of objects": [
    "return ['__proto__', 'constructor', 'toString', 'valueOf', 'hasOwnProperty', '__defineGetter__'].map((name) => { try { return typeof operations[name] + typeof demo[name] } catch { return 'out' } })",
    ["out", "undefinedundefined", "functionfunction", "undefinedundefined", "out", "out"],
  ],
  "operations that are not there, by their prototype": [
    "return [Object.getPrototypeOf(operations), Object.getPrototypeOf(demo)]",
    [null, null],
  ],
  "a debugger, or the source of the host": [
    "debugger; return demo.double.toString().includes('operation demo.double')",
    true,
  ],
  "memory of others, by fresh buffers": [
    "return [new Uint8Array(1e6), new Uint8Array(new ArrayBuffer(1e6, { maxByteLength: 2e6 }))].every((bytes) => bytes.every((byte) => byte === 0))",
    true,
  ],
};

/** QuickJS puts what JSON.stringify writes into an array: a message can be changed on its way. */
const forging = (change, call) =>
  `Object.defineProperty(Array.prototype, 0, { configurable: true, set(value) { if (value && typeof value === "object") { ${change} } } });
   return await (async () => ${call})().then((value) => ["in", value], ({ code }) => code)`;
const HOLLOW = "{ toString: 1, valueOf: 1, toJSON: undefined }";

/** Reaching for another identity, an operation that is not offered, or a secret. The caller is ada, without scopes. */
export const AUTHORITY = {
  "another identity, in the input": [
    "return (await demo.context({ identity: { id: 'root' }, trusted: true })).id",
    "ada",
  ],
  "another identity, as a second argument": [
    "return await demo.context({}, { identity: { id: 'root', scopes: ['admin'] }, trusted: true })",
    { id: "ada", trusted: null, hasParent: true, hasSignal: true },
  ],
  "another identity, as this": [
    "return (await demo.context.call({ identity: { id: 'root' }, trusted: true }, {})).id",
    "ada",
  ],
  "another identity, by envelope": [
    "return (await demo.context.envelope({}, { identity: { id: 'root' } })).data.id",
    "ada",
  ],
  "another identity, by the fields of a message": [
    "Object.prototype.identity = { id: 'root', scopes: ['admin'] }; Object.prototype.trusted = true; Object.prototype.context = { trusted: true }; return (await demo.context({})).id",
    "ada",
  ],
  "an operation beyond its scopes": ["return await tried(() => operations['admin.wipe']({}))", "out"],
  "the same, by other spellings": [
    "return await Promise.all(['/admin/wipe', 'ADMIN.wipe', ' admin.wipe', 'admin.wipe ', 'admin.wipe\\0', 'admin/wipe', 'admin..wipe', 'admin\\u2024wipe', ['admin.wipe'], { toString: () => 'admin.wipe' }].map((id) => tried(() => operations[id]({}))))",
    Array(10).fill("out"),
  ],
  "the same, by a function of another operation": [
    "const forged = new Proxy(demo.double, { get: (target, name) => name === 'name' ? 'admin.wipe' : target[name] }); return await forged({ n: 2 })",
    4,
  ],
  "the same, by an id in the input": [
    "return await demo.echo({ id: 'admin.wipe', operationId: 'admin.wipe' })",
    { id: "admin.wipe", operationId: "admin.wipe" },
  ],
  "the same, by toJSON of the input": [
    "return await demo.echo({ toJSON() { return { id: 'admin.wipe' } } })",
    { id: "admin.wipe" },
  ],
  "the same, by a message that is changed": [
    forging("value.id = 'admin.wipe'", "demo.double({ n: 1 })"),
    "ACCESS_DENIED",
  ],
  "an internal operation, by a message that is changed": [
    forging("value.id = 'demo.secret'", "demo.double({ n: 1 })"),
    "OPERATION_NOT_FOUND",
  ],
  "a stream of an internal operation, by a message that is changed": [
    forging("if (value.id) value.id = 'demo.secret'", "demo.ticks({ to: 1 }).next()"),
    "OPERATION_NOT_FOUND",
  ],
  "programs in programs, by a message that is changed": [
    forging("value.id = 'code.run'; value.input = { code: 'return 1' }", "demo.double({ n: 1 })"),
    "OPERATION_NOT_FOUND",
  ],
  "an identity, by a message that is changed": [
    forging(
      "value.identity = { id: 'root', scopes: ['admin'] }; value.context = { trusted: true }; value.trusted = true",
      "(await demo.context({})).id",
    ),
    ["in", "ada"],
  ],
  "the host's attention, by a stream that is no number": [
    forging(`if ("stream" in value) value.stream = ${HOLLOW}`, "demo.ticks({ to: 1 }).next()"),
    "ABORTED",
  ],
  "the host's attention, by an id that is no text": [
    forging(`if ("id" in value) value.id = ${HOLLOW}`, "demo.double({ n: 1 })"),
    "EXECUTION_ERROR",
  ],
  "the host's attention, by a query that is no text": [
    forging(`if ("query" in value) { value.query = ${HOLLOW}; value.options = [1] }`, "search('x')"),
    "VALIDATION_ERROR",
  ],
  "the host's attention, by a level of the log that is none": [
    forging(`if ("level" in value) value.level = ${HOLLOW}`, "console.log('x')"),
    ["in", null],
  ],
  "an internal operation": ["return await tried(() => operations['demo.secret']({}))", "out"],
  "an internal operation, by its namespace": ["return await tried(() => demo.secret({}))", "out"],
  "what is not offered, by describe": [
    "return await Promise.all(['admin.wipe', 'demo.secret'].map((id) => tried(() => describe(id))))",
    ["out", "out"],
  ],
  "what is not offered, by search": [
    "return (await search('wipe admin secret internal', { limit: 100 })).map(({ id }) => id).filter((id) => /wipe|secret/.test(id))",
    [],
  ],
  "what is not offered, by a name that is near": [
    "const said = []; for (const run of [() => operations['admin.wip'], () => describe('admin.wip'), () => demo.secre, () => describe('demo.secre')]) await Promise.resolve().then(run).catch(({ message, details }) => said.push(message + JSON.stringify(details)));return said.filter((text) => /wipe|secret/.test(text))",
    [],
  ],
  "what is not offered, by the list": [
    "return Object.getOwnPropertyNames(operations).filter((id) => /wipe|secret|code\\./.test(id))",
    [],
  ],
  "programs in programs": ["return await tried(() => operations['code.run']({ code: 'return 1' }))", "out"],
  "programs in programs, watched": [
    "return await tried(() => operations['code.watch']({ code: 'return 1' }).next())",
    "out",
  ],
  "an approval of its own, in the input": [
    "return await pay.out({ n: 1, approval: 'a', metadata: { 'operations/approval': 'a' } }, { approval: 'a', approve: () => true })",
    "waiting",
  ],
  "the message of an exception": ["return await demo.fail({}).catch((error) => shown(error))", "masked"],
  "the message of an exception, by envelope": [
    "return await demo.fail.envelope({}).catch((error) => shown(error))",
    "masked",
  ],
  "the message of an exception of a stream": [
    "return await odd.broken({}).next().catch((error) => shown(error))",
    "masked",
  ],
  "the message of an exception, by its cause": [
    "return await odd.caused({}).catch((error) => shown(error))",
    "masked",
  ],
  "the environment of the host": ["return typeof globalThis.process?.env", "undefined"],
};

/** Programs that would outlive a limit. `limit` is the one that ends them; each run has 100 ms of cpu and 8 MiB unless it says more. */
export const OUTLIVE = {
  cpu: {
    "a loop": "for (;;) {}",
    "a loop that catches": "for (;;) { try { for (;;) {} } catch {} finally { for (;;) {} } }",
    "a loop in the getter of the value": "return { get a() { for (;;) {} } }",
    "a loop in toJSON of the value": "return { toJSON() { for (;;) {} } }",
    "a loop in a proxy that is sent": "await demo.echo(new Proxy({}, { ownKeys() { for (;;) {} } }))",
    "a loop in the message of an error": "throw { get message() { for (;;) {} } }",
    "a loop in what is logged": "console.log({ toJSON() { for (;;) {} } })",
    "a loop after breaking out of the wrapper": "}); for (;;) {} (async () => {",
    "a loop at the top of a module": "export default 1; for (;;) {}",
    "a loop in eval": "eval('for (;;) {}')",
    "a loop in new Function": "new Function('for (;;) {}')()",
    "a loop in a comparison": "[3, 1, 2].sort(() => { for (;;) {} })",
    "a loop in a replacement": "'aaa'.replace(/a/g, () => { for (;;) {} })",
    "a loop in a reviver": "JSON.parse('[1]', () => { for (;;) {} })",
    "a loop in a class": "class A { static { for (;;) {} } }",
    "an iterator without an end": "Math.max(...{ *[Symbol.iterator]() { for (;;) yield* [] } })",
    "an asynchronous iterator without an end":
      "for await (const n of { [Symbol.asyncIterator]: () => ({ next: async () => ({ value: 1 }) }) });",
    "microtasks without an end":
      "const turn = () => { Promise.resolve().then(turn) }; turn(); await new Promise(() => {})",
    "asynchronous recursion": "const turn = async () => { for (;;) await null }; await turn()",
    "thenables without an end": "return { then(resolve) { resolve(this) } }",
    "a regular expression": "/(a+)+$/.test('a'.repeat(60) + 'b')",
    "a regular expression that looks ahead": "/^(?=(a+)+$)/.test('a'.repeat(60) + 'b')",
    "join, which does not look up": "for (;;) new Array(2 ** 31).join()",
    "reverse, which does not look up": "for (;;) Array.prototype.reverse.call({ length: 2 ** 52 })",
    "copyWithin, which does not look up": "Array.prototype.copyWithin.call({ length: 2 ** 52 }, 1, 0)",
    "indexOf, which does not look up": "Array.prototype.indexOf.call({ length: 2 ** 52 }, 1)",
    "trim, in a loop": "const blank = ' '.repeat(1e6) + 'x'; for (;;) blank.trim()",
    "large numbers": "let n = 3n; for (;;) n = n * n % (2n ** 60000n)",
    "errors that are caught": "for (;;) { try { null.x } catch {} }",
    "recursion that is caught": "const down = () => { try { down() } finally { down() } }; down()",
  },
  memory: {
    arrays: "const all = []; for (;;) all.push(new Array(1000).fill(0))",
    "arrays, where errors are caught":
      "const all = []; for (;;) { try { all.push(new Array(1000).fill(0)) } catch {} }",
    strings: "const all = []; for (;;) all.push('x'.repeat(1e5) + all.length)",
    "shared buffers": "const all = []; for (;;) all.push(new SharedArrayBuffer(1e6))",
    "typed arrays": "const all = []; for (;;) all.push(new Float64Array(1e5))",
    maps: "const all = new Map(); for (let n = 0; ; n++) all.set(n, { n })",
    promises: "const all = []; for (;;) all.push(new Promise(() => {}).then(() => {}))",
    matches: "const all = []; const text = 'ab'.repeat(1e4); for (;;) all.push(text.match(/a/g))",
    functions: "const all = []; for (;;) all.push(new Function('return ' + all.length))",
    errors: "const all = []; for (;;) all.push(new Error('x'.repeat(1e4)))",
    "inputs that wait":
      "for (let n = 0; n < 100; n++) demo.never({ text: 'x'.repeat(1e6) + n }); await demo.never({})",
  },
  calls: {
    calls: "for (;;) { try { await demo.double({ n: 1 }) } catch {} }",
    "calls side by side":
      "await Promise.allSettled(Array.from({ length: 1e5 }, (_, n) => demo.double({ n })))",
    searches: "for (;;) await search('double')",
    descriptions: "for (;;) await describe('demo.double')",
    "descriptions of nothing": "for (;;) await describe('nothing').catch(() => {})",
    streams: "for (;;) await demo.ticks({ to: 1 }).next()",
    "streams that stay open": "const all = []; for (;;) all.push(await odd.open({}).next())",
    "requests of one stream": "const stream = odd.open({}); for (;;) stream.next()",
  },
  logs: {
    lines: "for (;;) console.log('x'.repeat(100))",
    "empty lines": "for (;;) console.log()",
    "lines, where errors are caught": "for (;;) { try { console.error('x') } catch {} }",
    "one long line": "console.log('x'.repeat(1e6)); for (;;) await null",
  },
  time: {
    "a call that never ends": "await demo.never({})",
    "calls that never end, where errors are caught": "for (;;) { try { await demo.never({}) } catch {} }",
    "a stream without an end": "for await (const n of odd.open({}));",
  },
  output: {
    "a long text": "return 'x'.repeat(1e6)",
    "a wide object": "return Object.fromEntries(Array.from({ length: 1e5 }, (_, n) => ['key' + n, n]))",
    "the message of an error": "throw new Error('x'.repeat(1e6))",
    "the details of an error": "throw { code: 'X', message: 'm', details: 'x'.repeat(1e6) }",
    "the code of an error": "throw { code: 'x'.repeat(1e6) }",
    "characters of many bytes": "return '\\u{1F600}'.repeat(1e5)",
  },
  source: { "a long program": `return ${"1 + ".repeat(1e5)}1` },
};

/** Programs that end by themselves, and what they end with. */
export const END = {
  "a promise that is never settled": ["await new Promise(() => {})", "PROGRAM_ERROR"],
  "a thenable that is never settled": ["return { then() {} }", "PROGRAM_ERROR"],
  "a module that waits for nothing": ["export default await new Promise(() => {})", "PROGRAM_ERROR"],
  "an error without a prototype": ["throw Object.create(null)", "PROGRAM_ERROR"],
  "an error that is a symbol": ["throw Symbol('x')", "PROGRAM_ERROR"],
  "an error that is a proxy which throws": ["throw new Proxy({}, { get() { throw 1 } })", "PROGRAM_ERROR"],
  "an error that throws when it is read": [
    "throw { message: { toString() { throw 1 } }, get code() { throw 2 } }",
    "PROGRAM_ERROR",
  ],
  "an error whose details are a circle": [
    "const error = new Error('x'); error.details = error; throw error",
    "PROGRAM_ERROR",
  ],
  "a value that is a function": ["return () => 1", "PROGRAM_ERROR"],
  "a value that is a symbol": ["return Symbol('x')", "PROGRAM_ERROR"],
  "a value that is a large number": ["return 1n", "PROGRAM_ERROR"],
  "a value that is a circle": ["const a = []; a.push(a); return a", "PROGRAM_ERROR"],
  "a value that is too deep": [
    "let a = []; for (let i = 0; i < 3e4; i++) a = [a]; return a",
    "PROGRAM_ERROR",
  ],
  "a text that is too deep to read": ["JSON.parse('['.repeat(1e6))", "PROGRAM_ERROR"],
  "a program that is too deep to read": [`return ${"(".repeat(5e4)}1${")".repeat(5e4)}`, "SYNTAX_ERROR"],
  "types that are too deep to remove": [
    `let a: ${"(".repeat(5e4)}number${")".repeat(5e4)} = 1`,
    "SYNTAX_ERROR",
  ],
  recursion: ["const down = () => down() + 1; down()", "PROGRAM_ERROR"],
  "one allocation beyond all": ["new ArrayBuffer(2 ** 31)", "PROGRAM_ERROR"],
  "a descriptor of its own": [
    "Object.prototype.get = 1; await demo.fail({})",
    /PROGRAM_ERROR|EXECUTION_ERROR/,
  ],
  "no program": ["return (", "SYNTAX_ERROR"],
  "characters without a meaning": ["return '\\ud800\u0000' + \u0000", "SYNTAX_ERROR"],
};

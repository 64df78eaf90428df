// biome-ignore-all lint/suspicious/noTemplateCurlyInString: template marks in ordinary strings are what is tested.

// Names, texts, patterns and formats to draw from: ordinary ones, and those that go wrong in code that is
// written by code.

export const PLAIN_NAMES = ["a", "b", "c", "id", "name", "kind", "value", "items", "x1", "snake_case"];

/** Names that live on `Object.prototype`: they count as own properties only. */
export const PROTOTYPE_NAMES = ["__proto__", "constructor", "toString", "valueOf", "hasOwnProperty"];

export const HOSTILE_NAMES = [
  "",
  " ",
  "0",
  "1",
  "007",
  "-1",
  "1.5",
  "length",
  "prototype",
  "default",
  "class",
  "await",
  "a-b",
  "a/b",
  "a~b",
  "a.b",
  "a b",
  'say "hi"',
  "it's",
  "back`tick",
  "back\\slash",
  "${globalThis.trap()}",
  "*/ globalThis.trap() /*",
  "new\nline",
  "\u2028",
  "\u2029",
  "\u0000",
  "é",
  "名前",
  "😀",
  "[x]",
  "(x",
  "x+",
  "$",
  "^",
];

export const TEXTS = [
  "",
  "a",
  "ab",
  "abc",
  "hello world",
  "A",
  "true",
  "false",
  "null",
  "0",
  "42",
  "-1",
  "007",
  "1e3",
  "1.5",
  " 42",
  "NaN",
  "Infinity",
  "9007199254740993",
  "é",
  "e\u0301",
  "😀",
  "😀😀",
  "日本語",
  "\u2028",
  "\u0000",
  'quote"',
  "back\\slash",
  "${x}",
  "2024-01-01",
  "2024-01-01T00:00:00.000Z",
  "a@example.com",
  "abc-7",
  "x".repeat(40),
];

/** Text that UTF-8 cannot hold. */
export const BROKEN_TEXTS = ["\ud83d", "a\udc00b", "\udfff\ud800"];

/** Patterns with texts that match, and texts that nearly do. */
export const PATTERNS = [
  { pattern: "^[a-z]+$", good: ["a", "abc", "zebra"], bad: ["", "Abc", "abc1", "abc\n"] },
  { pattern: "^\\d{2,4}$", good: ["12", "1234"], bad: ["1", "12345", "1a", "١٢"] },
  { pattern: "b", good: ["b", "abc", "xb"], bad: ["", "a", "B"] },
  { pattern: "^(foo|bar)-[0-9]+$", good: ["foo-1", "bar-42"], bad: ["baz-1", "foo-", "foo-1 "] },
  { pattern: "^.$", good: ["a", "é"], bad: ["", "ab", "😀", "\n"] },
  { pattern: "^\\w+@\\w+\\.com$", good: ["me@example.com"], bad: ["me@example", "é@example.com"] },
  { pattern: "^\\s*$", good: ["", "  ", "\t\n", "\u00a0\ufeff"], bad: ["a", " a", "\u180e"] },
  { pattern: '"\\/`\\$\\{', good: ['"/`${'], bad: ['"/`$'] },
  { pattern: "^(?:[^/]+/)*[^/]*$", good: ["", "a/b/c", "a"], bad: ["/a", "//"] },
  { pattern: "(?<year>\\d{4})-\\k<year>", good: ["2024-2024"], bad: ["2024-2025"] },
  { pattern: "^(?!admin$).*", good: ["user", "administrator"], bad: ["admin"] },
  { pattern: "[\\u0041-\\x5a]", good: ["A", "xZ"], bad: ["a", "["] },
  { pattern: "^a{0}$|^\\cJ$", good: ["", "\n"], bad: ["a"] },
  { pattern: "^[^]$", good: ["\n", "x"], bad: ["", "xy"] },
];

/** Where `new RegExp` throws. */
export const BROKEN_PATTERNS = ["(", "[z-a]", "a**", "\\"];

export const REGULAR_EXPRESSIONS = [
  { expression: /^[a-z]+$/i, good: ["abc", "ABC"], bad: ["1", ""] },
  { expression: /b/g, good: ["abc", "bb"], bad: ["a"] },
  { expression: /a/y, good: ["abc"], bad: ["ba"] },
  { expression: /^.$/su, good: ["😀", "\n"], bad: ["ab", ""] },
  { expression: /^x$/m, good: ["x", "a\nx"], bad: ["xy"] },
  { expression: /^(1|true|null|undefined|\[object Object\])$/, good: ["1", "true"], bad: ["2"] },
];

/** Formats that the engine asserts, with texts that have them and texts that do not. */
export const KNOWN_FORMATS = {
  date: { good: ["2024-02-29", "1999-12-31"], bad: ["2023-02-29", "2024-13-01", "1-1-1", ""] },
  "date-time": { good: ["2024-01-01T00:00:00Z", "2024-01-01T10:00:00.5+02:00"], bad: ["2024-01-01", "x"] },
  time: { good: ["10:00:00Z", "23:59:59+01:00"], bad: ["25:00:00Z", "10:00"] },
  email: { good: ["a@example.com"], bad: ["a@", "@b", "plain"] },
  uuid: { good: ["123e4567-e89b-12d3-a456-426614174000"], bad: ["123e4567", "x"] },
  uri: { good: ["https://example.com/a?b#c", "urn:a:b"], bad: ["no uri", "/relative"] },
  hostname: { good: ["example.com", "a"], bad: ["-a.com", "a b", "a..b"] },
  ipv4: { good: ["127.0.0.1"], bad: ["256.0.0.1", "1.2.3"] },
  ipv6: { good: ["::1", "2001:db8::1"], bad: ["::g", "1:2"] },
};

/** Formats that mean nothing to anyone. */
export const UNKNOWN_FORMATS = ["int32", "nobody-knows", "*/x", "a'b\"c\\", "__proto__"];

/** A format of the user's own. */
export const OWN_FORMATS = { "test:shout": (text) => text.length > 0 && text === text.toUpperCase() };
export const OWN_FORMAT_TEXTS = { "test:shout": { good: ["ABC", "1"], bad: ["abc", ""] } };

/** Kinds of the user's own. */
export const OWN_KINDS = {
  "test:even": (_schema, value) => typeof value === "number" && value % 2 === 0,
  "test:at-most": (schema, value) => typeof value === "string" && value.length <= schema.most,
  "test:tagged": (schema, value) => value?.tag === schema.tag,
};

// Two readings of the native interface: what the Rust side exports (`#[napi]` in `src/`), and what napi-derive has made of it
// in `facade/native-binding.ts`. Both as lines such as `RedisBus.publish(string, string, string?): void`.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

/** Rust's types on the JavaScript side. `?` is what may be left out (a parameter) or be null (a result). */
const TYPES = {
  String: "string",
  "&str": "string",
  bool: "boolean",
  "()": "void",
  Unknown: "unknown",
  Object: "object",
  Array: "unknown[]",
  Uint8Array: "Uint8Array",
  Null: "null",
  // Functions that the binding calls (`src/interop`).
  Look: "() => void",
  MakeError: "function",
  WriteLog: "function",
};
const NUMBER = /^[iuf](8|16|32|64)$/;

/** `Option<Vec<String>>` in its parts: a name and what is between the brackets. */
function taken(type) {
  const plain = type
    .replaceAll(/'\w+,?\s*/g, "")
    .replaceAll(/<_?>|\b\w+::/g, "")
    .trim();
  const [, name, inner] = plain.match(/^&?(?:mut )?([\w&():]+)(?:<(.*)>)?$/s) ?? [undefined, plain];
  return { plain, name, inner };
}

/** Splits at the commas that are not within brackets. */
function parts(text) {
  const list = [];
  let depth = 0;
  let part = "";
  for (const character of text) {
    if ("<([".includes(character)) depth += 1;
    if (">)]".includes(character)) depth -= 1;
    if (character === "," && depth === 0) {
      list.push(part);
      part = "";
    } else part += character;
  }
  return [...list, part].map((each) => each.trim()).filter((each) => each !== "");
}

function rustType(type, classes) {
  const { plain, name, inner } = taken(type);
  if (name === "Result") return rustType(inner, classes);
  if (name === "PromiseRaw") return `Promise<${rustType(inner, classes)}>`;
  if (name === "Option") return `${rustType(inner, classes)}?`;
  if (name === "Vec") return `${rustType(inner, classes)}[]`;
  if (/^Either\d?$/.test(name)) {
    const either = parts(inner).map((each) => rustType(each, classes));
    const words = either.filter((each) => each !== "null").sort();
    return words.join(" | ") + (words.length < either.length ? "?" : "");
  }
  if (name === "Function") return "function";
  if (NUMBER.test(plain)) return "number";
  const known = TYPES[plain] ?? TYPES[name] ?? classes.get(name);
  if (known === undefined) throw new Error(`A type of the binding that this test does not know: ${type}`);
  return known;
}

const camel = (name) => name.replaceAll(/_(\w)/g, (_, letter) => letter.toUpperCase());
const named = (attributes) => attributes?.match(/js_name = "(\w+)"/)?.[1];

/** Comments would be read as code. */
function rustSources(folder) {
  return readdirSync(folder, { recursive: true })
    .filter((file) => file.endsWith(".rs"))
    .map((file) => readFileSync(join(folder, file), "utf8").replaceAll(/^\s*\/\/.*$/gm, ""));
}

const ATTRIBUTE = String.raw`#\[napi(?:\(((?:(?!#\[)[^])*?)\))?\]\n\s*(?:#\[[^\]]*\]\s*)*`;
const STRUCT = new RegExp(`${ATTRIBUTE}pub(?:\\(crate\\))? struct (\\w+)`, "g");
const FUNCTION = new RegExp(
  String.raw`(^impl(?:<[^>]*>)? (\w+)[^{\n]*\{)|${ATTRIBUTE}(?:pub(?:\(crate\))? )?(async )?fn (\w+)(?:<[^(]*>)?\(([^]*?)\)(?:\s*->\s*([^{]*?))?\s*(?:where[^{]*)?\{|^\}`,
  "gm",
);

/** What the Rust side exports. */
export function exported(folder) {
  const sources = rustSources(folder);
  const classes = new Map();
  for (const source of sources) {
    for (const [, attributes, name] of source.matchAll(STRUCT)) classes.set(name, named(attributes) ?? name);
  }
  for (const source of sources) {
    for (const [, name, alias] of source.matchAll(/\buse [\w:]+::(\w+) as (\w+);/g)) {
      if (classes.has(name) && !classes.has(alias)) classes.set(alias, classes.get(name));
    }
  }
  const lines = [];
  for (const source of sources) {
    let owner;
    for (const [, impl, of, attributes, isAsync, name, list, returned] of source.matchAll(FUNCTION)) {
      if (name === undefined) {
        owner = impl === undefined ? undefined : classes.get(of);
        continue;
      }
      const parameters = parts(list.replaceAll(/#\[napi\(\s*ts_arg_type = "[^"]*"\s*\)\]\s*/g, ""))
        .filter((each) => !/^&?(?:'\w+ )?(?:mut )?self$|:\s*&?('\w+ )?Env\b|:\s*This\b/.test(each))
        .map((each) => rustType(each.slice(each.indexOf(":") + 1), classes));
      const result = attributes?.match(/ts_return_type = "([^"]*)"/)?.[1];
      const type =
        result === undefined ? rustType(returned ?? "()", classes.set("Self", owner)) : typeText(result);
      const what = /\bconstructor\b/.test(attributes ?? "") ? "new" : (named(attributes) ?? camel(name));
      const place = owner === undefined ? what : `${owner}.${what}`;
      lines.push(
        /\bgetter\b/.test(attributes ?? "")
          ? `${place}: ${type}`
          : `${place}(${parameters.join(", ")}): ${isAsync === undefined ? type : `Promise<${type}>`}`,
      );
    }
  }
  return lines.sort();
}

/** The TypeScript type `text`, as the lines have it. */
function typeText(text) {
  const source = ts.createSourceFile("t.ts", `type T = ${text};`, ts.ScriptTarget.Latest, true);
  return tsType(source.statements[0].type);
}

/** A declared type: words stand for strings, and anything may be narrower than `unknown`. */
function tsType(node) {
  if (node === undefined) return "void";
  if (ts.isUnionTypeNode(node)) {
    const members = node.types.map((each) => tsType(each));
    const words = [...new Set(members.filter((each) => each !== "null" && each !== "undefined"))].sort();
    return words.join(" | ") + (members.length > words.length && members.some(isNothing) ? "?" : "");
  }
  if (ts.isParenthesizedTypeNode(node)) return tsType(node.type);
  if (ts.isFunctionTypeNode(node))
    return node.parameters.length === 0 && tsType(node.type) === "void" ? "() => void" : "function";
  if (ts.isLiteralTypeNode(node)) return ts.isStringLiteral(node.literal) ? "string" : node.getText();
  if (ts.isArrayTypeNode(node)) return `${tsType(node.elementType)}[]`;
  if (ts.isTypeReferenceNode(node) && node.typeArguments?.length === 1) {
    const [name, inner] = [node.typeName.getText(), tsType(node.typeArguments[0])];
    return name === "Array" ? `${inner}[]` : `${name}<${inner === "undefined" ? "void" : inner}>`;
  }
  return node.getText();
}

const isNothing = (type) => type === "null" || type === "undefined";

/** What the file declares. */
export function declared(file) {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
  const lines = [];
  const signature = (node) =>
    node.parameters.map((each) => {
      const type = tsType(each.type);
      return each.questionToken !== undefined && !type.endsWith("?") ? `${type}?` : type;
    });
  for (const statement of source.statements) {
    if (ts.isFunctionDeclaration(statement)) {
      lines.push(`${statement.name.text}(${signature(statement).join(", ")}): ${tsType(statement.type)}`);
    }
    if (!ts.isClassDeclaration(statement)) continue;
    const owner = statement.name.text;
    for (const member of statement.members) {
      if (ts.isConstructorDeclaration(member)) {
        // Classes that only native code makes have a private one.
        if (member.modifiers === undefined)
          lines.push(`${owner}.new(${signature(member).join(", ")}): ${owner}`);
      } else if (ts.isGetAccessor(member)) {
        lines.push(`${owner}.${member.name.getText()}: ${tsType(member.type)}`);
      } else {
        lines.push(
          `${owner}.${member.name.getText()}(${signature(member).join(", ")}): ${tsType(member.type)}`,
        );
      }
    }
  }
  return lines.sort();
}

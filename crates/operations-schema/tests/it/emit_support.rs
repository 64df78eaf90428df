//! Compiles schemas for the emitter's tests and reads emitted text the way JavaScript would.

use operations_schema::emit::{Emitted, check_source, exact_source};
use operations_schema::{CompileOptions, Program, SchemaError, Source, compile};
use serde_json::Value;

pub(crate) fn try_json_program(schema: &Value) -> Result<Program, SchemaError> {
    compile(&Source::try_from(schema)?, &CompileOptions::default())
}

pub(crate) fn json_program(schema: &Value) -> Program {
    try_json_program(schema).expect("the schema compiles")
}

pub(crate) fn typebox_program(encoded: &str) -> Program {
    let source = Source::from_encoded(encoded).expect("the encoding is readable");
    compile(&source, &CompileOptions::default()).expect("the schema compiles")
}

/// Both functions of a program.
pub(crate) fn both(program: &Program) -> [Emitted; 2] {
    [
        check_source(program).expect("check"),
        exact_source(program).expect("exact"),
    ]
}

/// A piece of emitted text.
#[derive(Debug)]
pub(crate) struct Token {
    pub(crate) is_string: bool,
    /// How many brackets are open around it.
    pub(crate) depth: usize,
}

/// Words that emitted code consists of, apart from generated names.
const WORDS: [&str; 56] = [
    "Array",
    "Date",
    "Number",
    "Object",
    "Promise",
    "Symbol",
    "Uint8Array",
    "asyncIterator",
    "break",
    "call",
    "catch",
    "charCodeAt",
    "codePoints",
    "const",
    "consts",
    "count",
    "d",
    "date",
    "distinct",
    "else",
    "env",
    "equal",
    "false",
    "for",
    "formats",
    "function",
    "getOwnPropertyNames",
    "getTime",
    "hasOwn",
    "i",
    "if",
    "in",
    "instanceof",
    "isArray",
    "isFinite",
    "isInteger",
    "isSafeInteger",
    "iterator",
    "keys",
    "kinds",
    "length",
    "let",
    "multiple",
    "null",
    "patterns",
    "prototype",
    "return",
    "test",
    "text",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "value",
    "work",
];

/// The rest of the words.
const MORE_WORDS: [&str; 30] = [
    "giveUp",
    "cost",
    "each",
    "error",
    "format",
    "isBytes",
    "isDate",
    "isDistinct",
    "isPromise",
    "isEqual",
    "isFormat",
    "isMultiple",
    "isUnique",
    "keysOf",
    "matches",
    "namesOf",
    "node",
    "of",
    "once",
    "other",
    "paid",
    "pattern",
    "regexp",
    "walked",
    "invalid",
    "timeOf",
    "tooMuchWork",
    "unique",
    "walk",
    "lastIndex",
];

/// Splits emitted text into tokens and fails on anything that generated code never contains: a
/// character outside strings that is not plain punctuation, a word that is not known, a bracket
/// without its partner, a string with a raw special character.
pub(crate) fn tokens(body: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut open = Vec::new();
    let mut rest = body;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '"' => string_length(rest),
            'a'..='z' | 'A'..='Z' => word_length(rest),
            '0'..='9' => number_length(rest),
            '(' | '[' | '{' => {
                open.push(first);
                1
            }
            ')' | ']' | '}' => {
                let expected = match first {
                    ')' => '(',
                    ']' => '[',
                    _ => '{',
                };
                assert_eq!(open.pop(), Some(expected), "unbalanced before {rest:.60}");
                1
            }
            ' ' | '\n' | ';' | ',' | '.' | '=' | '!' | '<' | '>' | '&' | '|' | '?' | ':' | '+'
            | '-' | '*' | '%' | '/' => 1,
            other => panic!("{other:?} outside a string before {rest:.60}"),
        };
        assert!(
            !rest.starts_with("//") && !rest.starts_with("/*"),
            "a comment: {rest:.60}"
        );
        found.push(Token {
            is_string: first == '"',
            depth: open.len(),
        });
        rest = &rest[length..];
    }
    assert!(open.is_empty(), "brackets stay open: {open:?}");
    found
}

fn string_length(rest: &str) -> usize {
    let inner = rest[1..].find('"').expect("the string ends");
    let text = &rest[1..=inner];
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\\' {
            let escape: String = characters.by_ref().take(5).collect();
            let digits = escape.strip_prefix('u').expect("only \\u escapes");
            assert!(digits.len() == 4 && digits.chars().all(|digit| digit.is_ascii_hexdigit()));
        } else {
            let plain = character.is_ascii_alphanumeric() || " _-.,:".contains(character);
            assert!(plain, "{character:?} in a string: {text:?}");
        }
    }
    inner + 2
}

fn word_length(rest: &str) -> usize {
    let length = rest
        .find(|other: char| !other.is_ascii_alphanumeric())
        .unwrap_or(rest.len());
    let word = &rest[..length];
    let generated = word.len() > 1
        && "PFKCfvm".contains(&word[..1])
        && word[1..].chars().all(|digit| digit.is_ascii_digit());
    let known = WORDS.contains(&word) || MORE_WORDS.contains(&word);
    assert!(
        known || generated,
        "the word {word:?} is not one of the emitter's"
    );
    length
}

fn number_length(rest: &str) -> usize {
    rest.find(|other: char| !(other.is_ascii_alphanumeric() || other == '.'))
        .unwrap_or(rest.len())
}

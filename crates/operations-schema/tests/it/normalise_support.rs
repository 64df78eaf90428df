//! Schemas, values and results of normalisation in one line each.

use operations_schema::json::Document;
use operations_schema::source::{Flags, ObjectBox, SourceObject};
use operations_schema::value_access::{JsonAccess, JsonRef};
use operations_schema::{
    CompileOptions, Interrupt, Mode, Note, Program, Source, What, compile, normalise,
};
use serde_json::Value;

/// A TypeBox schema written as JSON: `"~"` is the kind, `"~?": true` the optional flag.
pub(crate) fn typebox(schema: &Value) -> Source<'_> {
    match schema {
        Value::Object(map) => {
            let flags = if map.get("~?") == Some(&Value::Bool(true)) {
                Flags::OPTIONAL
            } else {
                Flags::default()
            };
            Source::Object(ObjectBox::from(SourceObject {
                kind: map.get("~").and_then(Value::as_str).map(Into::into),
                flags,
                slot: None,
                entries: map
                    .iter()
                    .filter(|(key, _)| *key != "~" && *key != "~?")
                    .map(|(key, item)| (key.as_str().into(), typebox(item)))
                    .collect(),
            }))
        }
        Value::Array(items) => Source::Array(items.iter().map(typebox).collect()),
        other => Source::try_from(other).expect("a scalar"),
    }
}

pub(crate) fn program_of(schema: &Value) -> Program {
    compile(&typebox(schema), &CompileOptions::default())
        .unwrap_or_else(|error| panic!("{schema} does not compile: {error}"))
}

/// The result of a normalisation.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) value: Option<Value>,
    pub(crate) same: bool,
    pub(crate) changed: bool,
    pub(crate) valid: bool,
    pub(crate) notes: Vec<Note>,
}

pub(crate) fn try_run(program: &Program, value: &Value, mode: Mode) -> Result<Done, Interrupt> {
    let document = Document::from(value);
    let mut host = JsonAccess::new();
    let part = JsonRef::from(&document);
    let result = normalise(program, &mut host, part, mode)?;
    let mut json = String::new();
    let value = host
        .push_to(result.value, &mut json)
        .then(|| serde_json::from_str(&json).expect("JSON"));
    Ok(Done {
        value,
        same: result.value.is(part),
        changed: result.changed,
        valid: result.valid,
        notes: result.notes,
    })
}

pub(crate) fn run(schema: &Value, value: &Value, mode: Mode) -> Done {
    let program = program_of(schema);
    let done = try_run(&program, value, mode)
        .unwrap_or_else(|error| panic!("{schema} on {value}: {error}"));
    assert_eq!(
        done.same, !done.changed,
        "{schema} on {value}: the same value, or a changed one"
    );
    if !done.valid {
        assert!(
            !done.notes.is_empty(),
            "{schema} on {value}: invalid without a note"
        );
    }
    let first = done.value.clone().expect("JSON gives JSON");
    let again = try_run(&program, &first, mode).expect("a second time");
    assert_eq!(
        again.value.as_ref(),
        Some(&first),
        "{schema} on {value}: not stable"
    );
    done
}

/// A note in short form: the path and a mark.
pub(crate) fn short(note: &Note) -> String {
    let mark = match note.what {
        What::Replaced { .. } => "replaced",
        What::Kept { .. } => "kept",
        What::NotReplaced { .. } => "stuck",
        What::NotFilled => "unfilled",
        What::MadeUp => "made up",
        What::OtherRoot { .. } => "other root",
        What::Refused { .. } => "refused",
        What::UnfitDefault => "default",
    };
    format!("{mark} {}", note.path)
}

/// Normalises and compares value and notes.
pub(crate) fn expect(schema: &Value, value: &Value, expected: &Value, notes: &[&str]) {
    let done = run(schema, value, Mode::Normalise);
    compare(schema, value, &done, expected, notes);
}

/// The same without removing anything.
pub(crate) fn expect_keeping(schema: &Value, value: &Value, expected: &Value, notes: &[&str]) {
    let done = run(schema, value, Mode::Keep);
    compare(schema, value, &done, expected, notes);
}

/// Normalises and demands the very same value, without notes.
pub(crate) fn expect_same(schema: &Value, value: &Value) {
    for mode in [Mode::Normalise, Mode::Keep] {
        let done = run(schema, value, mode);
        assert!(done.same, "{schema} on {value} gave {:?}", done.value);
        assert!(
            done.notes.is_empty(),
            "{schema} on {value} noted {:?}",
            done.notes
        );
        assert!(done.valid);
    }
}

fn compare(schema: &Value, value: &Value, done: &Done, expected: &Value, notes: &[&str]) {
    assert_eq!(
        done.value.as_ref(),
        Some(expected),
        "{schema} on {value}: {:?}",
        done.notes
    );
    // What was made up shows in the value already; that it is noted has a test of its own.
    let unforeseen = done.notes.iter().filter(|note| note.what != What::MadeUp);
    let mut found: Vec<String> = unforeseen.map(short).collect();
    found.dedup();
    assert_eq!(found, notes, "{schema} on {value}: {:?}", done.notes);
    // An `undefined` that was filled in is a change that JSON does not show.
    if !notes.iter().any(|note| note.starts_with("unfilled")) {
        assert_eq!(done.changed, expected != value, "{schema} on {value}");
    }
}

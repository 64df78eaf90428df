//! What must hold for every schema and every value.

use operations_schema::json::Document;
use operations_schema::value_access::{JsonAccess, JsonRef};
use operations_schema::{Interrupt, Mode, Normalised, Program, check, collect_errors, normalise};
use serde_json::Value;

/// How many errors are asked for: few, so that the list is full now and then.
const MOST_ERRORS: usize = 20;

/// Checks every promise of the engine for one program and one value.
pub fn hold(program: &Program, value: &Value) {
    let value = &Document::from(value);
    let passes = check(program, &mut JsonAccess::new(), value.into());
    only_limits(&passes);
    errors_agree(program, value, passes);
    for mode in [Mode::Normalise, Mode::Keep] {
        normalises(program, value, passes, mode);
    }
}

/// JSON has no code of its own that could throw, and what TypeBox throws on is a verdict: what remains are
/// bounds.
fn only_limits<T: std::fmt::Debug>(result: &Result<T, Interrupt>) {
    assert!(
        matches!(result, Ok(_) | Err(Interrupt::Limit(_))),
        "neither an answer nor a bound: {result:?}"
    );
}

fn errors_agree(program: &Program, value: &Document, passes: Result<bool, Interrupt>) {
    let errors = collect_errors(program, &mut JsonAccess::new(), value.into(), MOST_ERRORS);
    only_limits(&errors);
    match (passes, &errors) {
        (Ok(passes), Ok(errors)) => {
            assert_eq!(passes, errors.is_empty(), "the check and {errors:?}");
            assert!(errors.len() <= MOST_ERRORS, "too many errors");
            for error in errors {
                let pointer = error.path.is_empty() || error.path.starts_with('/');
                assert!(pointer, "no JSON Pointer: {:?}", error.path);
            }
        }
        // Errors look at more than the check, which stops at the first one.
        (Ok(false) | Err(_), Err(_)) => {}
        other => panic!("the check and the errors disagree: {other:?}"),
    }
}

fn normalises(program: &Program, value: &Document, passes: Result<bool, Interrupt>, mode: Mode) {
    let mut host = JsonAccess::new();
    let part = JsonRef::from(value);
    let first = normalise(program, &mut host, part, mode);
    only_limits(&first);
    let Ok(first) = first else { return };
    tells_the_truth(program, &mut host, part, &first);
    if passes == Ok(true) && mode == Mode::Keep {
        assert!(!first.changed, "a value that passes was changed");
        assert!(first.notes.is_empty(), "a complaint: {:?}", first.notes);
    }
    let second = normalise(program, &mut host, first.value, mode);
    only_limits(&second);
    if let Ok(second) = second {
        assert!(
            !second.changed,
            "{mode:?} is not stable: {:?} became {:?} and then {:?}; {:?}",
            value.text(),
            text_of(&host, first.value),
            text_of(&host, second.value),
            first.notes,
        );
        assert_eq!(first.valid, second.valid, "the verdict changed");
    }
}

fn text_of<'a>(host: &JsonAccess<'a>, part: JsonRef<'a>) -> String {
    let mut json = String::new();
    host.push_to(part, &mut json);
    json
}

/// What a result says about itself is so.
fn tells_the_truth<'a>(
    program: &Program,
    host: &mut JsonAccess<'a>,
    before: JsonRef<'a>,
    result: &Normalised<JsonRef<'a>>,
) {
    assert_eq!(
        result.value.is(before),
        !result.changed,
        "either the very same value or a changed one"
    );
    let passes = check(program, host, result.value);
    only_limits(&passes);
    if let Ok(passes) = passes {
        assert_eq!(passes, result.valid, "the verdict on the result");
    }
    assert!(
        result.valid || !result.notes.is_empty(),
        "an invalid result without a note"
    );
}

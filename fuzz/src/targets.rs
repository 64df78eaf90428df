//! What each target does with an input. The answer is whether it held a schema that compiles.

use operations_schema::emit::{check_source, exact_source};

use crate::input::{Case, Language};
use crate::{javascript, promises};

/// Compile, check, errors, normalise.
#[must_use]
pub fn compile_and_walk(bytes: &[u8], language: Language) -> bool {
    let Some(case) = Case::read(bytes, language) else {
        return false;
    };
    let Ok(program) = case.compile() else {
        return false;
    };
    promises::hold(&program, &case.value);
    true
}

/// Emitted JavaScript: it parses, nothing of a schema becomes code in it, and it is always the same.
///
/// The first byte says which language the rest is in: an upper-case letter is the facade's encoding.
#[must_use]
pub fn emit(bytes: &[u8]) -> bool {
    let Some((first, rest)) = bytes.split_first() else {
        return false;
    };
    let language = if first.is_ascii_uppercase() {
        Language::Encoded
    } else {
        Language::Json
    };
    let Some(case) = Case::read(rest, language) else {
        return false;
    };
    let Ok(program) = case.compile() else {
        return false;
    };
    let again = case.compile();
    let again = again.unwrap_or_else(|error| panic!("the same schema compiled before: {error}"));
    for emit in [check_source, exact_source] {
        let emitted = emit(&program);
        assert_eq!(emitted, emit(&again), "the text depends on chance");
        if let Ok(emitted) = &emitted {
            javascript::audit(&program, emitted);
        }
    }
    true
}

//! The facade's encoding of TypeBox schemas: read, compile, check, errors, normalise.
#![no_main]

use libfuzzer_sys::fuzz_target;
use operations_fuzz::input::Language;
use operations_fuzz::targets::compile_and_walk;

fuzz_target!(|bytes: &[u8]| {
    let _ = compile_and_walk(bytes, Language::Encoded);
});

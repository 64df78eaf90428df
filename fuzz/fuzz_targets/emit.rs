//! Emitted JavaScript of both kinds of schemas.
#![no_main]

use libfuzzer_sys::fuzz_target;
use operations_fuzz::targets::emit;

fuzz_target!(|bytes: &[u8]| {
    let _ = emit(bytes);
});

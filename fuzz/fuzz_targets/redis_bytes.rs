//! The bytes of a Redis: the same passes however they are cut, and nothing that is too long.
#![no_main]

use libfuzzer_sys::fuzz_target;
use operations_fuzz::wire::redis;

fuzz_target!(|bytes: &[u8]| {
    let _ = redis(bytes);
});

//! The traffic of a NATS connection: one outcome, no more calls than places, no flood of answers.
#![no_main]

use libfuzzer_sys::fuzz_target;
use operations_fuzz::wire::nats;

fuzz_target!(|bytes: &[u8]| {
    let _ = nats(bytes);
});

//! Events of the call protocol: read, and written again as they were.
#![no_main]

use libfuzzer_sys::fuzz_target;
use operations_fuzz::wire::call_event;

fuzz_target!(|bytes: &[u8]| {
    let _ = call_event(bytes);
});

//! Requests to a server, and lines to one: each is answered, none is the server's fault, nothing is left of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use operations_fuzz::serve::serve;

fuzz_target!(|bytes: &[u8]| {
    let _ = serve(bytes);
});

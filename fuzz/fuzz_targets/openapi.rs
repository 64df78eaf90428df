//! OpenAPI documents: read, import, schemas, requests.
#![no_main]

use libfuzzer_sys::fuzz_target;
use operations_fuzz::openapi::read_and_import;

fuzz_target!(|bytes: &[u8]| {
    let _ = read_and_import(bytes);
});

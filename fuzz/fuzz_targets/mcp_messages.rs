//! Lines and bodies of MCP servers: taken apart without a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use operations_fuzz::wire::mcp;

fuzz_target!(|bytes: &[u8]| {
    let _ = mcp(bytes);
});

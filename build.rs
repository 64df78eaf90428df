//! Tells the linker that Node provides the Node-API symbols.

fn main() {
    napi_build::setup();
}

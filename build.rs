//! Tells the linker that Node provides the Node-API symbols, and makes the folder for what napi-derive writes about them.

fn main() -> std::io::Result<()> {
    if let Ok(folder) = std::env::var("NAPI_TYPE_DEF_TMP_FOLDER") {
        std::fs::create_dir_all(folder)?;
    }
    napi_build::setup();
    Ok(())
}

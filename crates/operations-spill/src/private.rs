//! Folders and files that belong to one user of the machine.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use uuid::Uuid;

/// Makes a folder that no other user can read, with those above it. One that is there stays as it is.
///
/// # Errors
/// When the disk refuses.
pub fn folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(path)
}

/// Makes a file that no other user can read. It must not be there yet: what lies in its place is not ours to follow or to overwrite.
///
/// # Errors
/// When it is there, or the disk refuses.
pub fn new_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

/// Writes a file in place of another. Readers find the old one or the new one, and never half of one.
///
/// # Errors
/// When the disk refuses.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let aside = path.with_extension(format!("{}.part", Uuid::new_v4()));
    let written = new_file(&aside)
        .and_then(|mut file| file.write_all(content))
        .and_then(|()| fs::rename(&aside, path));
    if written.is_err() {
        let _ = fs::remove_file(&aside);
    }
    written
}

//! Bytes to text. What is not UTF-8 becomes U+FFFD, as a browser decodes it.
//!
//! Values are decoded one by one and not the stream as a whole. The result is the same: the
//! characters around a value (colon, space, CR, LF) are ASCII, and no sequence of UTF-8, whole or
//! broken, extends over one.

use operations_core::utf8::text_of;

/// A buffer that has held more than this is given back and not kept for the next event.
const KEPT_CAPACITY: usize = 64 * 1024;

/// The text of a buffer, which is empty afterwards. A small buffer is copied and stays for the next
/// event, so that an event costs one allocation of the right size; a large one becomes the text.
pub(super) fn take(bytes: &mut Vec<u8>) -> String {
    if bytes.capacity() > KEPT_CAPACITY {
        return into_text(std::mem::take(bytes));
    }
    let text = text_of(bytes).into_owned();
    bytes.clear();
    text
}

fn into_text(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(mut text) => {
            text.shrink_to_fit();
            text
        }
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// Empties a buffer without reading it.
pub(super) fn discard(bytes: &mut Vec<u8>) {
    if bytes.capacity() > KEPT_CAPACITY {
        *bytes = Vec::new();
    } else {
        bytes.clear();
    }
}

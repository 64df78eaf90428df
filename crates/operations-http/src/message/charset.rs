//! Text in the encodings that servers still use.

use encoding_rs::{Encoding, UTF_8};

/// Bytes as text, as the web reads them. An encoding that is not known is read as UTF-8, as nearly
/// everything is; what does not fit becomes U+FFFD. A byte order mark goes before the label and is
/// not part of the text.
#[must_use]
pub fn decode(bytes: Vec<u8>, charset: Option<&str>) -> String {
    let label = charset.unwrap_or_default();
    let encoding = Encoding::for_label_no_replacement(label.as_bytes()).unwrap_or(UTF_8);
    if encoding == UTF_8 && Encoding::for_bom(&bytes).is_none() {
        // Nearly always it is well-formed, and then nothing is copied.
        return String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    }
    encoding.decode(&bytes).0.into_owned()
}

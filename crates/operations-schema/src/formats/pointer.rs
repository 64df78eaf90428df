//! JSON Pointers.

pub(super) fn is_json_pointer(text: &str) -> bool {
    if !text.is_empty() && !text.starts_with('/') {
        return false;
    }
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'~' && !matches!(bytes.next(), Some(b'0' | b'1')) {
            return false;
        }
    }
    true
}

pub(super) fn is_relative_json_pointer(text: &str) -> bool {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    let (steps, rest) = text.split_at_checked(count).unwrap_or((text, ""));
    !steps.is_empty()
        && (steps == "0" || !steps.starts_with('0'))
        && (rest == "#" || is_json_pointer(rest))
}

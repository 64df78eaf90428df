//! JSON Pointers, as references and as the way to say where something is.

use std::borrow::Cow;

use serde_json::Value;

/// One step of a pointer, escaped.
#[must_use]
pub(super) fn escape(token: &str) -> Cow<'_, str> {
    if token.contains(['~', '/']) {
        Cow::Owned(token.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(token)
    }
}

/// The pointer of a member of what is at `base`.
#[must_use]
pub(super) fn join(base: &str, token: &str) -> String {
    format!("{base}/{}", escape(token))
}

/// The last step of a pointer, unescaped.
#[must_use]
pub(super) fn last_token(pointer: &str) -> String {
    let token = pointer.rsplit('/').next().unwrap_or_default();
    token.replace("~1", "/").replace("~0", "~")
}

/// The fragment of a reference as a pointer: percent-encoding undone.
#[must_use]
pub(super) fn from_fragment(fragment: &str) -> Cow<'_, str> {
    if fragment.contains('%') {
        percent_encoding::percent_decode_str(fragment).decode_utf8_lossy()
    } else {
        Cow::Borrowed(fragment)
    }
}

/// What the pointer leads to.
#[must_use]
pub(super) fn look_up<'v>(root: &'v Value, pointer: &str) -> Option<&'v Value> {
    root.pointer(pointer)
}

//! JSON Pointers, as references and as the way to say where something is.

use std::borrow::Cow;

pub(super) use operations_schema::pointer::escape;
use operations_schema::pointer::unescape;

use super::tree::Tree;

/// The pointer of a member of what is at `base`.
#[must_use]
pub(super) fn join(base: &str, token: &str) -> String {
    format!("{base}/{}", escape(token))
}

/// The last step of a pointer, unescaped.
#[must_use]
pub(super) fn last_token(pointer: &str) -> String {
    unescape(pointer.rsplit('/').next().unwrap_or_default()).into_owned()
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

/// What the pointer leads to. The same as `Value::pointer`, without copies of steps that need none:
/// documents refer by the ten thousand.
#[must_use]
pub(super) fn look_up<'v>(root: &'v Tree, pointer: &str) -> Option<&'v Tree> {
    if pointer.is_empty() {
        return Some(root);
    }
    let steps = pointer.strip_prefix('/')?.split('/');
    steps.map(unescape).try_fold(root, |at, step| match at {
        Tree::Object(members) => members.get(&step),
        Tree::Array(items) => items.get(index(&step)?),
        _ => None,
    })
}

/// A place in a list: digits without a sign and without a zero before them.
fn index(step: &str) -> Option<usize> {
    let is_number = step.bytes().all(|byte| byte.is_ascii_digit());
    let is_padded = step.len() > 1 && step.starts_with('0');
    (is_number && !is_padded).then(|| step.parse().ok())?
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::look_up;
    use crate::tree::Tree;

    #[test]
    fn pointers_are_read_as_the_standard_says() {
        let value = json!({ "": 1, "a/b": [10, { "m~n": 2 }], "~1": 3, "0": 4, " ": { "": 5 } });
        let tree = Tree::of(&value).unwrap();
        for pointer in [
            "",
            "/",
            "/a~1b/0",
            "/a~1b/1/m~0n",
            "/~01",
            "/0",
            "/ /",
            "a",
            "/a~1b/00",
            "/a~1b/-",
            "/a~1b/+1",
            "/a~1b/2",
            "/a~1b/0/x",
            "/nowhere",
            "//",
            "/a~1b/99999999999999999999",
        ] {
            assert_eq!(
                look_up(&tree, pointer).map(Tree::to_value).as_ref(),
                value.pointer(pointer),
                "{pointer:?}"
            );
        }
    }
}

//! References to schemas, as RFC 3986 has them.

use std::borrow::Cow;

use fluent_uri::{Iri, IriRef};
use percent_encoding::percent_decode_str;

/// A URI without its fragment, and the fragment.
pub(super) fn split_fragment(uri: &str) -> (&str, &str) {
    uri.split_once('#').unwrap_or((uri, ""))
}

/// Resolves a reference without fragment against a base without fragment. What is no URI is a name that
/// stands for itself.
pub(super) fn join(base: &str, reference: &str) -> String {
    if reference.is_empty() {
        return base.to_owned();
    }
    let resolved = || {
        let reference = IriRef::parse(reference).ok()?;
        let base = Iri::parse(base).ok()?;
        reference.resolve_against(&base).ok().map(String::from)
    };
    resolved().unwrap_or_else(|| reference.to_owned())
}

/// Decodes `%41`; what is not valid stays as it is.
pub(super) fn percent_decode(text: &str) -> Cow<'_, str> {
    percent_decode_str(text)
        .decode_utf8()
        .unwrap_or(Cow::Borrowed(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_resolve_as_in_the_rfc() {
        let base = "http://a/b/c/d;p?q";
        let cases = [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("", base),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../../../g", "http://a/g"),
        ];
        for (reference, wanted) in cases {
            assert_eq!(join(base, reference), wanted, "{reference}");
        }
        assert_eq!(
            join("http://localhost:1234", "x.json"),
            "http://localhost:1234/x.json"
        );
        assert_eq!(join("urn:uuid:1", ""), "urn:uuid:1");
        assert_eq!(join(base, "two words"), "two words");
        assert_eq!(percent_decode("a%25b%C3%A9%zz%"), "a%b\u{e9}%zz%");
    }
}

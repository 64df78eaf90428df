//! Percent-encoding: which characters a value keeps.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but the unreserved characters of RFC 3986.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// As [`VALUE`], but the reserved characters stay, except `#`: in a query it would cut off the rest.
/// `%` stays as well; [`reserved`] says when.
const RESERVED_IN_QUERY: &AsciiSet = &VALUE
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'[')
    .remove(b']')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=');

/// In a path, a `/` or a `?` of a value would lead to another resource.
const RESERVED_IN_PATH: &AsciiSet = &RESERVED_IN_QUERY.add(b'/').add(b'?').add(b'[').add(b']');

/// How the text of a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Escape {
    /// All but unreserved characters are percent-encoded.
    Value,
    /// Reserved characters stay (`allowReserved` in a query).
    ReservedInQuery,
    /// Reserved characters stay where they cannot change the path (`allowReserved` in a path).
    ReservedInPath,
    /// As `application/x-www-form-urlencoded` has it: a space is a plus sign.
    Form,
    /// As it stands, for headers and multipart parts.
    None,
}

impl Escape {
    /// How the name beside such a value is written: `allowReserved` is about values only, and a name
    /// with a `&` or a `=` in it would be another name.
    #[must_use]
    pub const fn of_name(self) -> Self {
        match self {
            Self::ReservedInQuery | Self::ReservedInPath => Self::Value,
            other => other,
        }
    }

    /// The text in this notation.
    #[must_use]
    pub fn apply(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::None => Cow::Borrowed(text),
            Self::Value => utf8_percent_encode(text, VALUE).into(),
            Self::Form => {
                let encoded: Cow<'_, str> = utf8_percent_encode(text, VALUE).into();
                if encoded.contains("%20") {
                    Cow::Owned(encoded.replace("%20", "+"))
                } else {
                    encoded
                }
            }
            Self::ReservedInQuery => Cow::Owned(reserved(text, RESERVED_IN_QUERY)),
            Self::ReservedInPath => Cow::Owned(reserved(text, RESERVED_IN_PATH)),
        }
    }
}

/// Keeps what is percent-encoded already, as RFC 6570 does for its reserved expansion.
fn reserved(text: &str, set: &'static AsciiSet) -> String {
    let mut out = String::with_capacity(text.len());
    let mut pieces = text.split('%');
    out.extend(utf8_percent_encode(pieces.next().unwrap_or_default(), set));
    for piece in pieces {
        let is_triplet = piece
            .as_bytes()
            .first_chunk::<2>()
            .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        out.push_str(if is_triplet { "%" } else { "%25" });
        out.extend(utf8_percent_encode(piece, set));
    }
    out
}

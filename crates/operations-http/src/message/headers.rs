//! Request headers: checked when they are set, and silent about their values.

use std::borrow::Cow;
use std::fmt;

use encoding_rs::mem;

use operations_core::error::CallError;

/// Headers that belong to the connection. The HTTP client sets them from what it really sends; a
/// second opinion about the length of a body is how requests are smuggled.
const OF_THE_CONNECTION: [&str; 9] = [
    "connection",
    "content-length",
    "expect",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// What still says something to another origin, and nothing about the caller's rights at the first
/// one. A list of what may pass, because credentials travel under any name (`X-API-Key`, ...).
const FOR_ANY_ORIGIN: [&str; 9] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "content-language",
    "content-type",
    "last-event-id",
    "range",
    "user-agent",
];

/// The headers of a request, in order. Names are compared without regard to case; each occurs once.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// No headers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a header in the place of any of that name. Headers of the connection are passed over.
    ///
    /// # Errors
    /// `VALIDATION_ERROR` when the name is no header name, or when the value has a character that no
    /// header can carry. The message has the name and never the value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), CallError> {
        let name = check_name(name)?;
        let value = check_value(name, value)?;
        if OF_THE_CONNECTION
            .iter()
            .any(|word| name.eq_ignore_ascii_case(word))
        {
            return Ok(());
        }
        let entry = self
            .0
            .iter_mut()
            .find(|(present, _)| present.eq_ignore_ascii_case(name));
        match entry {
            Some((_, present)) => value.clone_into(present),
            None => self.0.push((name.to_owned(), value.to_owned())),
        }
        Ok(())
    }

    /// Adds to a header with a separator, or sets it.
    ///
    /// # Errors
    /// As [`Headers::set`].
    pub fn append(&mut self, name: &str, value: &str, separator: &str) -> Result<(), CallError> {
        match self.get(name) {
            Some(present) if !present.is_empty() => {
                let both = format!("{present}{separator}{value}");
                self.set(name, &both)
            }
            _ => self.set(name, value),
        }
    }

    /// The value under a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut entries = self.0.iter();
        entries
            .find(|(present, _)| present.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// Takes a header out.
    pub fn remove(&mut self, name: &str) {
        self.0
            .retain(|(present, _)| !present.eq_ignore_ascii_case(name));
    }

    /// Names and values. A value is Latin-1: a client sends [`latin1`] of it, as `fetch` does.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a redirect to another origin takes along.
    #[must_use]
    pub fn for_another_origin(&self) -> Self {
        let kept = self.0.iter().filter(|(name, _)| {
            FOR_ANY_ORIGIN
                .iter()
                .any(|word| name.eq_ignore_ascii_case(word))
        });
        Self(kept.cloned().collect())
    }
}

impl fmt::Debug for Headers {
    /// Names only: a value may be a credential.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|(name, _)| name))
            .finish()
    }
}

/// The bytes of a header value, one for each character; nothing where one does not fit.
#[must_use]
pub fn latin1(value: &str) -> Option<Cow<'_, [u8]>> {
    mem::is_str_latin1(value).then(|| mem::encode_latin1_lossy(value))
}

/// Whether a text can be the name of a header, or a method (RFC 9110).
#[must_use]
pub fn is_token(text: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_letter)
}

/// A name that HTTP allows, trimmed.
///
/// # Errors
/// `VALIDATION_ERROR` with the name in it.
pub fn check_name(name: &str) -> Result<&str, CallError> {
    let trimmed = name.trim_matches([' ', '\t']);
    if !is_token(trimmed) {
        return Err(CallError::invalid(format!("{name:?} is not a header name")));
    }
    Ok(trimmed)
}

/// A value that HTTP allows, trimmed.
///
/// # Errors
/// `VALIDATION_ERROR` that names the header and not its value.
pub fn check_value<'a>(name: &str, value: &'a str) -> Result<&'a str, CallError> {
    let wrong = value
        .chars()
        .find(|character| !matches!(character, '\t' | ' '..='~' | '\u{80}'..='\u{ff}'));
    let reason = match wrong {
        None => return Ok(value.trim_matches([' ', '\t'])),
        Some('\r' | '\n') => "a line break",
        Some(character) if character.is_control() => "a control character",
        Some(_) => "a character outside Latin-1",
    };
    Err(CallError::invalid(format!(
        "The value of header \"{name}\" contains {reason}, which no header can carry"
    )))
}

//! How credentials stay out of messages, logs and details: a server may repeat a token in what it answers.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;

/// What stands in the place of a secret.
pub const MASK: &str = "[secret]";

/// A string that is shown only by [`Secret::expose`].
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a string.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The string, for a header and nothing else.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// A shorter secret is an ordinary word: blanking it out of a text would tell more than it hides.
const SHORTEST: usize = 4;

/// The text with every secret blanked out.
#[must_use]
pub fn hide<'a, 's>(text: &'a str, secrets: impl IntoIterator<Item = &'s str>) -> Cow<'a, str> {
    let mut found: Vec<&str> = secrets
        .into_iter()
        .filter(|secret| secret.len() >= SHORTEST && text.contains(secret))
        .collect();
    // The longest first: of a secret that begins with another one nothing must be left.
    found.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    found.into_iter().fold(Cow::Borrowed(text), |text, secret| {
        Cow::Owned(text.replace(secret, MASK))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_secret_that_begins_with_another_one_nothing_is_left() {
        assert_eq!(
            hide("key1-longer and key1", ["key1", "key1-longer"]),
            "[secret] and [secret]"
        );
    }

    #[test]
    fn a_text_without_secrets_is_not_copied() {
        assert!(matches!(
            hide("an x in a text", ["x", "hunter22"]),
            Cow::Borrowed(_)
        ));
    }
}

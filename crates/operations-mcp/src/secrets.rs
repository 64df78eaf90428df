//! What must not be shown: tokens in headers, in environments, in expanded references.

/// Shorter texts are not replaced: they would appear everywhere.
const SHORTEST: usize = 4;
const INSTEAD: &str = "[redacted]";

/// Texts that are replaced wherever a server's words are quoted.
#[derive(Clone, Default)]
pub struct Secrets {
    /// The longest first, so that a secret that contains another goes as a whole.
    texts: Vec<String>,
}

impl Secrets {
    /// The given texts, except those that are too short to be secrets.
    #[must_use]
    pub fn new(mut texts: Vec<String>) -> Self {
        texts.retain(|text| text.len() >= SHORTEST);
        texts.sort_by_key(|text| std::cmp::Reverse(text.len()));
        texts.dedup();
        Self { texts }
    }

    /// The text without the secrets.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        self.texts
            .iter()
            .filter(|secret| text.contains(secret.as_str()))
            .fold(text.to_owned(), |text, secret| {
                text.replace(secret, INSTEAD)
            })
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.texts.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_replaced_the_longest_first() {
        let secrets = Secrets::new(vec!["abcd".into(), "abcdefgh".into(), "x".into()]);
        assert_eq!(secrets.hide("x abcdefgh abcd"), "x [redacted] [redacted]");
        assert_eq!(format!("{secrets:?}"), "Secrets(2)");
    }
}

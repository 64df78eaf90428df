//! What must not be shown: tokens in headers, in environments, in expanded references.

use std::sync::{Arc, PoisonError, RwLock};

/// Shorter texts are not replaced: they would appear everywhere.
const SHORTEST: usize = 4;
const MOST: usize = 10_000;
const INSTEAD: &str = "[redacted]";

/// Texts that are replaced wherever a server's words are quoted.
#[derive(Clone, Default)]
pub struct Secrets {
    /// The longest first, so that a secret that contains another goes as a whole.
    texts: Arc<RwLock<Vec<String>>>,
}

impl Secrets {
    /// The given texts, except those that are too short to be secrets.
    #[must_use]
    pub fn new(texts: Vec<String>) -> Self {
        let secrets = Self::default();
        secrets.add(texts);
        secrets
    }

    /// More of them: tokens that were granted later. All clones learn of them.
    pub fn add(&self, more: impl IntoIterator<Item = String>) {
        let mut texts = self.texts.write().unwrap_or_else(PoisonError::into_inner);
        texts.extend(more.into_iter().filter(|text| text.len() >= SHORTEST));
        texts.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        texts.dedup();
        // Tokens that are renewed every minute for a year must not pile up.
        texts.truncate(MOST);
    }

    /// The text without the secrets.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        self.texts
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .filter(|secret| text.contains(secret.as_str()))
            .fold(text.to_owned(), |text, secret| {
                text.replace(secret, INSTEAD)
            })
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let texts = self.texts.read().unwrap_or_else(PoisonError::into_inner);
        write!(f, "Secrets({})", texts.len())
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

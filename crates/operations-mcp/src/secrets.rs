//! What must not be shown: tokens in headers, in environments, in expanded references.

use std::sync::{Arc, RwLock};

use operations_core::lock::{reading, writing};
use operations_core::secrets;

/// Tokens that are renewed every minute for a year must not pile up.
const MOST: usize = 10_000;
/// The first ones are the user's own, from the configuration; they stay.
const FIRST: usize = 1_000;

/// Texts that are replaced wherever a server's words are quoted.
#[derive(Clone, Default)]
pub struct Secrets {
    texts: Arc<RwLock<Vec<String>>>,
}

impl Secrets {
    /// The given texts.
    #[must_use]
    pub fn new(texts: Vec<String>) -> Self {
        let secrets = Self::default();
        secrets.add(texts);
        secrets
    }

    /// More of them: tokens that were granted later. All clones learn of them.
    pub fn add(&self, more: impl IntoIterator<Item = String>) {
        let mut texts = writing(&self.texts);
        for text in more {
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
        while texts.len() > MOST {
            texts.remove(FIRST);
        }
    }

    /// The text without the secrets.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        let texts = reading(&self.texts);
        secrets::hide(text, texts.iter().map(String::as_str)).into_owned()
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let texts = reading(&self.texts);
        write!(f, "Secrets({})", texts.len())
    }
}

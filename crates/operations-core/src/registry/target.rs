//! To whom a handler has sent its request, for those who watch.

use std::sync::{Arc, OnceLock};

/// A place where a handler says it, once. The text goes into spans, so it holds no secrets.
#[derive(Debug, Clone, Default)]
pub struct Target(Arc<OnceLock<String>>);

impl Target {
    /// Says it. Only the first one counts.
    pub fn say(&self, target: impl FnOnce() -> String) {
        self.0.get_or_init(target);
    }

    /// What was said.
    #[must_use]
    pub fn get(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

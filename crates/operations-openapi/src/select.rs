//! Which operations of a document are wanted.

use regex::Regex;

use super::choices::Candidate;

/// A way to point at operations.
#[derive(Debug, Clone)]
pub(super) enum Selector {
    /// By `operationId`, by the name that the operation gets, or by tag.
    Word(String),
    /// By path, and perhaps by method.
    Path { method: Option<String>, path: Regex },
}

impl Selector {
    /// What one word of a configuration means: a path when it has a slash or a star at its beginning
    /// (after a method and a space, perhaps), else a name.
    pub(super) fn from_word(word: &str) -> Self {
        let (method, pattern) = match word.split_once(' ') {
            Some((method, path)) if method.chars().all(|letter| letter.is_ascii_alphabetic()) => {
                (Some(method), path.trim_start())
            }
            _ => (None, word),
        };
        if pattern.starts_with(['/', '*'])
            && let Ok(path) = path_pattern(pattern)
        {
            let method = method.map(str::to_owned);
            return Self::Path { method, path };
        }
        Self::Word(word.to_owned())
    }

    /// Whether it points at this operation.
    pub(super) fn matches(&self, candidate: &Candidate<'_>) -> bool {
        match self {
            Self::Word(word) => {
                candidate.operation_id == Some(word)
                    || candidate.name == word
                    || candidate.tags.contains(&word.as_str())
            }
            Self::Path { method, path } => {
                let is_method = |method: &String| method.eq_ignore_ascii_case(candidate.method);
                method.as_ref().is_none_or(is_method) && path.is_match(candidate.path)
            }
        }
    }
}

/// `*` stands for anything within one step of a path, `**` for any number of steps.
fn path_pattern(pattern: &str) -> Result<Regex, regex::Error> {
    let pattern = regex::escape(pattern)
        .replace(r"\*\*", ".*")
        .replace(r"\*", "[^/]*");
    Regex::new(&format!("(?s)^{pattern}$"))
}

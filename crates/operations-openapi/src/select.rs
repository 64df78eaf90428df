//! Which operations of a document are wanted.

use super::choices::Candidate;

/// A way to point at operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Selector {
    /// By `operationId` or by the name that the operation gets.
    Id(String),
    /// By tag.
    Tag(String),
    /// By path: `*` stands for anything within one step, `**` for any number of steps. A method and
    /// a space may come first.
    Path(String),
}

impl Selector {
    /// The selectors that one word of a configuration may mean: a path when it has a slash at its
    /// beginning (after a method, perhaps), else an id or a tag.
    pub(super) fn from_word(word: &str) -> Vec<Self> {
        let (_, path) = split_method(word);
        if path.starts_with('/') || path.starts_with('*') {
            vec![Self::Path(word.to_owned())]
        } else {
            vec![Self::Id(word.to_owned()), Self::Tag(word.to_owned())]
        }
    }

    /// Whether it points at this operation.
    pub(super) fn matches(&self, candidate: &Candidate<'_>) -> bool {
        match self {
            Self::Id(id) => candidate.operation_id == Some(id) || candidate.name == id,
            Self::Tag(tag) => candidate.tags.contains(&tag.as_str()),
            Self::Path(pattern) => {
                let (method, pattern) = split_method(pattern);
                method.is_none_or(|method| method.eq_ignore_ascii_case(candidate.method))
                    && path_matches(pattern, candidate.path)
            }
        }
    }
}

/// `GET /pets` in its two halves.
fn split_method(pattern: &str) -> (Option<&str>, &str) {
    match pattern.split_once(' ') {
        Some((method, path)) if method.chars().all(|letter| letter.is_ascii_alphabetic()) => {
            (Some(method), path.trim_start())
        }
        _ => (None, pattern),
    }
}

/// What a pattern demands next.
#[derive(Clone, Copy, PartialEq)]
enum Piece {
    Exactly(char),
    WithinStep,
    Anything,
}

/// Matches by keeping the set of places in the pattern that the path so far can be at, so the cost
/// is at most the product of the two lengths.
fn path_matches(pattern: &str, path: &str) -> bool {
    let mut pieces = Vec::new();
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '*' {
            pieces.push(Piece::Exactly(letter));
        } else if letters.next_if_eq(&'*').is_some() {
            pieces.push(Piece::Anything);
        } else {
            pieces.push(Piece::WithinStep);
        }
    }
    let mut places = vec![false; pieces.len() + 1];
    if let Some(first) = places.first_mut() {
        *first = true;
    }
    skip_stars(&pieces, &mut places);
    for letter in path.chars() {
        let mut next = vec![false; pieces.len() + 1];
        for (place, piece) in pieces.iter().enumerate() {
            if places.get(place) != Some(&true) {
                continue;
            }
            let to = match piece {
                Piece::Exactly(wanted) if *wanted == letter => place + 1,
                Piece::Anything => place,
                Piece::WithinStep if letter != '/' => place,
                _ => continue,
            };
            if let Some(slot) = next.get_mut(to) {
                *slot = true;
            }
        }
        skip_stars(&pieces, &mut next);
        places = next;
    }
    places.last() == Some(&true)
}

/// A star may also stand for nothing.
fn skip_stars(pieces: &[Piece], places: &mut [bool]) {
    for (place, piece) in pieces.iter().enumerate() {
        if !matches!(piece, Piece::Exactly(_))
            && places.get(place) == Some(&true)
            && let Some(slot) = places.get_mut(place + 1)
        {
            *slot = true;
        }
    }
}

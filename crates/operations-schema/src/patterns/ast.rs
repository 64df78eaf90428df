//! A pattern that has been read.

use std::sync::Arc;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// A set of characters.
pub(crate) type Set = Arc<ClassUnicode>;

/// A part of a pattern.
#[derive(Clone, Debug)]
pub(crate) enum Ast {
    /// Matches the empty text.
    Empty,
    /// One character.
    Char(char),
    /// One character of a set.
    Set(Set),
    /// One after the other.
    Concat(Vec<Ast>),
    /// The first of these that leads to a match.
    Alternate(Vec<Ast>),
    /// The same again and again.
    Repeat(Box<Repeat>),
    /// A group that remembers what it matched.
    Capture(usize, Box<Ast>),
    /// `^` and `$`: the ends of the text.
    Start,
    End,
    /// `^` and `$` with the flag `m`: the ends of a line.
    LineStart,
    LineEnd,
    /// `\b`, or `\B` when `inside`.
    Boundary {
        /// Between two characters of the same sort.
        inside: bool,
    },
    /// A look around, which reads nothing.
    Look(Box<Look>),
    /// What a group matched, once more.
    BackReference(usize),
}

/// A part that repeats.
#[derive(Clone, Debug)]
pub(crate) struct Repeat {
    pub(crate) inner: Ast,
    pub(crate) least: u32,
    /// None: without end.
    pub(crate) most: Option<u32>,
    pub(crate) greedy: bool,
    /// The groups inside: each round begins with them unset.
    pub(crate) groups: std::ops::Range<usize>,
}

/// A look around.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) inner: Ast,
    pub(crate) ahead: bool,
    pub(crate) negative: bool,
}

/// A whole pattern.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about a pattern"
)]
pub(crate) struct Parsed {
    pub(crate) root: Ast,
    /// How many groups remember what they match.
    pub(crate) groups: usize,
    /// The pattern sees UTF-16 units, as JavaScript does without the `u` flag.
    pub(crate) by_unit: bool,
    pub(crate) ignore_case: bool,
    /// The flag `y`: only a match at the start counts.
    pub(crate) sticky: bool,
    /// It is valid with the `u` flag.
    pub(crate) strict: bool,
    /// It names a character outside of ASCII, or a property of Unicode.
    pub(crate) beyond_ascii: bool,
}

/// A set made of ranges.
pub(crate) fn set_of(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(
        ranges
            .iter()
            .map(|(first, last)| ClassUnicodeRange::new(*first, *last)),
    )
}

/// The characters of `\d`.
pub(crate) const DIGITS: [(char, char); 1] = [('0', '9')];

/// The characters of `\w`.
pub(crate) const WORD: [(char, char); 4] = [('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')];

/// The characters of `\s`.
pub(crate) const SPACE: [(char, char); 10] = [
    ('\u{9}', '\u{D}'),
    (' ', ' '),
    ('\u{A0}', '\u{A0}'),
    ('\u{1680}', '\u{1680}'),
    ('\u{2000}', '\u{200A}'),
    ('\u{2028}', '\u{2029}'),
    ('\u{202F}', '\u{202F}'),
    ('\u{205F}', '\u{205F}'),
    ('\u{3000}', '\u{3000}'),
    ('\u{FEFF}', '\u{FEFF}'),
];

/// What ends a line.
pub(crate) const LINE_ENDS: [(char, char); 3] =
    [('\n', '\n'), ('\r', '\r'), ('\u{2028}', '\u{2029}')];

pub(crate) fn is_line_end(found: char) -> bool {
    matches!(found, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

pub(crate) fn is_word(found: char) -> bool {
    found.is_ascii_alphanumeric() || found == '_'
}

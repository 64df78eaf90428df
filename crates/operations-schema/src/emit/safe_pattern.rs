//! Decides which patterns of JSON Schemas may run on the host's own `RegExp`.
//!
//! A JSON Schema may come from anywhere, and `RegExp` backtracks without a limit: `^(a+)+$` and
//! thirty letters are enough to stop a process. This analysis accepts a small language of patterns
//! for which the time is provably proportional to the length of the string, and whose meaning is
//! the same in every engine. Whatever it does not understand is refused, which costs only speed:
//! the pattern then runs on the bounded engine in Rust.
//!
//! The proof rests on two rules, either of which is enough.
//!
//! * **One way to read.** At every point where the pattern could go on in more than one way, the
//!   next character decides which (the sets of characters are disjoint). Then a wrong choice fails
//!   on the spot and backtracking undoes each choice at most once. A pattern that is not anchored
//!   at its start is tried at every position, so there it must also have a small longest match.
//! * **Few ways to read.** Without unbounded repetition the number of ways to match is finite; when
//!   it is small the work for each start position is bounded by a constant.

mod parse;

use parse::{Class, Piece, Quantifier};

/// Longest string handed to `RegExp`: its backtracking stack grows with the string.
pub(crate) const LONGEST_SUBJECT: u32 = 65_536;

/// Patterns longer than this are refused unread.
const LONGEST_PATTERN: usize = 512;

/// The largest count accepted in `{n,m}`: engines unroll counted repetition.
const LARGEST_COUNT: u32 = 1_000;

/// Work that counts as small for a pattern that is tried at one position.
const SMALL_WORK: u64 = 4_096;

/// Work that counts as small for a pattern that is tried at every position.
const SMALL_WORK_EACH: u64 = 256;

/// Whether `pattern`, compiled with the `u` flag, matches in linear time and means the same to
/// `RegExp` and to the engine in Rust.
#[must_use]
pub fn is_safe(pattern: &str) -> bool {
    if pattern.len() > LONGEST_PATTERN || !pattern.is_ascii() {
        return false;
    }
    let Some(parsed) = parse::parse(pattern) else {
        return false;
    };
    let work = Work::of(&parsed.body, !parsed.ends_at_end);
    let small = if parsed.starts_at_start {
        SMALL_WORK
    } else {
        SMALL_WORK_EACH
    };
    let few_ways = work.ways.saturating_mul(work.length.max(1)) <= small;
    let one_way = (parsed.starts_at_start || work.length <= small)
        && reads_one_way(&parsed.body, Class::NOTHING).is_some();
    few_ways || one_way
}

/// An upper bound on the ways to match a piece and on the length of what it matches.
#[derive(Clone, Copy)]
struct Work {
    ways: u64,
    length: u64,
}

impl Work {
    /// `open_end`: nothing follows the piece, so a greedy repetition there is never undone and its
    /// least count is what matters for whether a match exists.
    fn of(piece: &Piece, open_end: bool) -> Self {
        match piece {
            Piece::Char(_) => Self { ways: 1, length: 1 },
            Piece::Sequence(parts) => {
                let mut total = Self { ways: 1, length: 0 };
                for (index, part) in parts.iter().enumerate() {
                    let last = index + 1 == parts.len();
                    let work = Self::of(part, open_end && last);
                    total.ways = total.ways.saturating_mul(work.ways);
                    total.length = total.length.saturating_add(work.length);
                }
                total
            }
            Piece::Choice(branches) => {
                let mut total = Self { ways: 0, length: 0 };
                for branch in branches {
                    let work = Self::of(branch, open_end);
                    total.ways = total.ways.saturating_add(work.ways);
                    total.length = total.length.max(work.length);
                }
                total
            }
            Piece::Repeat(inner, quantifier) => {
                let work = Self::of(inner, false);
                let Some(most) = quantifier.most.or(if open_end {
                    Some(quantifier.least)
                } else {
                    None
                }) else {
                    return Self {
                        ways: u64::MAX,
                        length: u64::MAX,
                    };
                };
                let counts = u64::from(most.saturating_sub(quantifier.least)).saturating_add(1);
                Self {
                    ways: work.ways.saturating_pow(most).saturating_mul(counts),
                    length: work.length.saturating_mul(u64::from(most)),
                }
            }
        }
    }
}

/// What a piece that reads one way can begin with.
#[derive(Clone, Copy)]
struct Reading {
    first: Class,
    can_be_empty: bool,
}

/// The first characters of `piece` if the next character always decides how it is read, given what
/// can come right after it.
fn reads_one_way(piece: &Piece, after: Class) -> Option<Reading> {
    match piece {
        Piece::Char(class) => Some(Reading {
            first: *class,
            can_be_empty: false,
        }),
        Piece::Sequence(parts) => {
            let mut following = after;
            let mut reading = Reading {
                first: Class::NOTHING,
                can_be_empty: true,
            };
            for part in parts.iter().rev() {
                let head = reads_one_way(part, following)?;
                if head.can_be_empty {
                    following = following.union(head.first);
                    reading.first = reading.first.union(head.first);
                } else {
                    following = head.first;
                    reading = head;
                }
            }
            Some(reading)
        }
        Piece::Choice(branches) => {
            let mut reading = Reading {
                first: Class::NOTHING,
                can_be_empty: false,
            };
            for branch in branches {
                let head = reads_one_way(branch, after)?;
                if head.can_be_empty || reading.first.overlaps(head.first) {
                    return None;
                }
                reading.first = reading.first.union(head.first);
            }
            Some(reading)
        }
        Piece::Repeat(inner, quantifier) => one_way_repeat(inner, *quantifier, after),
    }
}

fn one_way_repeat(inner: &Piece, quantifier: Quantifier, after: Class) -> Option<Reading> {
    let alone = reads_one_way(inner, Class::NOTHING)?;
    // A body that can be empty makes a loop that goes round without reading.
    if alone.can_be_empty {
        return None;
    }
    let varies = quantifier.most != Some(quantifier.least);
    if varies && alone.first.overlaps(after) {
        return None;
    }
    // After one round comes the next one or what follows the loop.
    let head = reads_one_way(inner, after.union(alone.first))?;
    Some(Reading {
        first: head.first,
        can_be_empty: quantifier.least == 0,
    })
}

#[cfg(test)]
mod tests {
    use super::is_safe;

    #[test]
    fn everyday_patterns_are_accepted() {
        for pattern in [
            "^[a-z]+$",
            "^#[0-9a-fA-F]{6}$",
            r"^\d{4}-\d{2}-\d{2}$",
            r"^-?\d+(\.\d+)?$",
            "^[a-z0-9]+(-[a-z0-9]+)*$",
            "^(get|post|put|patch|delete)$",
            "^x-",
            "foo",
            "[A-Z]",
            "^[^/]+$",
            "[a-z]+",
            r"^[\w.-]+@[a-z]+$",
            "^$",
            "",
            "^.*$",
            r"^\S+$",
            r"^[^\s]+$",
            r"^a\$",
        ] {
            assert!(is_safe(pattern), "{pattern}");
        }
    }

    #[test]
    fn patterns_that_can_explode_are_refused() {
        for pattern in [
            "^(a+)+$",
            "^(a|a)*$",
            "^(a|ab)*$",
            "^a*a*$",
            "^a*b?a*$",
            r"^\w+\d+$",
            "^(a*)*$",
            "^(a?)*b$",
            // Unanchored: tried at every position, quadratic.
            "a+b",
            "[a-z]+$",
            ".*x",
            "^.*x",
            "^(.|x)+$",
            "^([a-z]{0,900}){0,900}$",
            "^(a{2,3}){1,}a$",
            "^(ab?)*b$",
            "^(|){1000}$",
            r"^\S*\s*.$",
            r"^[^\s]*[^\S]*\u00a0$",
        ] {
            assert!(!is_safe(pattern), "{pattern}");
        }
    }

    #[test]
    fn syntax_beyond_the_small_language_is_refused() {
        for pattern in [
            "(?=a)",
            "(?!a)",
            "(?<=a)",
            "(?<n>a)",
            r"(a)\1",
            r"\bword\b",
            r"\p{L}",
            r"\u0041",
            r"\cA",
            r"\0",
            "é",
            "a$b",
            "a^",
            "^a|b$",
            "a**",
            "a+?",
            "a{3,2}",
            "[z-a]",
            "[a",
            "(a",
            "a)",
            "{1}",
            "a{",
            "]",
            r"\",
            r"\-",
            "[]",
            "[^]",
            r"[\b]",
            "a{1001}",
            "[a-\\d]",
        ] {
            assert!(!is_safe(pattern), "{pattern}");
        }
    }

    #[test]
    fn long_patterns_are_refused_unread() {
        assert!(!is_safe(&"a".repeat(513)));
        assert!(!is_safe(&"(".repeat(500)));
    }
}

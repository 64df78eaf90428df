//! Decides which patterns may run on JavaScript's own `RegExp`.
//!
//! Texts come from anywhere, and `RegExp` backtracks without a limit: `^(a+)+$` and thirty letters
//! are enough to stop a process. This analysis accepts patterns for which the time is provably
//! proportional to the length of the string and, for patterns of JSON Schemas, whose meaning is the
//! same in every engine. (What a pattern of a TypeBox kind means is what `RegExp` says.)
//! Whatever it does not understand is refused, which costs only speed: the pattern then runs on the
//! engines in Rust, which count.
//!
//! The proof rests on two rules, either of which is enough.
//!
//! * **One way to read.** At every point where the pattern could go on in more than one way, the
//!   next character decides which (the sets of characters are disjoint). Then a wrong choice fails
//!   on the spot and backtracking undoes each choice at most once. A pattern that is not anchored
//!   at its start is tried at every position, so there it must also have a small longest match.
//! * **Few ways to read.** Without unbounded repetition the number of ways to match is finite; when
//!   it is small the work for each start position is bounded by a constant.

use regex_syntax::hir::ClassUnicode;

use super::ast::{Ast, Parsed, Repeat, set_of};

/// Longest string handed to `RegExp`: its backtracking stack grows with the string.
pub(crate) const LONGEST_SUBJECT: u32 = 65_536;

/// Patterns longer than this are refused unread.
const LONGEST_PATTERN: usize = 512;

/// The largest count accepted in `{n,m}`: engines unroll counted repetition.
const LARGEST_COUNT: u32 = 1_000;

/// Repetitions nested deeper than this are refused: each is looked at twice.
const DEEPEST: u32 = 6;

/// Work that counts as small for a pattern that is tried at one position.
const SMALL_WORK: u64 = 4_096;

/// Work that counts as small for a pattern that is tried at every position.
const SMALL_WORK_EACH: u64 = 256;

/// What one test costs: so many steps, and so many more for each character of the string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Price {
    pub(crate) once: u64,
    pub(crate) each: u64,
}

/// What a pattern, compiled with the `u` flag, costs; none where it is not proven to take linear
/// time, or may mean something else to `RegExp` than to the engines in Rust.
pub(super) fn price(parsed: &Parsed, length: usize) -> Option<Price> {
    // Engines differ on lone surrogates, and on what a property contains.
    if !parsed.strict || parsed.beyond_ascii || parsed.by_unit {
        return None;
    }
    price_in_time(parsed, length)
}

/// What a pattern costs on JavaScript's own `RegExp`; none where it is not proven to take linear time.
pub(super) fn price_in_time(parsed: &Parsed, length: usize) -> Option<Price> {
    if length > LONGEST_PATTERN {
        return None;
    }
    let parts = match &parsed.root {
        Ast::Concat(parts) => parts.as_slice(),
        other => std::slice::from_ref(other),
    };
    let (at_start, parts) = match parts {
        [Ast::Start, rest @ ..] => (true, rest),
        _ => (false, parts),
    };
    let (at_end, parts) = match parts {
        [rest @ .., Ast::End] => (true, rest),
        _ => (false, parts),
    };
    let work = Work::of_all(parts, !at_end, DEEPEST)?;
    let small = if at_start {
        SMALL_WORK
    } else {
        SMALL_WORK_EACH
    };
    let few_ways = work.ways.saturating_mul(work.length.max(1));
    if few_ways <= small {
        return Some(if at_start {
            Price {
                once: few_ways,
                each: 0,
            }
        } else {
            Price {
                once: 1,
                each: few_ways,
            }
        });
    }
    if !at_start && work.length > small {
        return None;
    }
    all_read_deterministically(parts, &ClassUnicode::empty())?;
    Some(Price {
        once: 1,
        // A start may be tried at each character, and then reads so far.
        each: if at_start { 2 } else { work.length.max(2) },
    })
}

/// An upper bound on the ways to match a piece and on the length of what it matches.
#[derive(Clone, Copy)]
struct Work {
    ways: u64,
    length: u64,
}

impl Work {
    /// `open_end`: nothing follows the piece, so a greedy repetition there is never undone and its
    /// least count is what matters for whether a match exists. None for what is not understood.
    fn of(piece: &Ast, open_end: bool, deepest: u32) -> Option<Self> {
        Some(match piece {
            Ast::Empty => Self { ways: 1, length: 0 },
            Ast::Char(_) | Ast::Set(_) => Self { ways: 1, length: 1 },
            Ast::Concat(parts) => Self::of_all(parts, open_end, deepest)?,
            Ast::Alternate(branches) => {
                let mut total = Self { ways: 0, length: 0 };
                for branch in branches {
                    let work = Self::of(branch, open_end, deepest)?;
                    total.ways = total.ways.saturating_add(work.ways);
                    total.length = total.length.max(work.length);
                }
                total
            }
            Ast::Capture(_, inner) => Self::of(inner, open_end, deepest)?,
            Ast::Repeat(repeat) => Self::of_repeat(repeat, open_end, deepest.checked_sub(1)?)?,
            _ => return None,
        })
    }

    fn of_all(parts: &[Ast], open_end: bool, deepest: u32) -> Option<Self> {
        let mut total = Self { ways: 1, length: 0 };
        for (index, part) in parts.iter().enumerate() {
            let last = index + 1 == parts.len();
            let work = Self::of(part, open_end && last, deepest)?;
            total.ways = total.ways.saturating_mul(work.ways);
            total.length = total.length.saturating_add(work.length);
        }
        Some(total)
    }

    fn of_repeat(repeat: &Repeat, open_end: bool, deepest: u32) -> Option<Self> {
        let largest = repeat.most.unwrap_or(repeat.least);
        if !repeat.greedy || largest > LARGEST_COUNT {
            return None;
        }
        let work = Self::of(&repeat.inner, false, deepest)?;
        let most = repeat.most.or(open_end.then_some(repeat.least));
        let Some(most) = most else {
            return Some(Self {
                ways: u64::MAX,
                length: u64::MAX,
            });
        };
        let counts = u64::from(most.saturating_sub(repeat.least)).saturating_add(1);
        Some(Self {
            ways: work.ways.saturating_pow(most).saturating_mul(counts),
            length: work.length.saturating_mul(u64::from(most)),
        })
    }
}

/// What a piece that reads one way can begin with.
struct Reading {
    first: ClassUnicode,
    can_be_empty: bool,
}

fn union(one: &ClassUnicode, other: &ClassUnicode) -> ClassUnicode {
    let mut both = one.clone();
    both.union(other);
    both
}

fn overlap(one: &ClassUnicode, other: &ClassUnicode) -> bool {
    let mut both = one.clone();
    both.intersect(other);
    !both.ranges().is_empty()
}

/// The first characters of `piece` if the next character always decides how it is read, given what
/// can come right after it.
fn reads_deterministically(piece: &Ast, after: &ClassUnicode) -> Option<Reading> {
    let one = |first| Reading {
        first,
        can_be_empty: false,
    };
    match piece {
        Ast::Char(found) => Some(one(set_of(&[(*found, *found)]))),
        Ast::Set(set) => Some(one((**set).clone())),
        Ast::Empty => all_read_deterministically(&[], after),
        Ast::Concat(parts) => all_read_deterministically(parts, after),
        Ast::Alternate(branches) => {
            let mut reading = one(ClassUnicode::empty());
            for branch in branches {
                let head = reads_deterministically(branch, after)?;
                if head.can_be_empty || overlap(&reading.first, &head.first) {
                    return None;
                }
                reading.first.union(&head.first);
            }
            Some(reading)
        }
        Ast::Capture(_, inner) => reads_deterministically(inner, after),
        Ast::Repeat(repeat) => deterministic_repeat(repeat, after),
        _ => None,
    }
}

fn all_read_deterministically(parts: &[Ast], after: &ClassUnicode) -> Option<Reading> {
    let mut following = after.clone();
    let mut reading = Reading {
        first: ClassUnicode::empty(),
        can_be_empty: true,
    };
    for part in parts.iter().rev() {
        let head = reads_deterministically(part, &following)?;
        if head.can_be_empty {
            following.union(&head.first);
            reading.first.union(&head.first);
        } else {
            following = head.first.clone();
            reading = head;
        }
    }
    Some(reading)
}

fn deterministic_repeat(repeat: &Repeat, after: &ClassUnicode) -> Option<Reading> {
    let alone = reads_deterministically(&repeat.inner, &ClassUnicode::empty())?;
    // A body that can be empty makes a loop that goes round without reading.
    if alone.can_be_empty {
        return None;
    }
    let varies = repeat.most != Some(repeat.least);
    if varies && overlap(&alone.first, after) {
        return None;
    }
    // After one round comes the next one or what follows the loop.
    let head = reads_deterministically(&repeat.inner, &union(after, &alone.first))?;
    Some(Reading {
        first: head.first,
        can_be_empty: repeat.least == 0,
    })
}

#[cfg(test)]
mod tests {
    use crate::patterns::{Dialect, Pattern};

    fn is_safe(pattern: &str) -> bool {
        Pattern::new(pattern, "", Dialect::JsonSchema)
            .price_elsewhere()
            .is_some()
    }

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
            r"(a)\1",
            r"\bword\b",
            r"\p{L}",
            "é",
            r"\u00e9",
            r"[a-\uffff]",
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

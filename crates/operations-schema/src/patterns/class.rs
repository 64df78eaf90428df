//! Character classes.

use super::cursor::{Cursor, Groups};
use super::engine::PatternFailure;
use super::escape::{Escape, read_escape};
use super::translate::{Syntax, push_literal, syntax_error, units};

/// A member of a class.
enum Member {
    Code(u32),
    Set(String),
}

/// Reads a class after its `[` and writes it in Rust's syntax.
pub(super) fn read_class(
    cursor: &mut Cursor,
    syntax: Syntax,
    out: &mut String,
) -> Result<(), PatternFailure> {
    let negated = cursor.eat('^');
    if cursor.eat(']') {
        // `[]` matches nothing and `[^]` everything; Rust has no empty class.
        out.push_str(if negated {
            r"[\x{0}-\x{10FFFF}]"
        } else {
            r"[^\x{0}-\x{10FFFF}]"
        });
        return Ok(());
    }
    out.push_str(if negated { "[^" } else { "[" });
    while !cursor.eat(']') {
        let from = member(cursor, syntax)?;
        let range = cursor.peek() == Some('-') && !matches!(cursor.ahead(1), Some(']') | None);
        if !range {
            push_member(out, syntax, &from);
            continue;
        }
        cursor.next();
        let to = member(cursor, syntax)?;
        if let (Member::Code(low), Member::Code(high)) = (&from, &to) {
            push_range(out, syntax, *low, *high)?;
        } else if syntax.strict {
            return syntax_error("a range of a class ends in a set");
        } else {
            push_member(out, syntax, &from);
            push_literal(out, u32::from('-'));
            push_member(out, syntax, &to);
        }
    }
    out.push(']');
    Ok(())
}

fn member(cursor: &mut Cursor, syntax: Syntax) -> Result<Member, PatternFailure> {
    match cursor.next() {
        None => syntax_error("a class is not closed"),
        Some('\\') => {
            let no_groups = Groups {
                count: 0,
                names: Vec::new(),
            };
            match read_escape(cursor, syntax, &no_groups, true)? {
                Escape::Code(code) => Ok(Member::Code(code)),
                Escape::Set(set) => Ok(Member::Set(set)),
                Escape::Boundary { .. } | Escape::Group(_) => {
                    syntax_error("a class cannot hold this escape")
                }
            }
        }
        Some(found) => Ok(Member::Code(u32::from(found))),
    }
}

fn push_member(out: &mut String, syntax: Syntax, member: &Member) {
    match member {
        Member::Set(set) => out.push_str(set),
        Member::Code(code) if syntax.by_code_point => push_literal(out, *code),
        Member::Code(code) => {
            for unit in units(*code).into_iter().flatten() {
                push_literal(out, unit);
            }
        }
    }
}

fn push_range(out: &mut String, syntax: Syntax, low: u32, high: u32) -> Result<(), PatternFailure> {
    if syntax.by_code_point {
        return one_range(out, low, high);
    }
    // Without the `u` flag the range stands between the units next to the dash.
    let (before, from) = match units(low) {
        [first, Some(second)] => (first, second),
        [_, None] => (None, low),
    };
    let (to, after) = match units(high) {
        [Some(first), second] => (first, second),
        [None, _] => (high, None),
    };
    for extra in [before, after].into_iter().flatten() {
        push_literal(out, extra);
    }
    one_range(out, from, to)
}

fn one_range(out: &mut String, low: u32, high: u32) -> Result<(), PatternFailure> {
    if low > high {
        return syntax_error("a range of a class is out of order");
    }
    // Surrogates have stand-ins outside their place, so a range across them is written in parts.
    let parts = [(0, 0xD7FF), (0xD800, 0xDFFF), (0xE000, 0x10_FFFF)];
    for (start, end) in parts {
        let (from, to) = (low.max(start), high.min(end));
        if from <= to {
            push_literal(out, from);
            out.push('-');
            push_literal(out, to);
        }
    }
    Ok(())
}

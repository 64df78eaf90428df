//! Character classes.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::PatternFailure;
use super::ast::Set;
use super::escape::Escape;
use super::parse::{Parser, syntax_error};
use super::units::{stand_in, units};

/// Ranges in the order in which they are written: sorting them once is enough.
type Ranges = Vec<ClassUnicodeRange>;

/// A member of a class.
enum Member {
    Code(u32),
    Set(Set),
}

impl Parser {
    /// Reads a class after its `[`.
    pub(super) fn class(&mut self) -> Result<ClassUnicode, PatternFailure> {
        let negated = self.cursor.eat('^');
        let mut class = Vec::new();
        while !self.cursor.eat(']') {
            let from = self.member()?;
            let range = self.cursor.peek() == Some('-')
                && !matches!(self.cursor.ahead(1), Some(']') | None);
            if !range {
                self.add(&mut class, &from)?;
                continue;
            }
            self.cursor.next();
            let to = self.member()?;
            if let (Member::Code(low), Member::Code(high)) = (&from, &to) {
                self.add_range(&mut class, *low, *high)?;
            } else if self.syntax.strict {
                return syntax_error("a range of a class ends in a set");
            } else {
                self.add(&mut class, &from)?;
                self.add(&mut class, &Member::Code(u32::from('-')))?;
                self.add(&mut class, &to)?;
            }
        }
        let mut class = self.folded(ClassUnicode::new(class));
        if negated {
            class.negate();
        }
        Ok(class)
    }

    fn member(&mut self) -> Result<Member, PatternFailure> {
        match self.cursor.next() {
            None => syntax_error("a class is not closed"),
            Some('\\') => match self.escape(true)? {
                Escape::Code(code) => Ok(Member::Code(code)),
                Escape::Set(set) => Ok(Member::Set(set)),
                Escape::Boundary { .. } | Escape::Group(_) => {
                    syntax_error("a class cannot hold this escape")
                }
            },
            Some(found) => Ok(Member::Code(u32::from(found))),
        }
    }

    fn add(&mut self, class: &mut Ranges, member: &Member) -> Result<(), PatternFailure> {
        match member {
            Member::Set(set) => {
                self.count_ranges(set)?;
                class.extend_from_slice(set.ranges());
                Ok(())
            }
            Member::Code(code) => self.add_range(class, *code, *code),
        }
    }

    fn add_range(&mut self, class: &mut Ranges, low: u32, high: u32) -> Result<(), PatternFailure> {
        self.beyond_ascii |= low.max(high) > 0x7F;
        let (mut from, mut to) = (low, high);
        if !self.syntax.by_code_point {
            // Without the `u` flag the range stands between the units next to the dash, and the
            // units beyond them are members too.
            if let (first, Some(second)) = units(low) {
                push(class, first, first);
                from = second;
            }
            if let (first, Some(second)) = units(high) {
                push(class, second, second);
                to = first;
            }
            if low == high && from != to {
                // One character of two units: no range at all.
                return Ok(());
            }
        }
        if from > to {
            return syntax_error("a range of a class is out of order");
        }
        push(class, from, to);
        Ok(())
    }
}

/// Surrogates have stand-ins outside their place, so a range across them is added in parts.
fn push(class: &mut Ranges, from: u32, to: u32) {
    for (start, end) in [(0, 0xD7FF), (0xD800, 0xDFFF), (0xE000, 0x10_FFFF)] {
        let (from, to) = (from.max(start), to.min(end));
        if from <= to {
            class.push(ClassUnicodeRange::new(stand_in(from), stand_in(to)));
        }
    }
}

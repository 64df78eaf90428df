//! Reads ECMAScript's regular expressions.

use std::collections::HashMap;
use std::sync::Arc;

use regex_syntax::hir::ClassUnicode;

use super::ast::{Ast, LINE_ENDS, Look, Parsed, Repeat, Set, set_of};
use super::cursor::{Cursor, Groups, find_groups, read_group_name};
use super::escape::Escape;
use super::units::{stand_in, units};
use super::{Dialect, PatternFailure};

/// How many groups may be open at once.
const MAX_GROUP_DEPTH: usize = 100;
/// How long a pattern may be.
const MAX_SOURCE: usize = 64 * 1024;
/// How many ranges all sets of a pattern may have together: a few letters can name a thousand.
const MAX_RANGES: usize = 100_000;

/// How a pattern is to be read.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one per flag of a regular expression"
)]
pub(super) struct Syntax {
    /// Only what the `u` flag allows is allowed.
    pub(super) strict: bool,
    /// `\u{...}`, `\p{...}` and surrogate pairs have their unicode meaning, and the text is a
    /// sequence of code points, not of UTF-16 units.
    pub(super) by_code_point: bool,
    ignore_case: bool,
    multi_line: bool,
    dot_all: bool,
    sticky: bool,
}

impl Syntax {
    pub(super) fn new(flags: &str, dialect: Dialect) -> Result<Self, PatternFailure> {
        let unicode = dialect == Dialect::JsonSchema || flags.contains('u');
        let mut syntax = Self {
            strict: unicode,
            by_code_point: unicode,
            ignore_case: false,
            multi_line: false,
            dot_all: false,
            sticky: false,
        };
        for (position, flag) in flags.char_indices() {
            if flags
                .get(..position)
                .is_some_and(|before| before.contains(flag))
            {
                return syntax_error("a flag is repeated");
            }
            match flag {
                'i' => syntax.ignore_case = true,
                'm' => syntax.multi_line = true,
                's' => syntax.dot_all = true,
                'y' => syntax.sticky = true,
                'u' | 'g' | 'd' => {}
                'v' => return unsupported("the flag v is not supported"),
                _ => return syntax_error("a flag is unknown"),
            }
        }
        Ok(syntax)
    }

    /// The same without the strictness of the `u` flag.
    pub(super) fn lenient(self) -> Self {
        Self {
            strict: false,
            ..self
        }
    }
}

pub(super) fn syntax_error<T>(reason: &str) -> Result<T, PatternFailure> {
    Err(PatternFailure::Syntax(reason.into()))
}

fn unsupported<T>(reason: &str) -> Result<T, PatternFailure> {
    Err(PatternFailure::Unsupported(reason.into()))
}

/// Parses a pattern; returns also what that cost, in units of work.
pub(super) fn parse(source: &str, syntax: Syntax) -> (Result<Parsed, PatternFailure>, u64) {
    if source.len() > MAX_SOURCE {
        return (unsupported("it is too long"), 0);
    }
    let mut cursor = Cursor::new(source);
    let length = source.len() as u64;
    let groups = match find_groups(&mut cursor) {
        Ok(groups) => groups,
        Err(failure) => return (Err(failure), length),
    };
    let mut parser = Parser {
        cursor,
        syntax,
        groups,
        opened: 0,
        depth: 0,
        ranges: 0,
        properties: HashMap::new(),
        beyond_ascii: false,
    };
    let parsed = parser.whole();
    // A property that is asked for the first time is looked up in large tables.
    let tables = parser.properties.len() as u64 * 2_000;
    (parsed, length * 8 + parser.ranges as u64 * 2 + tables)
}

pub(super) struct Parser {
    pub(super) cursor: Cursor,
    pub(super) syntax: Syntax,
    pub(super) groups: Groups,
    /// How many groups that remember have begun.
    opened: usize,
    depth: usize,
    ranges: usize,
    /// Sets of `\p{...}` by name: they are large.
    pub(super) properties: HashMap<String, Option<Set>>,
    pub(super) beyond_ascii: bool,
}

/// A part, and whether a quantifier may follow it.
struct Piece {
    ast: Ast,
    repeats: bool,
}

impl Piece {
    fn atom(ast: Ast) -> Self {
        Self { ast, repeats: true }
    }

    fn assertion(ast: Ast) -> Self {
        Self {
            ast,
            repeats: false,
        }
    }
}

impl Parser {
    fn whole(&mut self) -> Result<Parsed, PatternFailure> {
        let root = self.alternatives()?;
        if self.cursor.next().is_some() {
            return syntax_error("a ) has no (");
        }
        let syntax = self.syntax;
        Ok(Parsed {
            root,
            groups: self.groups.count,
            by_unit: !syntax.by_code_point,
            ignore_case: syntax.ignore_case,
            sticky: syntax.sticky,
            strict: syntax.strict,
            beyond_ascii: self.beyond_ascii,
        })
    }

    /// Alternatives up to a closing parenthesis or the end.
    fn alternatives(&mut self) -> Result<Ast, PatternFailure> {
        let mut branches = vec![self.sequence()?];
        while self.cursor.eat('|') {
            branches.push(self.sequence()?);
        }
        Ok(one_or(branches, Ast::Alternate))
    }

    fn sequence(&mut self) -> Result<Ast, PatternFailure> {
        let mut parts = Vec::new();
        while !matches!(self.cursor.peek(), None | Some('|' | ')')) {
            let before = self.opened;
            let piece = self.piece(&mut parts)?;
            let part = self.quantified(piece, before)?;
            parts.push(part);
        }
        Ok(one_or(parts, Ast::Concat))
    }

    /// The next part; what it leaves in `parts` comes before it.
    fn piece(&mut self, parts: &mut Vec<Ast>) -> Result<Piece, PatternFailure> {
        let Some(found) = self.cursor.next() else {
            return Ok(Piece::assertion(Ast::Empty));
        };
        Ok(match found {
            '(' => self.group()?,
            '*' | '+' | '?' => return syntax_error("a quantifier has nothing to repeat"),
            '{' => match self.braces()? {
                Some(_) => return syntax_error("a quantifier has nothing to repeat"),
                None if self.syntax.strict => return syntax_error("a { stands alone"),
                None => self.literal(u32::from('{'), parts)?,
            },
            '}' | ']' if self.syntax.strict => return syntax_error("a bracket stands alone"),
            '^' if self.syntax.multi_line => Piece::assertion(Ast::LineStart),
            '^' => Piece::assertion(Ast::Start),
            '$' if self.syntax.multi_line => Piece::assertion(Ast::LineEnd),
            '$' => Piece::assertion(Ast::End),
            '.' => {
                let mut line_ends = ClassUnicode::empty();
                if !self.syntax.dot_all {
                    line_ends = set_of(&LINE_ENDS);
                }
                line_ends.negate();
                Piece::atom(self.set(line_ends)?)
            }
            '[' => {
                let class = self.class()?;
                Piece::atom(self.set(class)?)
            }
            '\\' => match self.escape(false)? {
                Escape::Code(code) => self.literal(code, parts)?,
                Escape::Set(set) => Piece::atom(Ast::Set(set)),
                Escape::Boundary { inside } => Piece::assertion(Ast::Boundary { inside }),
                Escape::Group(number) => Piece::atom(Ast::BackReference(number)),
            },
            plain => self.literal(u32::from(plain), parts)?,
        })
    }

    /// A character. Without the `u` flag one beyond the basic plane is two, and what follows it
    /// repeats the second.
    fn literal(&mut self, code: u32, parts: &mut Vec<Ast>) -> Result<Piece, PatternFailure> {
        self.beyond_ascii |= code > 0x7F;
        let last = if self.syntax.by_code_point {
            code
        } else {
            match units(code) {
                (first, Some(second)) => {
                    let first = self.character(stand_in(first))?;
                    parts.push(first);
                    second
                }
                (only, None) => only,
            }
        };
        Ok(Piece::atom(self.character(stand_in(last))?))
    }

    fn character(&mut self, found: char) -> Result<Ast, PatternFailure> {
        if self.syntax.ignore_case {
            let set = self.folded(set_of(&[(found, found)]));
            return self.set(set);
        }
        Ok(Ast::Char(found))
    }

    /// The set with the other cases of its letters, where case does not matter.
    pub(super) fn folded(&self, mut set: ClassUnicode) -> ClassUnicode {
        if self.syntax.ignore_case {
            set.case_fold_simple();
        }
        set
    }

    fn set(&mut self, set: ClassUnicode) -> Result<Ast, PatternFailure> {
        self.count_ranges(&set)?;
        Ok(Ast::Set(Arc::new(set)))
    }

    /// Counts what a set adds to the size of the pattern.
    pub(super) fn count_ranges(&mut self, set: &ClassUnicode) -> Result<(), PatternFailure> {
        self.ranges += set.ranges().len();
        if self.ranges > MAX_RANGES {
            return unsupported("its classes are too large");
        }
        Ok(())
    }

    /// A group after its parenthesis.
    fn group(&mut self) -> Result<Piece, PatternFailure> {
        if self.depth >= MAX_GROUP_DEPTH {
            return unsupported("its groups are too deep");
        }
        self.depth += 1;
        let piece = if self.cursor.peek() != Some('?') {
            self.capture()?
        } else if self.cursor.eat_text("?:") {
            Piece::atom(self.alternatives()?)
        } else if self.cursor.eat_text("?=") {
            self.look(true, false)?
        } else if self.cursor.eat_text("?!") {
            self.look(true, true)?
        } else if self.cursor.eat_text("?<=") {
            self.look(false, false)?
        } else if self.cursor.eat_text("?<!") {
            self.look(false, true)?
        } else if self.cursor.eat_text("?<") {
            read_group_name(&mut self.cursor)?;
            self.capture()?
        } else {
            return syntax_error("a group begins with ? and an unknown character");
        };
        self.depth -= 1;
        if self.cursor.eat(')') {
            Ok(piece)
        } else {
            syntax_error("a ( is not closed")
        }
    }

    fn capture(&mut self) -> Result<Piece, PatternFailure> {
        self.opened += 1;
        let number = self.opened;
        let inner = self.alternatives()?;
        Ok(Piece::atom(Ast::Capture(number, Box::new(inner))))
    }

    /// Only a look ahead, and only without the `u` flag, may repeat.
    fn look(&mut self, ahead: bool, negative: bool) -> Result<Piece, PatternFailure> {
        let inner = self.alternatives()?;
        Ok(Piece {
            ast: Ast::Look(Box::new(Look {
                inner,
                ahead,
                negative,
            })),
            repeats: ahead && !self.syntax.strict,
        })
    }

    /// `{n}`, `{n,}` or `{n,m}` after its brace; none when it is not a quantifier.
    fn braces(&mut self) -> Result<Option<(u32, Option<u32>)>, PatternFailure> {
        let start = self.cursor.position();
        let mut digits = [String::new(), String::new()];
        let mut comma = false;
        let [low, high] = &mut digits;
        loop {
            match self.cursor.next() {
                Some(digit @ '0'..='9') => (if comma { &mut *high } else { &mut *low }).push(digit),
                Some(',') if !comma => comma = true,
                Some('}') if !low.is_empty() => break,
                _ => {
                    self.cursor.rewind(start);
                    return Ok(None);
                }
            }
        }
        let Ok(least) = low.parse::<u32>() else {
            return unsupported("a repetition is too large");
        };
        if !comma {
            return Ok(Some((least, Some(least))));
        }
        if high.is_empty() {
            return Ok(Some((least, None)));
        }
        match high.parse::<u32>() {
            Err(_) => unsupported("a repetition is too large"),
            Ok(most) if least > most => {
                syntax_error("the numbers of a quantifier are out of order")
            }
            Ok(most) => Ok(Some((least, Some(most)))),
        }
    }

    /// A part with the quantifier that follows it, if one does.
    fn quantified(&mut self, piece: Piece, before: usize) -> Result<Ast, PatternFailure> {
        let counts = match self.cursor.peek() {
            Some('*') => Some((0, None)),
            Some('+') => Some((1, None)),
            Some('?') => Some((0, Some(1))),
            _ => None,
        };
        let counts = if counts.is_some() {
            self.cursor.next();
            counts
        } else if self.cursor.eat('{') {
            let counts = self.braces()?;
            if counts.is_none() {
                // The next part says what a lone brace is.
                self.cursor.rewind(self.cursor.position() - 1);
            }
            counts
        } else {
            None
        };
        let Some((least, most)) = counts else {
            return Ok(piece.ast);
        };
        if !piece.repeats {
            return syntax_error("a quantifier has nothing to repeat");
        }
        let greedy = !self.cursor.eat('?');
        Ok(Ast::Repeat(Box::new(Repeat {
            inner: piece.ast,
            least,
            most,
            greedy,
            groups: before + 1..self.opened + 1,
        })))
    }
}

/// Several parts as one, without a wrapper around a single one.
fn one_or(mut parts: Vec<Ast>, several: fn(Vec<Ast>) -> Ast) -> Ast {
    match parts.len() {
        0 => Ast::Empty,
        1 => parts.pop().unwrap_or(Ast::Empty),
        _ => several(parts),
    }
}

//! From ECMAScript's regular expressions to Rust's.

use std::fmt::Write as _;

use super::Dialect;
use super::class::read_class;
use super::cursor::{Cursor, Groups, find_groups, read_group_name};
use super::engine::PatternFailure;
use super::escape::{Escape, read_escape};

/// How many groups may be open at once.
const MAX_GROUP_DEPTH: usize = 100;
/// How long a pattern may be.
const MAX_SOURCE: usize = 64 * 1024;

pub(super) const LINE_ENDS: &str = r"\x{A}\x{D}\x{2028}\x{2029}";
pub(super) const WORD: &str = "0-9A-Za-z_";

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
                return Err(PatternFailure::Syntax("a flag is repeated".into()));
            }
            match flag {
                'i' => syntax.ignore_case = true,
                'm' => syntax.multi_line = true,
                's' => syntax.dot_all = true,
                'y' => syntax.sticky = true,
                'u' | 'g' | 'd' => {}
                'v' => {
                    return Err(PatternFailure::Unsupported(
                        "the flag v is not supported".into(),
                    ));
                }
                _ => return Err(PatternFailure::Syntax("a flag is unknown".into())),
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

/// A pattern in Rust's syntax.
#[derive(Debug)]
pub(super) struct Translated {
    pub(super) text: String,
    pub(super) needs_backtracking: bool,
}

pub(super) fn syntax_error<T>(reason: &str) -> Result<T, PatternFailure> {
    Err(PatternFailure::Syntax(reason.into()))
}

/// Writes a character so that it can only mean itself.
pub(super) fn push_literal(out: &mut String, code: u32) {
    match char::from_u32(code) {
        Some(plain) if plain.is_ascii_alphanumeric() => out.push(plain),
        Some(_) => {
            let _ = write!(out, "\\x{{{code:X}}}");
        }
        None => {
            let _ = write!(out, "\\x{{{:X}}}", surrogate_stand_in(code));
        }
    }
}

/// Half a surrogate pair as a character: Rust's text has none, so a private one stands for it.
fn surrogate_stand_in(unit: u32) -> u32 {
    0x10_F000 + (unit - 0xD800)
}

/// The UTF-16 units of a code point, with stand-ins for surrogates.
pub(super) fn units(code: u32) -> [Option<u32>; 2] {
    let Some(above) = code.checked_sub(0x1_0000) else {
        return [Some(code), None];
    };
    [Some(0xD800 + (above >> 10)), Some(0xDC00 + (above & 0x3FF))]
}

/// A text in which each UTF-16 unit is one character.
pub(super) fn split_astral(text: &str) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for unit in text.encode_utf16() {
        let code = u32::from(unit);
        let stand_in = char::from_u32(code).or_else(|| char::from_u32(surrogate_stand_in(code)));
        out.push(stand_in.unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    out
}

/// Translates a pattern. With `backtracking` the text is for the backtracking engine.
pub(super) fn translate(
    source: &str,
    syntax: Syntax,
    backtracking: bool,
) -> Result<Translated, PatternFailure> {
    if source.len() > MAX_SOURCE {
        return Err(PatternFailure::Unsupported("it is too long".into()));
    }
    let mut cursor = Cursor::new(source);
    let groups = find_groups(&mut cursor)?;
    let mut translation = Translation {
        cursor,
        syntax,
        groups,
        backtracking,
        out: String::with_capacity(source.len() + 16),
        needs_backtracking: syntax.multi_line,
    };
    if syntax.ignore_case {
        translation.out.push_str("(?i)");
    }
    if syntax.sticky {
        translation.out.push_str(r"\A(?:");
    }
    translation.pattern()?;
    if syntax.sticky {
        translation.out.push(')');
    }
    Ok(Translated {
        text: translation.out,
        needs_backtracking: translation.needs_backtracking,
    })
}

struct Translation {
    cursor: Cursor,
    syntax: Syntax,
    groups: Groups,
    backtracking: bool,
    out: String,
    needs_backtracking: bool,
}

/// What was written last: may a quantifier follow?
#[derive(Clone, Copy, PartialEq)]
enum Last {
    Nothing,
    Atom,
    /// A lookahead: only without the `u` flag may a quantifier follow.
    Lookahead,
}

impl Translation {
    fn pattern(&mut self) -> Result<(), PatternFailure> {
        let mut open: Vec<Last> = Vec::new();
        let mut last = Last::Nothing;
        while let Some(found) = self.cursor.next() {
            last = match found {
                '|' => {
                    self.out.push('|');
                    Last::Nothing
                }
                '(' => {
                    if open.len() >= MAX_GROUP_DEPTH {
                        return Err(PatternFailure::Unsupported(
                            "its groups are too deep".into(),
                        ));
                    }
                    open.push(self.open_group()?);
                    Last::Nothing
                }
                ')' => {
                    self.out.push(')');
                    match open.pop() {
                        Some(kind) => kind,
                        None => return syntax_error("a ) has no ("),
                    }
                }
                '*' | '+' | '?' => self.quantifier(last, &found.to_string())?,
                '{' => match self.braces() {
                    Some(repeat) => self.quantifier(last, &repeat?)?,
                    None if self.syntax.strict => return syntax_error("a { stands alone"),
                    None => self.literal('{'),
                },
                '}' | ']' if self.syntax.strict => return syntax_error("a bracket stands alone"),
                '^' => {
                    let multi = format!(r"(?:\A|(?<=[{LINE_ENDS}]))");
                    self.out.push_str(if self.syntax.multi_line {
                        &multi
                    } else {
                        r"\A"
                    });
                    Last::Nothing
                }
                '$' => {
                    let multi = format!(r"(?:\z|(?=[{LINE_ENDS}]))");
                    self.out.push_str(if self.syntax.multi_line {
                        &multi
                    } else {
                        r"\z"
                    });
                    Last::Nothing
                }
                '.' => {
                    if self.syntax.dot_all {
                        self.out.push_str(r"[\x{0}-\x{10FFFF}]");
                    } else {
                        let _ = write!(self.out, "[^{LINE_ENDS}]");
                    }
                    Last::Atom
                }
                '[' => {
                    read_class(&mut self.cursor, self.syntax, &mut self.out)?;
                    Last::Atom
                }
                '\\' => self.escape()?,
                plain => self.literal(plain),
            };
        }
        if open.is_empty() {
            Ok(())
        } else {
            syntax_error("a ( is not closed")
        }
    }

    fn literal(&mut self, found: char) -> Last {
        self.code(u32::from(found));
        Last::Atom
    }

    fn code(&mut self, code: u32) {
        if self.syntax.by_code_point {
            push_literal(&mut self.out, code);
        } else {
            for unit in units(code).into_iter().flatten() {
                push_literal(&mut self.out, unit);
            }
        }
    }

    /// Opens a group; gives what it is once it is closed.
    fn open_group(&mut self) -> Result<Last, PatternFailure> {
        if self.cursor.peek() != Some('?') {
            self.out.push('(');
            return Ok(Last::Atom);
        }
        for (text, kind) in [
            ("?:", Last::Atom),
            ("?=", Last::Lookahead),
            ("?!", Last::Lookahead),
        ] {
            if self.cursor.eat_text(text) {
                self.needs_backtracking |= kind == Last::Lookahead;
                self.out.push('(');
                self.out.push_str(text);
                return Ok(kind);
            }
        }
        for text in ["?<=", "?<!"] {
            if self.cursor.eat_text(text) {
                self.needs_backtracking = true;
                self.out.push('(');
                self.out.push_str(text);
                return Ok(Last::Nothing);
            }
        }
        if self.cursor.eat_text("?<") {
            read_group_name(&mut self.cursor)?;
            self.out.push('(');
            return Ok(Last::Atom);
        }
        syntax_error("a group begins with ? and an unknown character")
    }

    /// `{n}`, `{n,}` or `{n,m}` after its brace; none when it is not a quantifier.
    fn braces(&mut self) -> Option<Result<String, PatternFailure>> {
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
                    return None;
                }
            }
        }
        let too_large = || {
            Err(PatternFailure::Unsupported(
                "a repetition is too large".into(),
            ))
        };
        let Ok(least) = low.parse::<u32>() else {
            return Some(too_large());
        };
        if !comma {
            return Some(Ok(format!("{{{least}}}")));
        }
        if high.is_empty() {
            return Some(Ok(format!("{{{least},}}")));
        }
        let Ok(most) = high.parse::<u32>() else {
            return Some(too_large());
        };
        Some(if least > most {
            syntax_error("the numbers of a quantifier are out of order")
        } else {
            Ok(format!("{{{least},{most}}}"))
        })
    }

    fn quantifier(&mut self, last: Last, repeat: &str) -> Result<Last, PatternFailure> {
        let allowed = last == Last::Atom || (last == Last::Lookahead && !self.syntax.strict);
        if !allowed {
            return syntax_error("a quantifier has nothing to repeat");
        }
        self.out.push_str(repeat);
        if self.cursor.eat('?') {
            self.out.push('?');
        }
        Ok(Last::Nothing)
    }

    fn escape(&mut self) -> Result<Last, PatternFailure> {
        match read_escape(&mut self.cursor, self.syntax, &self.groups, false)? {
            Escape::Code(code) => self.code(code),
            Escape::Set(set) => {
                let _ = write!(self.out, "[{set}]");
            }
            Escape::Boundary { inside } => {
                self.boundary(inside);
                return Ok(Last::Nothing);
            }
            Escape::Group(number) => {
                // A group that took no part matches the empty text in JavaScript.
                self.needs_backtracking = true;
                let _ = write!(self.out, "(?({number})\\{number}|)");
            }
        }
        Ok(Last::Atom)
    }

    fn boundary(&mut self, inside: bool) {
        if self.backtracking {
            let (first, second) = if inside { ("<=", "=") } else { ("<=", "!") };
            let (third, fourth) = if inside { ("<!", "!") } else { ("<!", "=") };
            let _ = write!(
                self.out,
                "(?:(?{first}[{WORD}])(?{second}[{WORD}])|(?{third}[{WORD}])(?{fourth}[{WORD}]))"
            );
        } else if inside {
            self.needs_backtracking = true;
        } else {
            self.out.push_str(r"(?-u:\b)");
        }
    }
}

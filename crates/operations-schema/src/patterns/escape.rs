//! What follows a backslash.

use std::sync::Arc;

use regex_syntax::hir::{Class, HirKind};

use super::PatternFailure;
use super::ast::{DIGITS, SPACE, Set, WORD, set_of};
use super::cursor::{Cursor, Groups, read_group_name};
use super::parse::{Parser, Syntax, syntax_error};

/// The meaning of an escape.
pub(super) enum Escape {
    /// A character.
    Code(u32),
    /// A set of characters.
    Set(Set),
    /// `\b`, or `\B` when `inside`.
    Boundary {
        /// Between two characters of the same sort.
        inside: bool,
    },
    /// A back reference.
    Group(usize),
}

impl Parser {
    /// Reads an escape after its backslash.
    pub(super) fn escape(&mut self, in_class: bool) -> Result<Escape, PatternFailure> {
        let syntax = self.syntax;
        let cursor = &mut self.cursor;
        let Some(found) = cursor.next() else {
            return syntax_error("it ends with a backslash");
        };
        let code = match found {
            'd' | 'D' => return Ok(self.known(&DIGITS, found == 'D')),
            'w' | 'W' => return Ok(self.known(&WORD, found == 'W')),
            's' | 'S' => return Ok(self.known(&SPACE, found == 'S')),
            'b' if in_class => 0x8,
            'b' => return Ok(Escape::Boundary { inside: false }),
            'B' if !in_class => return Ok(Escape::Boundary { inside: true }),
            'p' | 'P' if syntax.by_code_point => return self.property(found == 'P'),
            't' => 0x9,
            'n' => 0xA,
            'v' => 0xB,
            'f' => 0xC,
            'r' => 0xD,
            'c' => return control(cursor, syntax, in_class),
            'x' => match hex(cursor, 2) {
                Some(code) => code,
                None if syntax.strict => return syntax_error("\\x needs two hexadecimal digits"),
                None => u32::from('x'),
            },
            'u' => return Ok(Escape::Code(unicode(cursor, syntax)?)),
            'k' if !in_class && (syntax.strict || !self.groups.names.is_empty()) => {
                return named(cursor, &self.groups);
            }
            '0'..='9' => return digits(cursor, syntax, self.groups.count, found, in_class),
            '-' if in_class => u32::from('-'),
            '^' | '$' | '\\' | '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|'
            | '/' => u32::from(found),
            _ if syntax.strict => {
                return syntax_error("it escapes a character that needs no escape");
            }
            other => u32::from(other),
        };
        Ok(Escape::Code(code))
    }

    fn known(&self, ranges: &[(char, char)], negated: bool) -> Escape {
        let mut set = self.folded(set_of(ranges));
        if negated {
            set.negate();
        }
        Escape::Set(Arc::new(set))
    }

    /// After `\p` or `\P`.
    fn property(&mut self, negated: bool) -> Result<Escape, PatternFailure> {
        const WRONG: &str = "\\p needs a property name in braces";
        self.beyond_ascii = true;
        if !self.cursor.eat('{') {
            return syntax_error(WRONG);
        }
        let mut name = String::from(if negated { "\\P{" } else { "\\p{" });
        let empty = name.len();
        loop {
            match self.cursor.next() {
                Some('}') if name.len() > empty => break,
                Some(found) if found.is_ascii_alphanumeric() || found == '_' || found == '=' => {
                    name.push(found);
                }
                _ => return syntax_error(WRONG),
            }
        }
        name.push('}');
        let set = if let Some(known) = self.properties.get(&name) {
            known.clone()
        } else {
            let set = unicode_property(&name).map(|set| Arc::new(self.folded(set)));
            self.properties.insert(name, set.clone());
            set
        };
        match set {
            Some(set) => {
                self.count_ranges(&set)?;
                Ok(Escape::Set(set))
            }
            None => syntax_error("it names an unknown Unicode property"),
        }
    }
}

/// The set behind `\p{...}`, by the tables of Rust's own engine.
fn unicode_property(text: &str) -> Option<regex_syntax::hir::ClassUnicode> {
    match regex_syntax::parse(text).ok()?.into_kind() {
        HirKind::Class(Class::Unicode(set)) => Some(set),
        _ => None,
    }
}

fn hex(cursor: &mut Cursor, count: usize) -> Option<u32> {
    let start = cursor.position();
    let mut code = 0;
    for _ in 0..count {
        let Some(digit) = cursor.next().and_then(|found| found.to_digit(16)) else {
            cursor.rewind(start);
            return None;
        };
        code = code * 16 + digit;
    }
    Some(code)
}

/// After `\u`.
fn unicode(cursor: &mut Cursor, syntax: Syntax) -> Result<u32, PatternFailure> {
    if syntax.by_code_point && cursor.peek() == Some('{') {
        let start = cursor.position();
        cursor.next();
        let mut code: u32 = 0;
        let mut any = false;
        while let Some(digit) = cursor.peek().and_then(|found| found.to_digit(16)) {
            cursor.next();
            any = true;
            code = code.saturating_mul(16).saturating_add(digit);
        }
        if any && code <= 0x10_FFFF && cursor.eat('}') {
            return Ok(code);
        }
        if syntax.strict {
            return syntax_error("\\u{...} is not a code point");
        }
        cursor.rewind(start);
        return Ok(u32::from('u'));
    }
    match hex(cursor, 4) {
        Some(high @ 0xD800..0xDC00) if syntax.by_code_point => {
            let start = cursor.position();
            if cursor.eat_text("\\u") {
                if let Some(low @ 0xDC00..0xE000) = hex(cursor, 4) {
                    return Ok(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00));
                }
                cursor.rewind(start);
            }
            Ok(high)
        }
        Some(code) => Ok(code),
        None if syntax.strict => syntax_error("\\u needs four hexadecimal digits"),
        None => Ok(u32::from('u')),
    }
}

/// After `\c`.
fn control(cursor: &mut Cursor, syntax: Syntax, in_class: bool) -> Result<Escape, PatternFailure> {
    match cursor.peek() {
        Some(letter)
            if letter.is_ascii_alphabetic()
                || (in_class && !syntax.strict && (letter.is_ascii_digit() || letter == '_')) =>
        {
            cursor.next();
            Ok(Escape::Code(u32::from(letter) % 32))
        }
        _ if syntax.strict => syntax_error("\\c needs a letter"),
        _ => {
            // The backslash stands for itself, and the c is read again.
            cursor.rewind(cursor.position() - 1);
            Ok(Escape::Code(u32::from('\\')))
        }
    }
}

/// After `\k`.
fn named(cursor: &mut Cursor, groups: &Groups) -> Result<Escape, PatternFailure> {
    if !cursor.eat('<') {
        return syntax_error("\\k needs a group name");
    }
    let name = read_group_name(cursor)?;
    match groups.names.get(&name) {
        Some(number) => Ok(Escape::Group(*number)),
        None => syntax_error("it refers to a group that does not exist"),
    }
}

/// A back reference, `\0`, or an octal escape of old.
fn digits(
    cursor: &mut Cursor,
    syntax: Syntax,
    groups: usize,
    first: char,
    in_class: bool,
) -> Result<Escape, PatternFailure> {
    let start = cursor.position();
    if first == '0' && !matches!(cursor.peek(), Some('0'..='9')) {
        return Ok(Escape::Code(0));
    }
    if first != '0' && !in_class {
        let mut number = first.to_digit(10).unwrap_or(0) as usize;
        while let Some(digit) = cursor.peek().and_then(|found| found.to_digit(10)) {
            cursor.next();
            number = number.saturating_mul(10).saturating_add(digit as usize);
        }
        if number <= groups {
            return Ok(Escape::Group(number));
        }
        cursor.rewind(start);
    }
    if syntax.strict {
        return syntax_error("it refers to a group that does not exist");
    }
    let Some(mut code) = first.to_digit(8) else {
        return Ok(Escape::Code(u32::from(first)));
    };
    while let Some(digit) = cursor.peek().and_then(|found| found.to_digit(8)) {
        if code * 8 + digit > 0o377 {
            break;
        }
        cursor.next();
        code = code * 8 + digit;
    }
    Ok(Escape::Code(code))
}

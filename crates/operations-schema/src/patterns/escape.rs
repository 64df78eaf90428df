//! What follows a backslash.

use std::fmt::Write as _;

use super::cursor::{Cursor, Groups, read_group_name};
use super::engine::PatternFailure;
use super::translate::{Syntax, WORD, syntax_error};

/// JavaScript's white space, as the inside of a class.
const SPACE: &str = r"\x{9}-\x{D}\x{20}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}";

/// The meaning of an escape.
pub(super) enum Escape {
    /// A character.
    Code(u32),
    /// A set of characters, written as the inside of a class.
    Set(String),
    /// `\b`, or `\B` when `inside`.
    Boundary {
        /// Between two characters of the same sort.
        inside: bool,
    },
    /// A back reference.
    Group(usize),
}

/// Reads an escape after its backslash.
pub(super) fn read_escape(
    cursor: &mut Cursor,
    syntax: Syntax,
    groups: &Groups,
    in_class: bool,
) -> Result<Escape, PatternFailure> {
    let Some(found) = cursor.next() else {
        return syntax_error("it ends with a backslash");
    };
    let code = match found {
        'd' => return Ok(Escape::Set("0-9".into())),
        'D' => return Ok(Escape::Set("[^0-9]".into())),
        'w' => return Ok(Escape::Set(WORD.into())),
        'W' => return Ok(Escape::Set(format!("[^{WORD}]"))),
        's' => return Ok(Escape::Set(SPACE.into())),
        'S' => return Ok(Escape::Set(format!("[^{SPACE}]"))),
        'b' if in_class => 0x8,
        'b' => return Ok(Escape::Boundary { inside: false }),
        'B' if !in_class => return Ok(Escape::Boundary { inside: true }),
        'p' | 'P' if syntax.by_code_point => return property(cursor, found == 'P'),
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
        'k' if !in_class && (syntax.strict || !groups.names.is_empty()) => {
            return named(cursor, groups);
        }
        '0'..='9' => return digits(cursor, syntax, groups, found, in_class),
        '-' if in_class => u32::from('-'),
        '^' | '$' | '\\' | '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|'
        | '/' => u32::from(found),
        _ if syntax.strict => return syntax_error("it escapes a character that needs no escape"),
        other => u32::from(other),
    };
    Ok(Escape::Code(code))
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

/// After `\p` or `\P`.
fn property(cursor: &mut Cursor, negated: bool) -> Result<Escape, PatternFailure> {
    if !cursor.eat('{') {
        return syntax_error("\\p needs a property name in braces");
    }
    let mut name = String::new();
    loop {
        match cursor.next() {
            Some('}') if !name.is_empty() => break,
            Some(found) if found.is_ascii_alphanumeric() || found == '_' || found == '=' => {
                name.push(found);
            }
            _ => return syntax_error("\\p needs a property name in braces"),
        }
    }
    let mut set = String::new();
    let _ = write!(set, "\\{}{{{name}}}", if negated { 'P' } else { 'p' });
    Ok(Escape::Set(set))
}

/// After `\k`.
fn named(cursor: &mut Cursor, groups: &Groups) -> Result<Escape, PatternFailure> {
    if !cursor.eat('<') {
        return syntax_error("\\k needs a group name");
    }
    let name = read_group_name(cursor)?;
    match groups.names.iter().find(|(known, _)| *known == name) {
        Some((_, number)) => Ok(Escape::Group(*number)),
        None => syntax_error("it refers to a group that does not exist"),
    }
}

/// A back reference, `\0`, or an octal escape of old.
fn digits(
    cursor: &mut Cursor,
    syntax: Syntax,
    groups: &Groups,
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
        if number <= groups.count {
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

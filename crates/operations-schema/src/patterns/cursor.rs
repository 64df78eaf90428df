//! Reading a pattern character by character, and what must be known before it is understood.

use std::collections::HashMap;

use super::PatternFailure;
use super::parse::syntax_error;

/// Characters with a cursor.
pub(super) struct Cursor {
    chars: Vec<char>,
    at: usize,
}

impl Cursor {
    pub(super) fn new(text: &str) -> Self {
        Self {
            chars: text.chars().collect(),
            at: 0,
        }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    pub(super) fn ahead(&self, offset: usize) -> Option<char> {
        self.chars.get(self.at + offset).copied()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let found = self.peek();
        self.at += usize::from(found.is_some());
        found
    }

    pub(super) fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    pub(super) fn eat_text(&mut self, wanted: &str) -> bool {
        let rest = self.chars.get(self.at..).unwrap_or_default();
        let count = wanted.chars().count();
        let found = rest.len() >= count && wanted.chars().zip(rest).all(|(a, b)| a == *b);
        if found {
            self.at += count;
        }
        found
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn rewind(&mut self, position: usize) {
        self.at = position;
    }
}

/// Group names and the number of groups: back references can look ahead.
pub(super) struct Groups {
    pub(super) count: usize,
    pub(super) names: HashMap<String, usize>,
}

pub(super) fn find_groups(cursor: &mut Cursor) -> Result<Groups, PatternFailure> {
    let mut groups = Groups {
        count: 0,
        names: HashMap::new(),
    };
    let mut in_class = false;
    while let Some(found) = cursor.next() {
        match found {
            '\\' => {
                cursor.next();
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => {
                if cursor.peek() != Some('?') {
                    groups.count += 1;
                } else if cursor.ahead(1) == Some('<')
                    && !matches!(cursor.ahead(2), Some('=' | '!'))
                {
                    groups.count += 1;
                    cursor.eat_text("?<");
                    let name = read_group_name(cursor)?;
                    if groups.names.insert(name, groups.count).is_some() {
                        return syntax_error("a group name is used twice");
                    }
                }
            }
            _ => {}
        }
    }
    cursor.rewind(0);
    Ok(groups)
}

/// `name>`.
pub(super) fn read_group_name(cursor: &mut Cursor) -> Result<String, PatternFailure> {
    let mut name = String::new();
    loop {
        match cursor.next() {
            Some('>') if !name.is_empty() => return Ok(name),
            Some(found)
                if found == '_'
                    || found == '$'
                    || found.is_alphabetic()
                    || (!name.is_empty() && found.is_alphanumeric()) =>
            {
                name.push(found);
            }
            _ => return syntax_error("a group name is not an identifier"),
        }
    }
}

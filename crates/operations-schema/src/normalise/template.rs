//! The first string that a template literal stands for.
//!
//! `Type.TemplateLiteral` is compiled by TypeBox to a pattern made of groups, alternatives and
//! escaped characters. Without a part that repeats it has finitely many strings, and the first of
//! them is what `Value.Create` makes.

/// How deep groups may be nested.
const MAX_NESTING: u32 = 64;

/// The first string of the pattern; none when it stands for infinitely many.
pub(super) fn first_string(pattern: &str) -> Option<String> {
    let inner = pattern.strip_prefix('^')?.strip_suffix('$')?;
    let mut reader = Reader {
        rest: inner,
        nesting: 0,
    };
    let text = reader.alternatives()?;
    reader.rest.is_empty().then_some(text)
}

struct Reader<'t> {
    rest: &'t str,
    nesting: u32,
}

impl Reader<'_> {
    /// Alternatives up to a closing parenthesis or the end. All are read; the first one counts.
    fn alternatives(&mut self) -> Option<String> {
        let first = self.sequence()?;
        while self.take('|') {
            self.sequence()?;
        }
        Some(first)
    }

    fn sequence(&mut self) -> Option<String> {
        let mut text = String::new();
        loop {
            let mut characters = self.rest.chars();
            match characters.next() {
                None | Some('|' | ')') => return Some(text),
                Some('(') => {
                    self.rest = characters.as_str();
                    text.push_str(&self.group()?);
                }
                Some('\\') => {
                    text.push(characters.next()?);
                    self.rest = characters.as_str();
                }
                // Whatever else has a meaning of its own makes the strings endless.
                Some('.' | '*' | '+' | '?' | '[' | ']' | '{' | '}' | '^' | '$') => return None,
                Some(other) => {
                    text.push(other);
                    self.rest = characters.as_str();
                }
            }
        }
    }

    fn group(&mut self) -> Option<String> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return None;
        }
        let text = self.alternatives()?;
        self.nesting -= 1;
        self.take(')').then_some(text)
    }

    fn take(&mut self, wanted: char) -> bool {
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::first_string;

    #[test]
    fn the_first_of_finitely_many() {
        for (pattern, expected) in [
            ("^abc$", Some("abc")),
            ("^(a|b)-(true|false)$", Some("a-true")),
            (r"^on\.(x|y)$", Some("on.x")),
            ("^(a(b|c)|d)$", Some("ab")),
            ("^(.*)$", None),
            ("^a(0|[1-9][0-9]*)$", None),
            ("^(a$", None),
            ("abc", None),
        ] {
            assert_eq!(first_string(pattern).as_deref(), expected);
        }
    }
}

//! Addresses with variables in them, as far as RFC 6570 can be read backwards: `{name}` is a part of a path, and `{+name}`
//! any part of an address, slashes included.

use percent_encoding::percent_decode_str;

/// An address, or many.
#[derive(Debug)]
pub(super) struct Template {
    text: String,
    parts: Vec<Part>,
}

#[derive(Debug, PartialEq)]
enum Part {
    Literal(String),
    Variable { name: String, has_slashes: bool },
}

impl Template {
    /// Whether there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Reads an address. `None` where two variables have nothing between them, or a brace is alone.
    pub(super) fn read(text: &str) -> Option<Self> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((literal, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}')?;
            let follows_variable = matches!(parts.last(), Some(Part::Variable { .. }));
            if literal.is_empty() && follows_variable || literal.contains('}') {
                return None;
            }
            if !literal.is_empty() {
                parts.push(Part::Literal(literal.to_owned()));
            }
            let (name, has_slashes) = match name.strip_prefix('+') {
                Some(name) => (name, true),
                None => (name, false),
            };
            let is_name = !name.is_empty()
                && name
                    .chars()
                    .all(|each| each.is_ascii_alphanumeric() || "_-.".contains(each));
            if !is_name {
                return None;
            }
            parts.push(Part::Variable {
                name: name.to_owned(),
                has_slashes,
            });
            rest = after;
        }
        if rest.contains('}') {
            return None;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Some(Self {
            text: text.to_owned(),
            parts,
        })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn has_variables(&self) -> bool {
        self.parts
            .iter()
            .any(|part| matches!(part, Part::Variable { .. }))
    }

    /// What the variables are in an address; `None` if the address does not match. A variable ends where what follows it begins.
    pub(super) fn matched(&self, uri: &str) -> Option<Vec<(String, String)>> {
        let mut found = Vec::new();
        let mut rest = uri;
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                Part::Variable { name, has_slashes } => {
                    let end = match parts.peek() {
                        Some(Part::Literal(next)) => rest.find(next.as_str())?,
                        _ => rest.len(),
                    };
                    let (value, after) = rest.split_at_checked(end)?;
                    if value.is_empty() || (!has_slashes && value.contains(['/', '?', '#'])) {
                        return None;
                    }
                    let value = percent_decode_str(value).decode_utf8().ok()?;
                    found.push((name.clone(), value.into_owned()));
                    rest = after;
                }
            }
        }
        rest.is_empty().then_some(found)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use super::*;

    fn matched(template: &str, uri: &str) -> Option<Vec<(String, String)>> {
        Template::read(template).expect("a template").matched(uri)
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = list
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        owned.collect()
    }

    #[test]
    fn variables_are_found_in_addresses() {
        assert_eq!(matched("a://b", "a://b"), Some(pairs(&[])));
        assert_eq!(matched("a://b", "a://b/"), None);
        let template = "test://{kind}/{id}/data";
        let found = matched(template, "test://x/1%202/data");
        assert_eq!(found, Some(pairs(&[("kind", "x"), ("id", "1 2")])));
        for other in ["test://x//data", "test://x/1/2/data", "test://x/1", ""] {
            assert_eq!(matched(template, other), None, "{other}");
        }
        let file = matched("file:///{+path}", "file:///a/b.txt");
        assert_eq!(file, Some(pairs(&[("path", "a/b.txt")])));
    }

    #[test]
    fn what_cannot_be_read_backwards_is_no_template() {
        for odd in ["{a}{b}", "{", "}", "{}", "{a*}", "{?q}", "a}b{c}", "{a}}"] {
            assert!(Template::read(odd).is_none(), "{odd}");
        }
    }
}

//! The first text that a template literal stands for.
//!
//! `Type.TemplateLiteral` is compiled by TypeBox to a pattern made of groups, alternatives and
//! escaped characters. Without a part that repeats it has finitely many texts, and the first of them
//! is what `Value.Create` makes.

use super::ast::{Ast, Parsed};
use super::units::unit_of;

/// The first text of a pattern; none when it stands for infinitely many, or for parts of texts.
pub(super) fn first_text(parsed: &Parsed) -> Option<String> {
    let Ast::Concat(parts) = &parsed.root else {
        return None;
    };
    let [Ast::Start, inner @ .., Ast::End] = parts.as_slice() else {
        return None;
    };
    let mut text = String::new();
    for part in inner {
        text.push_str(&first(part)?);
    }
    if parsed.by_unit {
        let units: Option<Vec<u16>> = text.chars().map(unit_of).collect();
        return String::from_utf16(&units?).ok();
    }
    Some(text)
}

fn first(ast: &Ast) -> Option<String> {
    match ast {
        Ast::Empty => Some(String::new()),
        Ast::Char(found) => Some(found.to_string()),
        Ast::Concat(parts) => parts.iter().map(first).collect(),
        // All of them must come to an end, and the first one counts.
        Ast::Alternate(parts) => {
            let texts: Option<Vec<String>> = parts.iter().map(first).collect();
            texts?.into_iter().next()
        }
        Ast::Capture(_, inner) => first(inner),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::patterns::{Dialect, Pattern};

    #[test]
    fn the_first_of_finitely_many() {
        for (pattern, expected) in [
            ("^abc$", Some("abc")),
            ("^(a|b)-(true|false)$", Some("a-true")),
            (r"^on\.(x|y)$", Some("on.x")),
            ("^(a(b|c)|d)$", Some("ab")),
            ("^(😀|b)$", Some("😀")),
            ("^(.*)$", None),
            ("^a(0|[1-9][0-9]*)$", None),
            ("^(a|b+)$", None),
            (r"^\d$", None),
            ("^(a$", None),
            ("abc", None),
        ] {
            let pattern = Pattern::new(pattern, "", Dialect::TypeBox);
            assert_eq!(pattern.first_text().as_deref(), expected);
        }
    }
}

//! How many tokens a text is, about. Each provider cuts texts in its own way; this counts rather too many
//! than too few, so that what is promised to fit does.

/// Letters of a word, digits of a number, and spaces that one token holds.
const LETTERS: usize = 6;
const DIGITS: usize = 3;

/// About how many tokens a text is.
#[must_use]
pub fn estimated_tokens(text: &str) -> usize {
    let mut tokens = 0;
    let mut letters = text.chars().peekable();
    while let Some(first) = letters.next() {
        let kind = Kind::of(first);
        let mut length = 1;
        let mut before = first;
        while let Some(next) = letters.peek().copied() {
            // Names are cut where their parts begin.
            let is_part = next.is_ascii_uppercase() && before.is_ascii_lowercase();
            if Kind::of(next) != kind || is_part {
                break;
            }
            length += 1;
            before = next;
            letters.next();
        }
        tokens += match kind {
            Kind::Letter => usize::div_ceil(length, LETTERS),
            Kind::Digit => usize::div_ceil(length, DIGITS),
            // One space belongs to what comes after it.
            Kind::Space => usize::from(length > 1 || first != ' '),
            Kind::Sign => usize::div_ceil(length, 2),
            Kind::Other => length,
        };
    }
    tokens
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Kind {
    Letter,
    Digit,
    Space,
    Sign,
    Other,
}

impl Kind {
    fn of(letter: char) -> Self {
        match letter {
            'a'..='z' | 'A'..='Z' => Self::Letter,
            '0'..='9' => Self::Digit,
            ' ' | '\n' | '\t' | '\r' => Self::Space,
            '!'..='~' => Self::Sign,
            // Letters of other scripts, which take up to a few tokens each.
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_words_numbers_and_signs() {
        assert_eq!(estimated_tokens(""), 0);
        assert_eq!(estimated_tokens("the name of it"), 4);
        assert_eq!(estimated_tokens("pullRequest"), 3);
        assert_eq!(estimated_tokens("{ a?: string }"), 5);
        assert_eq!(estimated_tokens("1234\n  "), 3);
    }
}

//! URI templates (RFC 6570). No crate has them whole: iri-string's accepts `{a..b}` and `{v:10000}`, and
//! refuses literals beyond the first plane of Unicode (decision 15).

use fluent_uri::pct_enc::{EStr, Encoder, Table};

const LETTERS_AND_DIGITS: Table =
    Table::new(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");

/// What may stand outside of braces.
struct Literal;

impl Encoder for Literal {
    const TABLE: &'static Table = &LETTERS_AND_DIGITS
        .or(&Table::new(b"-._~!#$&'()*+,/:;=?@[]"))
        .or_ucschar()
        .or_iprivate()
        .or_pct_encoded();
}

/// What the parts of a variable's name are made of.
struct Name;

impl Encoder for Name {
    const TABLE: &'static Table = &LETTERS_AND_DIGITS.or(&Table::new(b"_")).or_pct_encoded();
}

pub(super) fn is_template(text: &str) -> bool {
    let mut rest = text;
    while let Some((literal, from)) = rest.split_once('{') {
        let Some((expression, after)) = from.split_once('}') else {
            return false;
        };
        if !is_made_of::<Literal>(literal) || !is_expression(expression) {
            return false;
        }
        rest = after;
    }
    is_made_of::<Literal>(rest)
}

fn is_made_of<E: Encoder>(text: &str) -> bool {
    EStr::<E>::new(text).is_some()
}

fn is_expression(text: &str) -> bool {
    let variables = text.strip_prefix(['+', '#', '.', '/', ';', '?', '&', '=', ',', '!', '@', '|']);
    variables.unwrap_or(text).split(',').all(|variable| {
        let name = match variable.split_once(':') {
            Some((name, length)) => {
                let shape = (1..=4).contains(&length.len()) && !length.starts_with('0');
                if !shape || !length.bytes().all(|byte| byte.is_ascii_digit()) {
                    return false;
                }
                name
            }
            None => variable.strip_suffix('*').unwrap_or(variable),
        };
        name.split('.')
            .all(|part| !part.is_empty() && is_made_of::<Name>(part))
    })
}

//! Messages for a model: no stacks, nothing that looks like a secret. Operations know their own secrets
//! and do not tell them; this is for what a user's code or a server writes into an error.

const INSTEAD: &str = "[redacted]";
/// Shorter values are words, not secrets.
const SHORTEST: usize = 8;
/// What stands before a secret.
const LABELS: [&str; 14] = [
    "authorization",
    "bearer",
    "basic",
    "password",
    "passwd",
    "pwd",
    "secret",
    "token",
    "api_key",
    "apikey",
    "api-key",
    "access_key",
    "private_key",
    "cookie",
];
/// How keys of well-known services begin.
const PREFIXES: [&str; 14] = [
    "sk-",
    "pk_live_",
    "sk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "eyJ",
];

/// A message without stack lines and without what looks like a secret.
#[must_use]
pub fn for_a_model(message: &str) -> String {
    let mut made = String::with_capacity(message.len());
    for line in message.lines().filter(|line| !is_stack_line(line)) {
        if !made.is_empty() {
            made.push('\n');
        }
        made.push_str(&without_secrets(line));
    }
    made
}

/// `    at name (file:1:2)`.
fn is_stack_line(line: &str) -> bool {
    let Some(rest) = line.trim_start().strip_prefix("at ") else {
        return false;
    };
    let place = rest.trim_end().trim_end_matches(')');
    let mut parts = place.rsplit(':');
    let is_number = |part: Option<&str>| {
        part.is_some_and(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    };
    line.starts_with(char::is_whitespace) && is_number(parts.next()) && is_number(parts.next())
}

fn without_secrets(line: &str) -> String {
    let mut made = String::with_capacity(line.len());
    let mut hide_next = false;
    // Between a label and what follows it: with nothing but spaces, a plain word is a word.
    let mut is_spaced = false;
    let mut previous = "";
    for piece in pieces(line) {
        if !piece.chars().next().is_some_and(is_secret_character) {
            // A secret follows its label after `: `, `=` or a quote, not after a full stop.
            if piece
                .chars()
                .any(|character| !matches!(character, ' ' | ':' | '=' | '"' | '\'' | '\\'))
            {
                hide_next = false;
            }
            is_spaced = piece.chars().all(|character| character == ' ');
            made.push_str(piece);
            continue;
        }
        let (label, value) = piece.split_once('=').unwrap_or((piece, ""));
        let lower = label.to_ascii_lowercase();
        // An operation may be called `auth.token`.
        let is_operation =
            previous.eq_ignore_ascii_case("operation") && label.contains('.') && value.is_empty();
        let is_label = !is_operation && LABELS.iter().any(|known| lower.ends_with(known));
        let is_word = is_spaced
            && !previous.eq_ignore_ascii_case("bearer")
            && piece.bytes().all(|byte| byte.is_ascii_lowercase());
        previous = piece;
        if is_label && !value.is_empty() {
            made.push_str(label);
            made.push('=');
            made.push_str(INSTEAD);
            hide_next = false;
        } else if is_label {
            made.push_str(piece);
            hide_next = true;
        } else if (hide_next && !is_word && piece.len() >= SHORTEST) || looks_secret(piece) {
            made.push_str(INSTEAD);
            hide_next = false;
        } else {
            made.push_str(&without_user_info(piece));
            hide_next = false;
        }
    }
    made
}

fn is_secret_character(character: char) -> bool {
    character.is_alphanumeric() || "_-.=/+~@%$!#&?;".contains(character)
}

/// Runs of characters that secrets are made of, and what is between them. A colon belongs to a run when
/// it is part of an address.
fn pieces(line: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut inside = None;
    let mut characters = line.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        let joined =
            character == ':' && inside == Some(true) && next.is_some_and(is_secret_character);
        let belongs = is_secret_character(character) || joined;
        if inside.is_some_and(|inside| inside != belongs) {
            pieces.extend(line.get(start..at));
            start = at;
        }
        inside = Some(belongs);
    }
    pieces.extend(line.get(start..));
    pieces
}

fn looks_secret(piece: &str) -> bool {
    PREFIXES
        .iter()
        .any(|prefix| piece.starts_with(prefix) && piece.len() >= prefix.len() + 12)
}

/// `https://user:password@host` without what is before the host; and the values of query parameters
/// whose names are labels.
fn without_user_info(piece: &str) -> String {
    let Some((scheme, rest)) = piece.split_once("://") else {
        return piece.to_owned();
    };
    let end = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let authority = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{INSTEAD}@{host}"),
        None => authority.to_owned(),
    };
    let Some((path, query)) = path.split_once('?') else {
        return format!("{scheme}://{authority}{path}");
    };
    let parameters: Vec<String> = query
        .split('&')
        .map(|parameter| match parameter.split_once('=') {
            Some((name, _)) if is_label(name) => format!("{name}={INSTEAD}"),
            _ => parameter.to_owned(),
        })
        .collect();
    format!("{scheme}://{authority}{path}?{}", parameters.join("&"))
}

fn is_label(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    LABELS.iter().any(|known| lower.ends_with(known)) || lower == "key" || lower == "sig"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_messages_stay() {
        for message in [
            "Operation not found: files.raed",
            "HTTP 404: Not Found",
            "Validation failed for input of operation demo.greet:\n  - /name: Expected string",
            "The token was refused. Ask for another.",
            "connect to https://api.example.com:8080/v1?page=2 failed: refused at line 3",
            "No password given",
            "Basic plans cannot do this",
            "Access denied: needs scope administration",
            "Access denied to operation auth.token: requires the scope admin",
            "Access denied: authorization required",
            "The token permissions do not suffice",
        ] {
            assert_eq!(for_a_model(message), message);
        }
    }

    #[test]
    fn secrets_go() {
        for (message, expected) in [
            (
                "Authorization: Bearer abcdefgh12345678",
                "Authorization: Bearer [redacted]",
            ),
            (
                "password=hunter2hunter2 refused",
                "password=[redacted] refused",
            ),
            (
                "\"api_key\":\"abcdefgh12345678\"",
                "\"api_key\":\"[redacted]\"",
            ),
            (
                "postgres://user:pass@db:5432/x refused",
                "postgres://[redacted]@db:5432/x refused",
            ),
            (
                "GET https://h/x?a=1&access_token=abc failed",
                "GET https://h/x?a=1&access_token=[redacted] failed",
            ),
            (
                "key sk-abcdefghijklmnop1234 is wrong",
                "key [redacted] is wrong",
            ),
            ("got ghp_0123456789abcdefghij", "got [redacted]"),
            ("Bearer abcdefghijkl", "Bearer [redacted]"),
            ("password: correcthorse", "password: [redacted]"),
            (
                "operation password=hunter2hunter2 failed",
                "operation password=[redacted] failed",
            ),
            (
                "operation auth.token=hunter2hunter2 failed",
                "operation auth.token=[redacted] failed",
            ),
            (
                "Operation token: abcdefghijklmn",
                "Operation token: [redacted]",
            ),
        ] {
            assert_eq!(for_a_model(message), expected);
        }
    }

    #[test]
    fn stacks_go() {
        let message = "broken\n    at run (/app/index.js:10:3)\n    at /app/x.js:1:2\nat the end";
        assert_eq!(for_a_model(message), "broken\nat the end");
    }
}

//! URIs, IRIs and URI templates.

use super::internet::is_ipv6;

fn is_private(found: char) -> bool {
    matches!(u32::from(found), 0xE000..=0xF8FF | 0xF_0000..=0xF_FFFD | 0x10_0000..=0x10_FFFD)
}

/// Whether every character is allowed: unreserved ones, those of `extra`, and `%` with two digits.
fn all_allowed(text: &str, extra: &str, international: bool) -> bool {
    let mut chars = text.chars();
    while let Some(found) = chars.next() {
        let allowed = match found {
            '%' => {
                let mut digit = || chars.next().is_some_and(|digit| digit.is_ascii_hexdigit());
                digit() && digit()
            }
            other if !other.is_ascii() => {
                international && !other.is_control() && (!is_private(other) || extra.contains('?'))
            }
            other => {
                other.is_ascii_alphanumeric() || "-._~".contains(other) || extra.contains(other)
            }
        };
        if !allowed {
            return false;
        }
    }
    true
}

const SUB: &str = "!$&'()*+,;=";
const PATH: &str = "!$&'()*+,;=:@/";
const QUERY: &str = "!$&'()*+,;=:@/?";

fn is_authority(text: &str, international: bool) -> bool {
    let (user, host) = match text.rsplit_once('@') {
        Some((user, host)) => (user, host),
        None => ("", text),
    };
    if !all_allowed(user, "!$&'()*+,;=:", international) {
        return false;
    }
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(rest) = host.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else {
            return false;
        };
        let port = if port.is_empty() {
            Some("")
        } else {
            port.strip_prefix(':')
        };
        return port.is_some_and(is_port) && (is_ipv6(address) || is_future_address(address));
    }
    let (name, port) = host.rsplit_once(':').unwrap_or((host, ""));
    is_port(port) && all_allowed(name, SUB, international)
}

/// `v1.something`.
fn is_future_address(text: &str) -> bool {
    let rest = text
        .strip_prefix(['v', 'V'])
        .and_then(|rest| rest.split_once('.'));
    rest.is_some_and(|(version, address)| {
        !version.is_empty()
            && version.bytes().all(|byte| byte.is_ascii_hexdigit())
            && !address.is_empty()
            && all_allowed(address, "!$&'()*+,;=:", false)
            && !address.contains('%')
    })
}

/// Everything after the scheme.
fn is_rest(text: &str, international: bool, may_have_colon: bool) -> bool {
    let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
    let (hierarchy, query) = text.split_once('?').unwrap_or((text, ""));
    if !all_allowed(query, QUERY, international) {
        return false;
    }
    // A fragment has the characters of a query, but not private ones.
    if !all_allowed(fragment, QUERY, international) || fragment.chars().any(is_private) {
        return false;
    }
    if let Some(rest) = hierarchy.strip_prefix("//") {
        let end = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
        return is_authority(authority, international) && all_allowed(path, PATH, international);
    }
    let first = hierarchy.split('/').next().unwrap_or_default();
    (may_have_colon || !first.contains(':')) && all_allowed(hierarchy, PATH, international)
}

fn split_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once(':')?;
    let shape = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    shape.then_some(rest)
}

pub(super) fn is_uri(text: &str, international: bool) -> bool {
    split_scheme(text).is_some_and(|rest| is_rest(rest, international, true))
}

pub(super) fn is_reference(text: &str, international: bool) -> bool {
    is_uri(text, international) || is_rest(text, international, false)
}

pub(super) fn is_template(text: &str) -> bool {
    let mut rest = text;
    while let Some(position) = rest.find(['{', '}']) {
        let (literal, from) = rest.split_at_checked(position).unwrap_or((rest, ""));
        let Some((expression, after)) = from
            .strip_prefix('{')
            .and_then(|inside| inside.split_once('}'))
        else {
            return false;
        };
        if !is_template_literal(literal) || !is_expression(expression) {
            return false;
        }
        rest = after;
    }
    is_template_literal(rest)
}

fn is_template_literal(text: &str) -> bool {
    all_allowed(text, "!#$&()*+,/:;=?@[]'", true)
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
            .all(|part| !part.is_empty() && all_allowed(part, "", false))
            && !name.contains(['-', '~'])
    })
}

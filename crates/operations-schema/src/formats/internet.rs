//! Addresses of machines and of people.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::hostname::is_hostname;

pub(super) fn is_ipv4(text: &str) -> bool {
    text.parse::<Ipv4Addr>().is_ok()
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

pub(super) fn is_email(text: &str, international: bool) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else {
        return false;
    };
    is_local_part(local, international) && is_domain(domain, international)
}

fn is_local_part(local: &str, international: bool) -> bool {
    if let Some(quoted) = local
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    {
        let mut chars = quoted.chars();
        while let Some(found) = chars.next() {
            match found {
                '\\' if !matches!(chars.next(), Some(' '..='~')) => return false,
                '"' => return false,
                '\\' | ' '..='~' => {}
                other if international && !other.is_ascii() => {}
                _ => return false,
            }
        }
        return true;
    }
    let is_atom = |found: char| {
        found.is_ascii_alphanumeric()
            || "!#$%&'*+-/=?^_`{|}~".contains(found)
            || (international && !found.is_ascii())
    };
    local
        .split('.')
        .all(|atom| !atom.is_empty() && atom.chars().all(is_atom))
}

fn is_domain(domain: &str, international: bool) -> bool {
    if let Some(literal) = domain
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        return match literal.strip_prefix("IPv6:") {
            Some(address) => is_ipv6(address),
            None => is_ipv4(literal),
        };
    }
    if international && !domain.is_ascii() {
        let is_label = |label: &str| {
            !label.is_empty()
                && label
                    .chars()
                    .all(|found| found == '-' || found.is_alphanumeric() || !found.is_ascii())
        };
        return domain.split('.').all(is_label);
    }
    is_hostname(domain)
}

//! Resolving references against a base, as RFC 3986 has it.

/// The parts of a URI reference; the fragment is split off before.
struct Parts<'a> {
    scheme: Option<&'a str>,
    authority: Option<&'a str>,
    path: &'a str,
    query: Option<&'a str>,
}

fn split(uri: &str) -> Parts<'_> {
    let (rest, query) = match uri.split_once('?') {
        Some((rest, query)) => (rest, Some(query)),
        None => (uri, None),
    };
    let (scheme, rest) = match rest.split_once(':') {
        Some((scheme, after)) if is_scheme(scheme) => (Some(scheme), after),
        _ => (None, rest),
    };
    let (authority, path) = match rest.strip_prefix("//") {
        Some(after) => {
            let end = after.find('/').unwrap_or(after.len());
            let (authority, path) = after.split_at_checked(end).unwrap_or((after, ""));
            (Some(authority), path)
        }
        None => (None, rest),
    };
    Parts {
        scheme,
        authority,
        path,
        query,
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// A URI without its fragment, and the fragment.
pub(super) fn split_fragment(uri: &str) -> (&str, &str) {
    uri.split_once('#').unwrap_or((uri, ""))
}

/// Resolves a reference without fragment against a base without fragment.
pub(super) fn join(base: &str, reference: &str) -> String {
    if reference.is_empty() {
        return base.to_owned();
    }
    let parts = split(reference);
    if parts.scheme.is_some() {
        return build(&parts, &clean(&parts));
    }
    let above = split(base);
    if parts.authority.is_some() {
        let parts = Parts {
            scheme: above.scheme,
            ..parts
        };
        return build(&parts, &clean(&parts));
    }
    if parts.path.is_empty() {
        let query = parts.query.or(above.query);
        return build(&Parts { query, ..above }, above.path);
    }
    let path = if parts.path.starts_with('/') {
        remove_dots(parts.path)
    } else {
        let folder = above.path.rfind('/').and_then(|end| above.path.get(..=end));
        let root = if above.authority.is_some() { "/" } else { "" };
        remove_dots(&format!("{}{}", folder.unwrap_or(root), parts.path))
    };
    build(
        &Parts {
            query: parts.query,
            ..above
        },
        &path,
    )
}

fn clean(parts: &Parts<'_>) -> String {
    if parts.authority.is_some() {
        remove_dots(parts.path)
    } else {
        parts.path.to_owned()
    }
}

fn build(parts: &Parts<'_>, path: &str) -> String {
    let mut out = String::new();
    if let Some(scheme) = parts.scheme {
        out.push_str(scheme);
        out.push(':');
    }
    if let Some(authority) = parts.authority {
        out.push_str("//");
        out.push_str(authority);
    }
    out.push_str(path);
    if let Some(query) = parts.query {
        out.push('?');
        out.push_str(query);
    }
    out
}

fn remove_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." if last => kept.push(""),
            "." => {}
            ".." => {
                if kept.len() > 1 {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    kept.join("/")
}

/// Decodes `%41`; what is not valid stays as it is.
pub(super) fn percent_decode(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%'
            && let Some(([high, low], beyond)) = after.split_first_chunk::<2>()
            && let (Some(high), Some(low)) = (
                char::from(*high).to_digit(16),
                char::from(*low).to_digit(16),
            )
            && let Ok(byte) = u8::try_from(high * 16 + low)
        {
            bytes.push(byte);
            rest = beyond;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_resolve_as_in_the_rfc() {
        let base = "http://a/b/c/d;p?q";
        let cases = [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("", base),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../../../g", "http://a/g"),
        ];
        for (reference, wanted) in cases {
            assert_eq!(join(base, reference), wanted, "{reference}");
        }
        assert_eq!(
            join("http://localhost:1234", "x.json"),
            "http://localhost:1234/x.json"
        );
        assert_eq!(join("urn:uuid:1", ""), "urn:uuid:1");
        assert_eq!(percent_decode("a%25b%C3%A9%zz%"), "a%b\u{e9}%zz%");
    }
}

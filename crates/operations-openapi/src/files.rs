//! Addresses of files and of parts of files: relative paths, and the names that schemas give
//! themselves.

use std::collections::HashSet;

use super::pointer;
use super::tree::Tree;

/// An address without `.` and `..` steps.
#[must_use]
pub(super) fn normalise(uri: &str) -> String {
    let (prefix, path) = split_authority(uri);
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match step {
            "." => {}
            ".." if steps
                .last()
                .is_some_and(|last| !last.is_empty() && *last != "..") =>
            {
                steps.pop();
            }
            // Above the root of an absolute address there is nothing.
            ".." if steps.last().is_some_and(|last| last.is_empty()) => {}
            _ => steps.push(step),
        }
    }
    format!("{prefix}{}", steps.join("/"))
}

/// `scheme://host` and the rest.
fn split_authority(uri: &str) -> (&str, &str) {
    let Some(start) = uri.find("://").map(|at| at + 3) else {
        return ("", uri);
    };
    let end = uri
        .get(start..)
        .and_then(|rest| rest.find('/'))
        .map_or(uri.len(), |at| start + at);
    uri.split_at_checked(end).unwrap_or((uri, ""))
}

/// The address that `reference` means in the file at `base`.
#[must_use]
pub(super) fn resolve(base: &str, reference: &str) -> String {
    let decoded = pointer::from_fragment(reference);
    if decoded.contains("://") {
        return normalise(&decoded);
    }
    let (authority, path) = split_authority(base);
    if decoded.starts_with('/') {
        return normalise(&format!("{authority}{decoded}"));
    }
    let folder = path
        .rfind('/')
        .and_then(|end| path.get(..=end))
        .unwrap_or("");
    normalise(&format!("{authority}{folder}{decoded}"))
}

/// The files that the references of a file name, each once.
pub(super) fn named_in(root: &Tree, base: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        match value {
            Tree::Array(items) => open.extend(items),
            Tree::Object(entries) => {
                if let Some(Tree::String(reference)) = entries.get("$ref") {
                    let file = reference.split('#').next().unwrap_or_default();
                    if !file.is_empty() && seen.insert(file) {
                        found.push(resolve(base, file));
                    }
                }
                open.extend(entries.values());
            }
            _ => {}
        }
    }
    found
}

/// Calls `found` with each `$id`, `$anchor` and `$dynamicAnchor` (anchors with a `#` before them)
/// and its pointer.
pub(super) fn anchors(value: &Tree, at: &mut String, found: &mut impl FnMut(String, &str)) {
    match value {
        Tree::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                descend(item, &index.to_string(), at, found);
            }
        }
        Tree::Object(entries) => {
            for keyword in ["$anchor", "$dynamicAnchor"] {
                if let Some(Tree::String(name)) = entries.get(keyword) {
                    found(["#", name].concat(), at);
                }
            }
            if let Some(Tree::String(name)) = entries.get("$id") {
                found(name.to_string(), at);
            }
            for (key, item) in entries.iter() {
                descend(item, key, at, found);
            }
        }
        _ => {}
    }
}

fn descend(value: &Tree, key: &str, at: &mut String, found: &mut impl FnMut(String, &str)) {
    let length = at.len();
    at.push('/');
    at.push_str(&pointer::escape(key));
    anchors(value, at, found);
    at.truncate(length);
}

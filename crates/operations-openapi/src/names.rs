//! The names of operations.

use std::collections::{HashMap, HashSet};

/// The name that an operation has by itself: its id, else its method and path.
#[must_use]
pub(super) fn own_name(operation_id: Option<&str>, method: &str, path: &str) -> String {
    match operation_id.map(str::trim) {
        Some(id) if !id.is_empty() => id.to_owned(),
        _ => format!(
            "{}_{}",
            method.to_ascii_lowercase(),
            path_words(path, false)
        ),
    }
}

/// The steps of a path joined by underscores, without the `{...}` parts or with their names;
/// `root` when nothing is left.
fn path_words(path: &str, with_parameters: bool) -> String {
    let mut words: Vec<String> = Vec::new();
    for step in path.split('/') {
        let mut word = String::new();
        let mut rest = step;
        while let Some((before, after)) = rest.split_once('{') {
            word.push_str(before);
            let Some((name, after)) = after.split_once('}') else {
                rest = after;
                break;
            };
            if with_parameters {
                word.push_str(name);
            }
            rest = after;
        }
        word.push_str(rest);
        if !word.is_empty() {
            words.push(word);
        }
    }
    if words.is_empty() {
        "root".to_owned()
    } else {
        words.join("_")
    }
}

/// Gives each operation a name that no other has.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: HashSet<String>,
    numbers: HashMap<String, usize>,
    max_length: Option<usize>,
}

impl Names {
    pub(super) fn new(max_length: Option<usize>) -> Self {
        Self {
            max_length,
            ..Self::default()
        }
    }

    /// The wanted name if it is free; else with method and path, then with the names of the path's
    /// parameters too, then with a number.
    pub(super) fn take(&mut self, wanted: &str, method: &str, path: &str) -> String {
        let method = method.to_ascii_lowercase();
        let plain = self.shorten(wanted);
        if self.taken.insert(plain.clone()) {
            return plain;
        }
        for with_parameters in [false, true] {
            let longer = format!("{wanted}_{method}_{}", path_words(path, with_parameters));
            let longer = self.shorten(&longer);
            if self.taken.insert(longer.clone()) {
                return longer;
            }
        }
        let base = format!("{wanted}_{method}_{}", path_words(path, true));
        loop {
            let number = self.numbers.entry(base.clone()).or_insert(1);
            *number += 1;
            let numbered = format!("{base}_{number}");
            let numbered = self.shorten(&numbered);
            if self.taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    }

    /// A name that is too long keeps its beginning and gets a mark that depends on all of it, so it
    /// is the same in every import and differs from its neighbours.
    fn shorten(&self, name: &str) -> String {
        let Some(limit) = self.max_length else {
            return name.to_owned();
        };
        let limit = limit.max(16);
        if name.chars().count() <= limit {
            return name.to_owned();
        }
        let mark = fnv1a(name.as_bytes());
        let beginning: String = name.chars().take(limit - 9).collect();
        format!("{beginning}_{mark:08x}")
    }
}

/// A small hash that never changes between releases, unlike the standard library's.
fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

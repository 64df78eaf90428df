//! Which of the declared properties are required.

use std::collections::HashSet;

/// Up to this many names a scan is faster than hashing.
const SCAN_LIMIT: usize = 48;

/// The names in `required`, asked about in the order of the declaration: almost always the next name of
/// the list is the one that is asked about.
pub(super) struct RequiredNames<'a> {
    names: Vec<&'a str>,
    next: usize,
    set: Option<HashSet<&'a str>>,
}

impl<'a> RequiredNames<'a> {
    pub(super) fn new(names: Vec<&'a str>) -> Self {
        Self {
            names,
            next: 0,
            set: None,
        }
    }

    /// The names in their order.
    pub(super) fn names(&self) -> &[&'a str] {
        &self.names
    }

    pub(super) fn contains(&mut self, name: &str) -> bool {
        if self.names.get(self.next) == Some(&name) {
            self.next += 1;
            return true;
        }
        if self.names.len() <= SCAN_LIMIT {
            return self.names.contains(&name);
        }
        let names = &self.names;
        self.set
            .get_or_insert_with(|| names.iter().copied().collect())
            .contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_order_among_few_and_many() {
        for count in [4_usize, 100] {
            let all: Vec<String> = (0..count).map(|number| format!("name{number}")).collect();
            let mut required = RequiredNames::new(all.iter().map(String::as_str).collect());
            assert!(required.contains("name0"));
            assert!(!required.contains("nowhere"));
            assert!(required.contains("name3"));
            assert!(required.contains("name1"));
            assert!(required.contains("name0"));
        }
    }
}

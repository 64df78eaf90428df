//! What is reported about a run.

use std::collections::BTreeMap;

/// How many unexplained differences are printed.
const MOST_EXAMPLES: usize = 10;

/// What became of the cases of a run.
#[derive(Default)]
pub(crate) struct Tally {
    counts: BTreeMap<&'static str, usize>,
    unexplained: Vec<String>,
}

impl Tally {
    /// Counts a case under a name.
    pub(crate) fn count(&mut self, name: &'static str) {
        *self.counts.entry(name).or_default() += 1;
    }

    /// Notes a difference that is on no list.
    pub(crate) fn unexplained(&mut self, description: String) {
        self.unexplained.push(description);
    }

    /// How often a name was counted.
    pub(crate) fn counted(&self, name: &str) -> usize {
        self.counts.get(name).copied().unwrap_or_default()
    }

    /// Prints everything, and fails if a difference has no explanation.
    pub(crate) fn settle(&self, title: &str) {
        println!("{title}");
        for (name, count) in &self.counts {
            println!("{count:9}  {name}");
        }
        let examples: Vec<_> = self.unexplained.iter().take(MOST_EXAMPLES).collect();
        assert!(
            examples.is_empty(),
            "{} unexplained differences in {title}:\n{examples:#?}",
            self.unexplained.len()
        );
    }
}

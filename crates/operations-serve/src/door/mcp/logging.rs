//! The levels of log messages.

/// From the least to the most severe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

const NAMES: [(&str, Level); 8] = [
    ("debug", Level::Debug),
    ("info", Level::Info),
    ("notice", Level::Notice),
    ("warning", Level::Warning),
    ("error", Level::Error),
    ("critical", Level::Critical),
    ("alert", Level::Alert),
    ("emergency", Level::Emergency),
];

impl Level {
    /// The level of this name.
    pub(super) fn read(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, level)| *level)
    }

    pub(super) fn name(self) -> &'static str {
        NAMES
            .iter()
            .find(|(_, level)| *level == self)
            .map_or("info", |(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_have_names_and_an_order() {
        for (name, level) in NAMES {
            assert_eq!(Level::read(name), Some(level));
            assert_eq!(level.name(), name);
        }
        assert!(Level::Debug < Level::Info && Level::Error < Level::Emergency);
        assert_eq!(Level::read("loud"), None);
    }
}

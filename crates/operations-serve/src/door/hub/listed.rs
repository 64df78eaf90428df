//! What is served, as peers see it: whole specs, without the access rules.

use std::sync::Arc;

use operations_core::access::Identity;
use operations_core::listed::Listed;

use crate::description_cache::FromDescription;

/// The operations of a registry, at one time.
#[derive(Debug)]
pub(super) struct List {
    revision: u64,
    operations: Vec<Arc<Listed>>,
}

impl List {
    /// Those that a caller may call, each as JSON.
    pub(super) fn shown_to(
        &self,
        identity: Option<&Identity>,
        is_shown: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let shown = self.shown(identity, is_shown);
        shown.map(|listed| listed.spec.to_string()).collect()
    }

    /// The ids of those that a caller may call.
    pub(super) fn ids_for(
        &self,
        identity: Option<&Identity>,
        is_shown: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let shown = self.shown(identity, is_shown);
        shown.map(|listed| listed.id.clone()).collect()
    }

    fn shown(
        &self,
        identity: Option<&Identity>,
        is_shown: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = &Listed> {
        let all = self.operations.iter().map(|listed| &**listed);
        all.filter(move |listed| listed.is_shown_to(identity) && is_shown(&listed.id))
    }
}

impl FromDescription for List {
    type Item = Listed;
    const KIND: &'static str = r#""hub""#;

    fn item(text: &str) -> Result<Listed, serde_json::Error> {
        serde_json::from_str(text)
    }

    fn of(items: &[Arc<Listed>], revision: u64) -> Self {
        Self {
            revision,
            operations: items.to_vec(),
        }
    }

    fn revision(&self) -> u64 {
        self.revision
    }
}

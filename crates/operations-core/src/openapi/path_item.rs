//! A path of a document and what stands below it.

use super::config::ImportConfig;
use super::document::{At, Document};
use super::report::{Problem, Reason};

/// A path item. One that refers to another may still say things itself, which then count.
pub(super) struct PathItem<'d> {
    pub(super) path: &'d str,
    /// Where it stands in the document's `paths`.
    pub(super) pointer: String,
    own: At<'d>,
    shared: Option<At<'d>>,
}

impl<'d> PathItem<'d> {
    pub(super) fn read(document: &'d Document, path: &'d str, at: At<'d>) -> Result<Self, Problem> {
        if !at.value.is_object() {
            return Err(Problem::new(
                Reason::Malformed,
                &at.pointer,
                "the path item is not an object",
            ));
        }
        let shared = match at.string("$ref") {
            None => None,
            Some(_) => match document.follow(at.clone()) {
                Ok(target) if target.value.is_object() => Some(target),
                Ok(_) => {
                    return Err(Problem::new(
                        Reason::Reference,
                        &at.pointer,
                        "the reference does not lead to a path item",
                    ));
                }
                Err(reason) => return Err(Problem::new(Reason::Reference, &at.pointer, reason)),
            },
        };
        Ok(Self {
            path,
            pointer: at.pointer.clone(),
            own: at,
            shared,
        })
    }

    pub(super) fn get(&self, key: &str) -> Option<At<'d>> {
        self.own.get(key).or_else(|| self.shared.as_ref()?.get(key))
    }

    /// The operations by their method, in the document's order.
    pub(super) fn operations(&self) -> Vec<(&'d str, At<'d>)> {
        let is_method = |key: &str| {
            ImportConfig::KNOWN_METHODS
                .iter()
                .any(|method| method.eq_ignore_ascii_case(key))
        };
        let mut found: Vec<(&'d str, At<'d>)> = Vec::new();
        for holder in [Some(&self.own), self.shared.as_ref()]
            .into_iter()
            .flatten()
        {
            for (key, at) in holder.entries() {
                if is_method(key)
                    && !found
                        .iter()
                        .any(|(known, _)| known.eq_ignore_ascii_case(key))
                {
                    found.push((key, at));
                }
            }
        }
        found
    }

    /// OpenAPI 3.2's operations with methods of their own.
    pub(super) fn additional_operations(&self) -> Vec<(&'d str, At<'d>)> {
        let additional = self.get("additionalOperations");
        additional.iter().flat_map(At::entries).take(64).collect()
    }
}

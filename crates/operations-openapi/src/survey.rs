//! What a document offers, before anything is chosen: the list that a caller's own functions are
//! asked about.

use serde::Serialize;

use super::bounds::{OPERATION_COST, import_budget};
use super::document::{At, Document};
use super::names::own_name;
use super::path_item::PathItem;
use super::tree::Tree;

/// An operation of a document, as the document calls it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Offered<'d> {
    /// The name that it has by itself.
    pub name: String,
    /// The `operationId`, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<&'d str>,
    /// The method, in upper case if it is one of HTTP's own.
    pub method: String,
    /// The path as the document writes it.
    pub path: &'d str,
    /// The tags.
    pub tags: Vec<&'d str>,
    /// A line about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<&'d str>,
    /// Whether the document advises against it.
    pub deprecated: bool,
}

/// The operations that have one of the methods, in the document's order. Those that cannot be read
/// are left out here; an import reports on them.
#[must_use]
pub fn survey<'d>(document: &'d Document, methods: &[String]) -> Vec<Offered<'d>> {
    let mut found = Vec::new();
    let mut budget = import_budget(document);
    let paths = document.start().get("paths");
    for (path, at) in paths.iter().flat_map(At::entries) {
        let Ok(item) = PathItem::read(document, path, at) else {
            continue;
        };
        for (method, at) in item.wanted(methods) {
            let Ok(operation) = document.follow(at) else {
                continue;
            };
            let offered = offered(&operation, method, path);
            // The import itself stops here too.
            let cost = OPERATION_COST + offered.size();
            if budget.spend(cost as u64).is_err() {
                return found;
            }
            found.push(offered);
        }
    }
    found
}

impl Offered<'_> {
    fn size(&self) -> usize {
        let texts = [self.operation_id, self.summary].into_iter().flatten();
        let texts = texts.chain(self.tags.iter().copied());
        self.name.len() + self.path.len() + texts.map(str::len).sum::<usize>()
    }
}

fn offered<'d>(operation: &At<'d>, method: String, path: &'d str) -> Offered<'d> {
    let operation_id = operation.string("operationId");
    Offered {
        name: own_name(operation_id, &method, path),
        operation_id,
        method,
        path,
        tags: tags_of(operation),
        summary: operation.string("summary"),
        deprecated: operation.flag("deprecated"),
    }
}

/// The tags of an operation.
pub(super) fn tags_of<'d>(operation: &At<'d>) -> Vec<&'d str> {
    let list = operation
        .object()
        .and_then(|object| object.get("tags")?.as_array());
    list.into_iter()
        .flatten()
        .filter_map(Tree::as_str)
        .collect()
}

//! Properties that travel in one direction only: `readOnly` ones are never sent, `writeOnly` ones
//! never received, so neither can be demanded there.

use std::collections::HashSet;

use super::bounds::MAX_BRANCHES;
use super::scope::Scope;
use super::tree::{Members, Tree};

/// Which way a schema is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// It describes what is sent.
    Input,
    /// It describes what is received.
    Output,
}

impl Direction {
    fn excluding_keyword(self) -> &'static str {
        match self {
            Self::Input => "readOnly",
            Self::Output => "writeOnly",
        }
    }
}

/// The properties of an object schema that do not travel in a direction.
#[derive(Debug, Default)]
pub(super) struct OneWay<'d> {
    pub(super) names: HashSet<&'d str>,
    /// How many properties were visited: what the answer cost.
    pub(super) looked_at: usize,
}

/// The one-way properties that a schema and the branches of its `allOf` declare.
pub(super) fn read_write_only_properties<'d>(
    object: &'d Members,
    scope: &Scope<'d>,
    direction: Direction,
) -> OneWay<'d> {
    let mut result = OneWay::default();
    if !object.contains_key("required") && !object.contains_key("allOf") {
        return result;
    }
    let keyword = direction.excluding_keyword();
    let mut waiting = vec![(object, scope.clone())];
    let mut branches = 0;
    while let Some((object, scope)) = waiting.pop() {
        branches += 1;
        if branches > MAX_BRANCHES {
            break;
        }
        if let Some(Tree::Object(properties)) = object.get("properties") {
            result.looked_at = result.looked_at.saturating_add(properties.len());
            for (name, property) in properties.iter() {
                if excludes(property, &scope, keyword) {
                    result.names.insert(name);
                }
            }
        }
        for branch in object
            .get("allOf")
            .and_then(Tree::as_array)
            .into_iter()
            .flatten()
        {
            let Some(branch_object) = branch.as_object() else {
                continue;
            };
            if waiting.len() >= MAX_BRANCHES {
                break;
            }
            match branch_object.get("$ref").and_then(Tree::as_str) {
                None => waiting.push((branch_object, scope.clone())),
                Some(reference) => {
                    if let Ok(target) = scope.resolve(reference)
                        && let Some(inner) = target.object()
                    {
                        waiting.push((inner, scope.at(target)));
                    }
                }
            }
        }
    }
    result
}

/// Whether a property says, itself or through its reference, that it does not travel.
fn excludes<'d>(property: &'d Tree, scope: &Scope<'d>, keyword: &str) -> bool {
    let says = |value: &Tree| value.get(keyword) == Some(&Tree::Bool(true));
    if says(property) {
        return true;
    }
    let Some(reference) = property.get("$ref").and_then(Tree::as_str) else {
        return false;
    };
    scope
        .resolve(reference)
        .is_ok_and(|target| says(target.value))
}

//! TypeBox kinds with parts.

use std::collections::HashSet;

use super::walk::Walk;
use crate::host::{Class, Host, Interrupt, OwnKeys, Result};
use crate::ir::{
    Additional, ArrayNode, IntersectNode, MinMax, NodeId, ObjectNode, PatternId, RecordNode,
    TupleNode, UnevaluatedKeys,
};
use crate::patterns::{Pattern, PatternFailure};

impl<H: Host> Walk<'_, '_, H> {
    pub(super) fn array(&mut self, node: &ArrayNode, value: H::Value) -> Result<bool> {
        if self.class(value)? != Class::Array {
            return Ok(false);
        }
        let length = self.array_length(value)?;
        if !node.length.allows(length as f64) {
            return Ok(false);
        }
        for index in 0..length {
            if !self.visit_element(node.items, value, index)? {
                return Ok(false);
            }
        }
        if node.unique && !self.all_hashes_differ(value, length)? {
            return Ok(false);
        }
        if !node.counts() {
            return Ok(true);
        }
        let count = self.count_matching(node, value, length)? as f64;
        Ok(count > 0.0 && node.matching.allows(count))
    }

    /// How many elements `contains` accepts; without it TypeBox counts with `Never`.
    pub(crate) fn count_matching(
        &mut self,
        node: &ArrayNode,
        value: H::Value,
        length: usize,
    ) -> Result<usize> {
        let Some(contains) = node.contains else {
            return Ok(0);
        };
        let mut count = 0;
        for index in 0..length {
            count += usize::from(self.visit_element(contains, value, index)?);
        }
        Ok(count)
    }

    /// TypeBox's `uniqueItems`.
    pub(crate) fn all_hashes_differ(&mut self, value: H::Value, length: usize) -> Result<bool> {
        let mut seen = HashSet::new();
        for index in 0..length {
            let hash = self.inside(|walk| {
                let element = walk.element(value, index)?;
                walk.typebox_hash(element)
            })?;
            if !seen.insert(hash) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn tuple(&mut self, node: &TupleNode, value: H::Value) -> Result<bool> {
        if self.class(value)? != Class::Array {
            return Ok(false);
        }
        let length = self.array_length(value)?;
        if (node.items.is_none() && length != 0) || node.length != Some(length as f64) {
            return Ok(false);
        }
        for (index, item) in node.items.iter().flatten().enumerate() {
            if !self.visit_element(*item, value, index)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn object(&mut self, node: &ObjectNode, value: H::Value) -> Result<bool> {
        if self.class(value)? != Class::Object {
            return Ok(false);
        }
        if !self.has_size(value, OwnKeys::Names, node.size)? {
            return Ok(false);
        }
        let scope = self.descend()?;
        let mut passes = self.declared(node, value);
        if matches!(passes, Ok(true)) {
            passes = match node.additional {
                Additional::Forbidden => self.nothing_else(node, value),
                Additional::Schema(schema) => self.others(node, schema, value),
                Additional::Unspecified | Additional::Allowed => Ok(true),
            };
        }
        self.ascend(scope);
        passes
    }

    /// `additionalProperties` as a schema.
    fn others(&mut self, node: &ObjectNode, schema: NodeId, value: H::Value) -> Result<bool> {
        self.each_key(value, OwnKeys::Names, |walk, key| {
            if walk.is_declared(node, key)? {
                return Ok(true);
            }
            let property = walk.by_key(value, key)?;
            walk.visit(schema, property)
        })
    }

    fn declared(&mut self, node: &ObjectNode, value: H::Value) -> Result<bool> {
        for property in &node.properties {
            let found = self.get(value, property.key)?;
            let passes = if property.required {
                self.visit(property.node, found)?
                    && (!self.program.node(property.node).meta.needs_presence
                        || self.has(value, property.key)?)
            } else {
                self.is_undefined(found)? || self.visit(property.node, found)?
            };
            if !passes {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `additionalProperties: false`, with TypeBox's short cut: when everything is required and the
    /// number of own keys fits, it does not look at the names.
    fn nothing_else(&mut self, node: &ObjectNode, value: H::Value) -> Result<bool> {
        let declared = node.properties.len();
        if node.required.len() == declared && self.count_keys(value, OwnKeys::Names)? == declared {
            return Ok(true);
        }
        self.each_key(value, OwnKeys::Names, |walk, key| {
            walk.is_declared(node, key)
        })
    }

    pub(crate) fn is_declared(&mut self, node: &ObjectNode, key: H::Key) -> Result<bool> {
        let program = self.program;
        self.key_text(key, |name| node.find(program, name).is_some())
    }

    /// Whether an object has as many properties as it may have.
    pub(super) fn has_size(
        &mut self,
        object: H::Value,
        which: OwnKeys,
        size: MinMax,
    ) -> Result<bool> {
        Ok(!size.is_given() || size.allows(self.count_keys(object, which)? as f64))
    }

    /// Whether every own key passes.
    pub(crate) fn each_key(
        &mut self,
        value: H::Value,
        which: OwnKeys,
        mut accepts: impl FnMut(&mut Self, H::Key) -> Result<bool>,
    ) -> Result<bool> {
        let mut keys = self.keys(value, which)?;
        while let Some(key) = self.next_key(&mut keys)? {
            self.spend(1)?;
            let scope = self.host.enter()?;
            let accepted = accepts(self, key);
            self.host.leave(scope);
            if !accepted? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// TypeBox's `IsRecordLike`.
    pub(crate) fn is_record_like(&mut self, value: H::Value) -> Result<bool> {
        Ok(self.class(value)? == Class::Object
            && self.date(value)?.is_none()
            && self.uint8_array(value)?.is_none())
    }

    pub(super) fn record(&mut self, node: &RecordNode, value: H::Value) -> Result<bool> {
        if !self.is_record_like(value)? || !self.has_size(value, OwnKeys::Names, node.size)? {
            return Ok(false);
        }
        self.inside(|walk| {
            let entries = walk.each_key(value, OwnKeys::Enumerable, |walk, key| {
                let name = walk.host.key_value(key);
                let schema = if walk.matches(name, node.pattern)? {
                    node.values
                } else if let Additional::Schema(schema) = node.additional {
                    schema
                } else {
                    return Ok(true);
                };
                let property = walk.by_key(value, key)?;
                walk.visit(schema, property)
            })?;
            if !entries || node.additional != Additional::Forbidden {
                return Ok(entries);
            }
            walk.each_key(value, OwnKeys::Names, |walk, key| {
                let name = walk.host.key_value(key);
                walk.matches(name, node.pattern)
            })
        })
    }

    pub(super) fn intersect(&mut self, node: &IntersectNode, value: H::Value) -> Result<bool> {
        let mut all = true;
        for schema in &node.all_of {
            if !self.visit(*schema, value)? {
                all = false;
                break;
            }
        }
        match node.unevaluated {
            // TypeBox lists the names even when a branch has failed, and throws on `null`.
            Some(keys) => Ok(self.only_known_keys(keys, value)? && all),
            None => Ok(all),
        }
    }

    fn only_known_keys(&mut self, keys: UnevaluatedKeys, value: H::Value) -> Result<bool> {
        // Names become a pattern in TypeBox, and not all of them make a valid one.
        let known = self.program.pattern(keys.known);
        if matches!(
            known.and_then(Pattern::failure),
            Some(PatternFailure::Syntax(_))
        ) {
            return Err(Interrupt::TypeBoxThrows);
        }
        match self.class(value)? {
            Class::Undefined | Class::Null => Err(Interrupt::TypeBoxThrows),
            Class::Object | Class::Function => self.inside(|walk| {
                walk.each_key(value, OwnKeys::Names, |walk, key| {
                    let name = walk.host.key_value(key);
                    if walk.matches(name, keys.known)? {
                        return Ok(true);
                    }
                    let Some(schema) = keys.schema else {
                        return Ok(false);
                    };
                    let property = walk.by_key(value, key)?;
                    walk.visit(schema, property)
                })
            }),
            Class::Array => {
                let length = self.array_length(value)?;
                let unknown = self.unknown_positions(keys.known, length)?;
                let Some(schema) = keys.schema else {
                    return Ok(unknown.is_empty());
                };
                for index in unknown.into_iter().filter(|index| *index < length) {
                    let element = self.element(value, index)?;
                    if !self.inside(|walk| walk.visit(schema, element))? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Class::String => {
                let length = self.utf16_length(value)?;
                Ok(self.unknown_positions(keys.known, length)?.is_empty())
            }
            _ => Ok(true),
        }
    }

    /// The own names of an array or string that a pattern does not know: positions, and for
    /// `length` the position after the last.
    pub(crate) fn unknown_positions(
        &mut self,
        known: PatternId,
        length: usize,
    ) -> Result<Vec<usize>> {
        let mut unknown = Vec::new();
        let Some(pattern) = self.program.pattern(known) else {
            return Ok(unknown);
        };
        for index in 0..=length {
            self.spend(1)?;
            let name = if index == length {
                "length".to_owned()
            } else {
                index.to_string()
            };
            if !pattern.matches(&name, &mut self.budget)? {
                unknown.push(index);
            }
        }
        Ok(unknown)
    }
}

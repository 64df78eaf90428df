//! Errors of TypeBox kinds with parts.

use super::messages;
use super::{Collector, Stop};
use crate::host::{Class, Host, Interrupt, OwnKeys};
use crate::ir::{
    Additional, ArrayNode, IntersectNode, MinMax, NodeId, ObjectNode, RecordNode, TupleNode,
};
use crate::number::to_js_string;

impl<H: Host> Collector<'_, '_, '_, H> {
    pub(super) fn array(&mut self, node: &ArrayNode, value: H::Value) -> Result<(), Stop> {
        if self.walk.class(value)? != Class::Array {
            return self.report("Expected array");
        }
        let length = self.walk.array_length(value)?;
        self.size(length, node.length, messages::ARRAY_LENGTH)?;
        for index in 0..length {
            self.at_index(node.items, value, index)?;
        }
        if node.unique && !self.walk.all_hashes_differ(value, length)? {
            self.report("Expected array elements to be unique")?;
        }
        if !node.counts() {
            return Ok(());
        }
        let count = self.walk.count_matching(node, value, length)?;
        if count == 0 {
            self.report("Expected array to contain at least one matching value")?;
        }
        self.size(count, node.matching, messages::MATCHING_ELEMENTS)
    }

    pub(super) fn tuple(&mut self, node: &TupleNode, value: H::Value) -> Result<(), Stop> {
        if self.walk.class(value)? != Class::Array {
            return self.report("Expected tuple");
        }
        let length = self.walk.array_length(value)?;
        if (node.items.is_none() && length != 0) || node.length != Some(length as f64) {
            let wanted = to_js_string(node.length.unwrap_or(0.0));
            return self.report(format!("Expected tuple to have {wanted} elements"));
        }
        for (index, item) in node.items.iter().flatten().enumerate() {
            self.at_index(*item, value, index)?;
        }
        Ok(())
    }

    /// Tells of an object with too few or too many properties.
    pub(super) fn property_count(
        &mut self,
        object: H::Value,
        which: OwnKeys,
        bounds: MinMax,
    ) -> Result<(), Stop> {
        if !bounds.is_given() {
            return Ok(());
        }
        let count = self.walk.count_keys(object, which)?;
        self.size(count, bounds, messages::PROPERTIES)
    }

    /// Visits every own key with its text.
    pub(super) fn keys(
        &mut self,
        value: H::Value,
        which: OwnKeys,
        mut visit: impl FnMut(&mut Self, H::Key, &str) -> Result<bool, Stop>,
    ) -> Result<(), Stop> {
        let mut keys = self.walk.keys(value, which)?;
        while let Some(key) = self.walk.next_key(&mut keys)? {
            self.walk.spend(1)?;
            let text = self.walk.key_text(key, str::to_owned)?;
            if !visit(self, key, &text)? {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn object(&mut self, node: &ObjectNode, value: H::Value) -> Result<(), Stop> {
        if self.walk.class(value)? != Class::Object {
            return self.report("Expected object");
        }
        self.property_count(value, OwnKeys::Names, node.size)?;
        let program = self.walk.program;
        for key in &node.required {
            if !self.walk.has_own(value, *key)? {
                let name = program.key_text(*key);
                self.at_key(name, |collector| {
                    collector.report("Expected required property")
                })?;
            }
        }
        match node.additional {
            Additional::Forbidden => self.keys(value, OwnKeys::Names, |collector, _, name| {
                if node.find(program, name).is_none() {
                    collector.at_key(name, |collector| collector.report("Unexpected property"))?;
                }
                Ok(true)
            })?,
            Additional::Schema(schema) => {
                self.keys(value, OwnKeys::Names, |collector, key, name| {
                    if node.find(program, name).is_none() {
                        let property = collector.walk.by_key(value, key)?;
                        collector.at_key(name, |collector| collector.visit(schema, property))?;
                    }
                    Ok(true)
                })?;
            }
            Additional::Unspecified | Additional::Allowed => {}
        }
        for property in &node.properties {
            let found = self.walk.get(value, property.key)?;
            if property.required || !self.walk.is_undefined(found)? {
                let name = program.key_text(property.key);
                self.at_key(name, |collector| collector.visit(property.node, found))?;
            }
        }
        Ok(())
    }

    pub(super) fn record(&mut self, node: &RecordNode, value: H::Value) -> Result<(), Stop> {
        if !self.walk.is_record_like(value)? {
            return self.report("Expected object");
        }
        self.property_count(value, OwnKeys::Names, node.size)?;
        self.keys(value, OwnKeys::Enumerable, |collector, key, name| {
            let key_value = collector.walk.host.key_value(key);
            if collector.walk.matches(key_value, node.pattern)? {
                let property = collector.walk.by_key(value, key)?;
                collector.at_key(name, |collector| collector.visit(node.values, property))?;
            }
            Ok(true)
        })?;
        let others = match node.additional {
            Additional::Schema(_) => OwnKeys::Enumerable,
            Additional::Forbidden => OwnKeys::Names,
            Additional::Unspecified | Additional::Allowed => return Ok(()),
        };
        // TypeBox names only the first key that is not allowed.
        self.keys(value, others, |collector, key, name| {
            let key_value = collector.walk.host.key_value(key);
            if collector.walk.matches(key_value, node.pattern)? {
                return Ok(true);
            }
            match node.additional {
                Additional::Schema(schema) => {
                    let property = collector.walk.by_key(value, key)?;
                    collector.at_key(name, |collector| collector.visit(schema, property))?;
                    Ok(true)
                }
                Additional::Forbidden => {
                    collector.at_key(name, |collector| collector.report("Unexpected property"))?;
                    Ok(false)
                }
                _ => Ok(false),
            }
        })
    }

    pub(super) fn intersect(&mut self, node: &IntersectNode, value: H::Value) -> Result<(), Stop> {
        let before = self.errors.len();
        for schema in &node.all_of {
            self.visit(*schema, value)?;
        }
        if self.errors.len() > before {
            return self.report("Expected all values to match");
        }
        let Some(unevaluated) = node.unevaluated else {
            return Ok(());
        };
        match self.walk.class(value)? {
            Class::Undefined | Class::Null => Err(Interrupt::TypeBoxThrows.into()),
            Class::Object | Class::Function => {
                self.keys(value, OwnKeys::Names, |collector, key, name| {
                    let key_value = collector.walk.host.key_value(key);
                    if collector.walk.matches(key_value, unevaluated.known)? {
                        return Ok(true);
                    }
                    let property = collector.walk.by_key(value, key)?;
                    collector.at_key(name, |collector| match unevaluated.schema {
                        Some(schema) => collector.first_of(schema, property),
                        None => collector.report("Unexpected property"),
                    })?;
                    Ok(true)
                })
            }
            Class::Array | Class::String => {
                let array = self.walk.class(value)? == Class::Array;
                let length = if array {
                    self.walk.array_length(value)?
                } else {
                    self.walk.utf16_length(value)?
                };
                for index in self.walk.unknown_positions(unevaluated.known, length)? {
                    let name = if index == length {
                        "length".into()
                    } else {
                        index.to_string()
                    };
                    match unevaluated.schema.filter(|_| array) {
                        Some(schema) if index < length => {
                            let element = self.walk.element(value, index)?;
                            self.at_key(&name, |collector| collector.first_of(schema, element))?;
                        }
                        Some(_) => {}
                        None => {
                            self.at_key(&name, |collector| {
                                collector.report("Unexpected property")
                            })?;
                        }
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Only the first error of a schema.
    fn first_of(&mut self, schema: NodeId, value: H::Value) -> Result<(), Stop> {
        let (before, max) = (self.errors.len(), self.max);
        self.max = (before + 1).min(max);
        let result = self.visit(schema, value);
        self.max = max;
        match result {
            Err(Stop::Full) if self.errors.len() < max => Ok(()),
            other => other,
        }
    }
}

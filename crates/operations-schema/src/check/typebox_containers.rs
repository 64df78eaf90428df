//! TypeBox kinds with parts.

use std::collections::HashSet;

use super::failure::{OnFailure, Step, Stop, Verdict, require};
use super::messages::{self, JsNumber};
use super::walk::Walk;
use crate::ir::{
    Additional, ArrayNode, IntersectNode, MinMax, NodeId, ObjectNode, PatternId, RecordNode,
    TupleNode, UnevaluatedKeys,
};
use crate::patterns::{Pattern, PatternFailure};
use crate::value_access::{Class, Interrupt, OwnKeys, Result, ValueAccess};

impl<A: ValueAccess> Walk<'_, '_, A> {
    pub(super) fn array<F: OnFailure>(&mut self, node: &ArrayNode, value: A::Value) -> Verdict {
        if self.class(value)? != Class::Array {
            return self.fail::<F>("Expected array");
        }
        let length = self.array_length(value)?;
        self.size::<F>(length as f64, node.length, messages::ARRAY_LENGTH)?;
        for index in 0..length {
            self.visit_element::<F>(node.items, value, index)?;
        }
        if node.unique && !self.all_hashes_differ(value, length)? {
            self.fail::<F>("Expected array elements to be unique")?;
        }
        if !node.counts() {
            return Ok(());
        }
        // Without `contains` TypeBox counts with `Never`.
        let mut count = 0.0;
        if let Some(contains) = node.contains {
            for index in 0..length {
                count += f64::from(self.accepts_element(contains, value, index)?);
            }
        }
        if count == 0.0 {
            self.fail::<F>("Expected array to contain at least one matching value")?;
        }
        self.size::<F>(count, node.matching, messages::MATCHING_ELEMENTS)
    }

    /// TypeBox's `uniqueItems`.
    pub(super) fn all_hashes_differ(&mut self, value: A::Value, length: usize) -> Result<bool> {
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

    pub(super) fn tuple<F: OnFailure>(&mut self, node: &TupleNode, value: A::Value) -> Verdict {
        if self.class(value)? != Class::Array {
            return self.fail::<F>("Expected tuple");
        }
        let length = self.array_length(value)?;
        if (node.items.is_none() && length != 0) || node.length != Some(length as f64) {
            let wanted = JsNumber(node.length.unwrap_or(0.0));
            return self.fail::<F>(format_args!("Expected tuple to have {wanted} elements"));
        }
        for (index, item) in node.items.iter().flatten().enumerate() {
            self.visit_element::<F>(*item, value, index)?;
        }
        Ok(())
    }

    pub(super) fn object<F: OnFailure>(&mut self, node: &ObjectNode, value: A::Value) -> Verdict {
        if self.class(value)? != Class::Object {
            return self.fail::<F>("Expected object");
        }
        self.property_count::<F>(value, OwnKeys::Names, node.size)?;
        let scope = self.descend()?;
        let verdict = self.object_parts::<F>(node, value);
        self.ascend(scope);
        verdict
    }

    /// TypeBox's errors list what is missing and what is too much before the properties; its check looks at the
    /// properties first, and an inherited one is not missing to it.
    fn object_parts<F: OnFailure>(&mut self, node: &ObjectNode, value: A::Value) -> Verdict {
        if F::COLLECTS {
            for key in &node.required {
                if !self.has_own(value, *key)? {
                    self.fail_at::<F>(Step::Name(*key), "Expected required property")?;
                }
            }
            self.others::<F>(node, value)?;
        }
        for property in &node.properties {
            let found = self.get(value, property.key)?;
            if !property.required && self.is_undefined(found)? {
                continue;
            }
            self.at::<F>(Step::Name(property.key), |walk| {
                walk.visit::<F>(property.node, found)
            })?;
            let needs_presence =
                property.required && self.program.node(property.node).meta.needs_presence;
            if needs_presence && !F::COLLECTS {
                require(self.has(value, property.key)?)?;
            }
        }
        if F::COLLECTS {
            return Ok(());
        }
        self.others::<F>(node, value)
    }

    /// `additionalProperties`.
    #[inline(never)]
    fn others<F: OnFailure>(&mut self, node: &ObjectNode, value: A::Value) -> Verdict {
        let schema = match node.additional {
            Additional::Unspecified | Additional::Allowed => return Ok(()),
            Additional::Schema(schema) => Some(schema),
            Additional::Forbidden => None,
        };
        // TypeBox's short cut: when everything is required and the number of own keys fits, its check does not look
        // at the names.
        let declared = node.properties.len();
        if !F::COLLECTS
            && schema.is_none()
            && node.required.len() == declared
            && self.count_keys(value, OwnKeys::Names)? == declared
        {
            return Ok(());
        }
        self.each_key(value, OwnKeys::Names, |walk, key| {
            if walk.is_declared(node, key)? {
                return Ok(());
            }
            walk.other_property::<F>(schema, value, key)
        })
    }

    /// A property that is not declared: it must pass `schema`, or should not be there without one.
    pub(super) fn other_property<F: OnFailure>(
        &mut self,
        schema: Option<NodeId>,
        object: A::Value,
        key: A::Key,
    ) -> Verdict {
        let Some(schema) = schema else {
            return self.fail_at::<F>(Step::Key(key), "Unexpected property");
        };
        let property = self.by_key(object, key)?;
        self.at::<F>(Step::Key(key), |walk| walk.visit::<F>(schema, property))
    }

    pub(super) fn is_declared(&mut self, node: &ObjectNode, key: A::Key) -> Result<bool> {
        let program = self.program;
        self.key_text(key, |name| node.find(program, name).is_some())
    }

    /// Whether an object has as many properties as it may have.
    pub(super) fn property_count<F: OnFailure>(
        &mut self,
        object: A::Value,
        which: OwnKeys,
        bounds: MinMax,
    ) -> Verdict {
        if !bounds.is_given() {
            return Ok(());
        }
        let count = self.count_keys(object, which)? as f64;
        self.size::<F>(count, bounds, messages::PROPERTIES)
    }

    /// Goes through the own keys of an object.
    pub(super) fn each_key<E: From<Interrupt>>(
        &mut self,
        value: A::Value,
        which: OwnKeys,
        mut visit: impl FnMut(&mut Self, A::Key) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut keys = self.keys(value, which)?;
        while let Some(key) = self.next_key(&mut keys)? {
            self.spend(1)?;
            let scope = self.access.enter()?;
            let visited = visit(self, key);
            self.access.leave(scope);
            visited?;
        }
        Ok(())
    }

    /// TypeBox's `IsRecordLike`.
    fn is_record_like(&mut self, value: A::Value) -> Result<bool> {
        Ok(self.class(value)? == Class::Object
            && self.date(value)?.is_none()
            && self.uint8_array(value)?.is_none())
    }

    #[inline(never)]
    pub(super) fn record<F: OnFailure>(&mut self, node: &RecordNode, value: A::Value) -> Verdict {
        if !self.is_record_like(value)? {
            return self.fail::<F>("Expected object");
        }
        self.property_count::<F>(value, OwnKeys::Names, node.size)?;
        self.inside(|walk| {
            walk.each_key(value, OwnKeys::Enumerable, |walk, key| {
                let name = walk.access.key_value(key);
                if !walk.matches(name, node.pattern)? {
                    return Ok(());
                }
                walk.other_property::<F>(Some(node.values), value, key)
            })?;
            let (which, schema) = match node.additional {
                Additional::Schema(schema) => (OwnKeys::Enumerable, Some(schema)),
                Additional::Forbidden => (OwnKeys::Names, None),
                Additional::Unspecified | Additional::Allowed => return Ok(()),
            };
            // TypeBox names only the first key that is not allowed.
            let mut is_named = false;
            walk.each_key(value, which, |walk, key| {
                let name = walk.access.key_value(key);
                if is_named || walk.matches(name, node.pattern)? {
                    return Ok(());
                }
                is_named = schema.is_none();
                walk.other_property::<F>(schema, value, key)
            })
        })
    }

    pub(super) fn union<F: OnFailure>(&mut self, variants: &[NodeId], value: A::Value) -> Verdict {
        let count = self.count_variants(variants, value, 1);
        let matches = Self::settle::<F>(count.map(|count| count == 1))?;
        self.expect::<F>(matches, "Expected union value")
    }

    pub(super) fn not<F: OnFailure>(&mut self, schema: NodeId, value: A::Value) -> Verdict {
        let accepts = self.accepts(schema, value);
        let fits = Self::settle::<F>(accepts.map(|accepts| !accepts))?;
        self.expect::<F>(fits, "Value should not match")
    }

    /// Whether a value passes all of several nodes.
    pub(super) fn all_of<F: OnFailure>(&mut self, nodes: &[NodeId], value: A::Value) -> Verdict {
        let before = self.error_count();
        for node in nodes {
            self.visit::<F>(*node, value)?;
        }
        self.expect::<F>(self.error_count() == before, "Expected all values to match")
    }

    pub(super) fn intersect<F: OnFailure>(
        &mut self,
        node: &IntersectNode,
        value: A::Value,
    ) -> Verdict {
        let before = self.error_count();
        let verdict = self.all_of::<F>(&node.all_of, value);
        let Some(keys) = node.unevaluated else {
            return verdict;
        };
        match verdict {
            Ok(()) if self.error_count() == before => self.only_known_keys::<F>(keys, value),
            // TypeBox's check lists the names even when a branch has failed, and throws on `null`.
            Err(Stop::Failed) => {
                self.only_known_keys::<F>(keys, value)?;
                verdict
            }
            _ => verdict,
        }
    }

    #[inline(never)]
    fn only_known_keys<F: OnFailure>(&mut self, keys: UnevaluatedKeys, value: A::Value) -> Verdict {
        // Names become a pattern in TypeBox, and not all of them make a valid one.
        let known = self.program.pattern(keys.known);
        if matches!(
            known.and_then(Pattern::failure),
            Some(PatternFailure::Syntax(_))
        ) {
            return Err(Interrupt::TypeBoxThrows.into());
        }
        let class = self.class(value)?;
        let (length, schema) = match class {
            Class::Undefined | Class::Null => return Err(Interrupt::TypeBoxThrows.into()),
            Class::Object | Class::Function => {
                return self.inside(|walk| {
                    walk.each_key(value, OwnKeys::Names, |walk, key| {
                        let name = walk.access.key_value(key);
                        if walk.matches(name, keys.known)? {
                            return Ok(());
                        }
                        let Some(schema) = keys.schema else {
                            return walk.fail_at::<F>(Step::Key(key), "Unexpected property");
                        };
                        let property = walk.by_key(value, key)?;
                        walk.at::<F>(Step::Key(key), |walk| {
                            walk.first_error::<F>(schema, property)
                        })
                    })
                });
            }
            Class::Array => (self.array_length(value)?, keys.schema),
            Class::String => (self.utf16_length(value)?, None),
            _ => return Ok(()),
        };
        for index in self.unknown_positions(keys.known, length)? {
            let step = if index < length {
                Step::Index(index)
            } else {
                Step::Length
            };
            match schema {
                None => self.fail_at::<F>(step, "Unexpected property")?,
                Some(schema) if index < length => {
                    let element = self.element(value, index)?;
                    self.inside(|walk| {
                        walk.at::<F>(step, |walk| walk.first_error::<F>(schema, element))
                    })?;
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// The own names of an array or string that a pattern does not know: positions, and for
    /// `length` the position after the last.
    fn unknown_positions(&mut self, known: PatternId, length: usize) -> Result<Vec<usize>> {
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

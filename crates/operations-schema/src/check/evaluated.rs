//! `unevaluatedProperties` and `unevaluatedItems`: what the other keywords have looked at.
//!
//! Nothing is recorded while checking; a schema with one of these keywords asks afterwards. Schemas
//! without them pay nothing.

use super::walk::Walk;
use crate::host::{Class, Host, OwnKeys, Result};
use crate::ir::{
    Additional, ArrayRules, JsonSchema, LogicRules, NodeId, ObjectRules, Shape, Unevaluated,
};

/// The parts of an array or an object, and which of them have been looked at.
pub(crate) struct Parts<H: Host> {
    value: H::Value,
    class: Class,
    /// The own keys of an object; of an array only their number counts.
    pub(crate) keys: Vec<H::Key>,
    pub(crate) seen: Vec<bool>,
}

/// The schema of the parts of such a value that nothing else looked at.
pub(crate) fn of_parts(rules: &Unevaluated, class: Class) -> Option<NodeId> {
    match class {
        Class::Object => rules.properties,
        Class::Array => rules.items,
        _ => None,
    }
}

impl<H: Host> Parts<H> {
    fn all_seen(&mut self) {
        self.seen.fill(true);
    }
}

impl<H: Host> Walk<'_, '_, H> {
    pub(super) fn nothing_unevaluated(
        &mut self,
        schema: &JsonSchema,
        rules: &Unevaluated,
        class: Class,
        value: H::Value,
    ) -> Result<bool> {
        let Some(node) = of_parts(rules, class) else {
            return Ok(true);
        };
        let parts = self.unevaluated_parts(schema, class, value)?;
        self.spend(parts.seen.len() as u64 / 8)?;
        for (index, seen) in parts.seen.iter().enumerate() {
            if *seen {
                continue;
            }
            let passes = match parts.keys.get(index) {
                Some(key) => self.inside(|walk| {
                    let property = walk.by_key(value, *key)?;
                    Ok(walk.is_undefined(property)? || walk.visit(node, property)?)
                })?,
                None => self.visit_element(node, value, index)?,
            };
            if !passes {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The parts of a value, with those marked that the keywords beside `unevaluated...` looked at.
    pub(crate) fn unevaluated_parts(
        &mut self,
        schema: &JsonSchema,
        class: Class,
        value: H::Value,
    ) -> Result<Parts<H>> {
        let mut parts = Parts {
            value,
            class,
            keys: Vec::new(),
            seen: Vec::new(),
        };
        if class == Class::Array {
            let length = self.array_length(value)?;
            self.spend(length as u64 / 16)?;
            parts.seen = vec![false; length];
        } else {
            let mut keys = self.keys(value, OwnKeys::Enumerable)?;
            while let Some(key) = self.next_key(&mut keys)? {
                self.spend(1)?;
                parts.keys.push(key);
            }
            parts.seen = vec![false; parts.keys.len()];
        }
        self.mark_schema(schema, &mut parts)?;
        Ok(parts)
    }

    /// Marks what a schema looked at that the value has passed.
    fn mark(&mut self, id: NodeId, parts: &mut Parts<H>) -> Result<()> {
        self.open_rule()?;
        self.spend(parts.seen.len() as u64 / 8)?;
        let program = self.program;
        match program.shape(id) {
            Shape::Json(schema) => {
                let entered = self.enter_resource(schema.resource);
                let marked = self.mark_schema(schema, parts);
                self.leave_resource(entered);
                marked?;
                let own = schema.unevaluated.as_deref();
                if own.is_some_and(|rules| of_parts(rules, parts.class).is_some()) {
                    parts.all_seen();
                }
            }
            Shape::Ref(target) | Shape::Import(target) => {
                self.mark(*target, parts)?;
            }
            Shape::Intersect(node) => {
                for schema in &node.all_of {
                    self.mark(*schema, parts)?;
                }
            }
            Shape::Union(variants) => self.mark_passing(variants, parts)?,
            Shape::Object(node) if parts.class == Class::Object => {
                let all = matches!(node.additional, Additional::Allowed | Additional::Schema(_));
                for (key, seen) in parts.keys.iter().zip(&mut parts.seen) {
                    *seen = *seen || all || self.is_declared(node, *key)?;
                }
            }
            Shape::Record(_) | Shape::Array(_) | Shape::Tuple(_) => parts.all_seen(),
            _ => {}
        }
        self.close_rule();
        Ok(())
    }

    fn mark_passing(&mut self, variants: &[NodeId], parts: &mut Parts<H>) -> Result<()> {
        for variant in variants {
            if self.visit(*variant, parts.value)? {
                self.mark(*variant, parts)?;
            }
        }
        Ok(())
    }

    fn mark_schema(&mut self, schema: &JsonSchema, parts: &mut Parts<H>) -> Result<()> {
        if parts.class == Class::Object
            && let Some(rules) = &schema.object
        {
            self.mark_properties(rules, parts)?;
        }
        if parts.class == Class::Array
            && let Some(rules) = &schema.array
        {
            self.mark_items(rules, parts)?;
        }
        match &schema.logic {
            Some(rules) => self.mark_logic(rules, parts),
            None => Ok(()),
        }
    }

    fn mark_properties(&mut self, rules: &ObjectRules, parts: &mut Parts<H>) -> Result<()> {
        let program = self.program;
        if rules.additional == Additional::Unspecified {
            for (key, seen) in parts.keys.iter().zip(&mut parts.seen) {
                if *seen {
                    continue;
                }
                self.spend(1)?;
                *seen = self.key_text(*key, |name| rules.find(program, name).is_some())?;
                for property in &rules.patterns {
                    let name = self.host.key_value(*key);
                    *seen = *seen || self.matches(name, property.pattern)?;
                }
            }
        } else {
            parts.all_seen();
        }
        for dependency in &rules.dependencies {
            if let Some(node) = dependency.node
                && self.is_present(parts.value, dependency.key)?
            {
                self.mark(node, parts)?;
            }
        }
        Ok(())
    }

    fn mark_items(&mut self, rules: &ArrayRules, parts: &mut Parts<H>) -> Result<()> {
        if rules.rest.is_some() {
            parts.all_seen();
        }
        for (seen, _) in parts.seen.iter_mut().zip(&rules.prefix) {
            *seen = true;
        }
        if let Some(contains) = rules.contains.filter(|_| rules.contains_evaluates) {
            for (index, seen) in parts.seen.iter_mut().enumerate() {
                *seen = *seen || self.visit_element(contains, parts.value, index)?;
            }
        }
        Ok(())
    }

    fn mark_logic(&mut self, rules: &LogicRules, parts: &mut Parts<H>) -> Result<()> {
        if let Some(target) = rules.reference {
            self.mark(target, parts)?;
        }
        if let Some(reference) = rules.dynamic {
            let target = self.dynamic_target(reference)?;
            self.mark(target, parts)?;
        }
        for schema in &rules.all_of {
            self.mark(*schema, parts)?;
        }
        for variants in [&rules.any_of, &rules.one_of].into_iter().flatten() {
            self.mark_passing(variants, parts)?;
        }
        if let Some(condition) = rules.condition {
            let branch = if self.visit(condition, parts.value)? {
                self.mark(condition, parts)?;
                rules.then
            } else {
                rules.otherwise
            };
            if let Some(branch) = branch {
                self.mark(branch, parts)?;
            }
        }
        Ok(())
    }
}

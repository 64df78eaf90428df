//! `unevaluatedProperties` and `unevaluatedItems`: what the other keywords have looked at.
//!
//! Nothing is recorded while checking; a schema with one of these keywords collects afterwards. Schemas
//! without them pay nothing.

use super::failure::{OnFailure, Step, Verdict};
use super::walk::Walk;
use crate::ir::{
    Additional, ArrayRules, JsonSchema, LogicRules, NodeId, ObjectRules, Shape, Unevaluated,
};
use crate::value_access::{Class, OwnKeys, Result, ValueAccess};

/// The parts of an array or an object, and which of them have been looked at.
struct Parts<A: ValueAccess> {
    value: A::Value,
    class: Class,
    /// The own keys of an object; of an array only their number counts.
    keys: Vec<A::Key>,
    seen: Vec<bool>,
}

/// The schema of the parts of such a value that nothing else looked at.
fn of_parts(rules: &Unevaluated, class: Class) -> Option<NodeId> {
    match class {
        Class::Object => rules.properties,
        Class::Array => rules.items,
        _ => None,
    }
}

impl<A: ValueAccess> Parts<A> {
    fn all_seen(&mut self) {
        self.seen.fill(true);
    }
}

impl<A: ValueAccess> Walk<'_, '_, A> {
    #[inline(never)]
    pub(super) fn unevaluated<F: OnFailure>(
        &mut self,
        schema: &JsonSchema,
        rules: &Unevaluated,
        class: Class,
        value: A::Value,
    ) -> Verdict {
        let Some(node) = of_parts(rules, class) else {
            return Ok(());
        };
        let parts = self.unevaluated_parts(schema, class, value)?;
        self.spend(parts.seen.len() as u64 / 8)?;
        for (index, _) in parts.seen.iter().enumerate().filter(|(_, seen)| !**seen) {
            let Some(key) = parts.keys.get(index) else {
                if !Self::settle::<F>(self.accepts_element(node, value, index))? {
                    self.fail_at::<F>(Step::Index(index), "Unexpected element")?;
                }
                continue;
            };
            let passes = self.inside(|walk| {
                let property = walk.by_key(value, *key)?;
                Ok(walk.is_undefined(property)? || walk.accepts(node, property)?)
            });
            if !Self::settle::<F>(passes)? {
                self.fail_at::<F>(Step::Key(*key), "Unexpected property")?;
            }
        }
        Ok(())
    }

    /// The parts of a value, with those marked that the keywords beside `unevaluated...` looked at.
    fn unevaluated_parts(
        &mut self,
        schema: &JsonSchema,
        class: Class,
        value: A::Value,
    ) -> Result<Parts<A>> {
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
    fn mark(&mut self, id: NodeId, parts: &mut Parts<A>) -> Result<()> {
        self.open_rule()?;
        let marked = self.mark_shape(id, parts);
        self.close_rule();
        marked
    }

    fn mark_shape(&mut self, id: NodeId, parts: &mut Parts<A>) -> Result<()> {
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
            Shape::Ref(target) | Shape::Import(target) => self.mark(*target, parts)?,
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
        Ok(())
    }

    fn mark_passing(&mut self, variants: &[NodeId], parts: &mut Parts<A>) -> Result<()> {
        for variant in variants {
            if self.accepts(*variant, parts.value)? {
                self.mark(*variant, parts)?;
            }
        }
        Ok(())
    }

    fn mark_schema(&mut self, schema: &JsonSchema, parts: &mut Parts<A>) -> Result<()> {
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

    fn mark_properties(&mut self, rules: &ObjectRules, parts: &mut Parts<A>) -> Result<()> {
        let program = self.program;
        if rules.additional == Additional::Unspecified {
            for (key, seen) in parts.keys.iter().zip(&mut parts.seen) {
                if *seen {
                    continue;
                }
                self.spend(1)?;
                *seen = self.key_text(*key, |name| rules.find(program, name).is_some())?;
                for property in &rules.patterns {
                    let name = self.access.key_value(*key);
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

    fn mark_items(&mut self, rules: &ArrayRules, parts: &mut Parts<A>) -> Result<()> {
        if rules.rest.is_some() {
            parts.all_seen();
        }
        for (seen, _) in parts.seen.iter_mut().zip(&rules.prefix) {
            *seen = true;
        }
        if let Some(contains) = rules.contains.filter(|_| rules.contains_evaluates) {
            for (index, seen) in parts.seen.iter_mut().enumerate() {
                *seen = *seen || self.accepts_element(contains, parts.value, index)?;
            }
        }
        Ok(())
    }

    fn mark_logic(&mut self, rules: &LogicRules, parts: &mut Parts<A>) -> Result<()> {
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
            let branch = if self.accepts(condition, parts.value)? {
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

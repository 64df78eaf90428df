//! JSON Schema on arrays and objects.

use super::walk::Walk;
use crate::host::{Host, OwnKeys, Result};
use crate::ir::{Additional, ArrayRules, Dependency, NodeId, ObjectRules};

impl<H: Host> Walk<'_, '_, H> {
    pub(super) fn json_array(&mut self, rules: &ArrayRules, value: H::Value) -> Result<bool> {
        let length = self.array_length(value)?;
        if !rules.length.allows(length as f64) {
            return Ok(false);
        }
        for index in 0..length {
            let Some(node) = rules.at(index) else { break };
            if !self.visit_element(node, value, index)? {
                return Ok(false);
            }
        }
        if let Some(contains) = rules.contains
            && !self.contains_enough(rules, contains, value, length)?
        {
            return Ok(false);
        }
        Ok(!rules.unique || self.all_differ(value, length)?)
    }

    fn contains_enough(
        &mut self,
        rules: &ArrayRules,
        contains: NodeId,
        value: H::Value,
        length: usize,
    ) -> Result<bool> {
        let mut count = 0.0;
        for index in 0..length {
            if rules.matching.max.is_none() && rules.matching.allows(count) {
                break;
            }
            if self.visit_element(contains, value, index)? {
                count += 1.0;
            }
        }
        Ok(rules.matching.allows(count))
    }

    pub(super) fn json_object(&mut self, rules: &ObjectRules, value: H::Value) -> Result<bool> {
        if !self.has_size(value, OwnKeys::Enumerable, rules.size)? {
            return Ok(false);
        }
        let scope = self.descend()?;
        let mut passes = self.json_properties(rules, value);
        if matches!(passes, Ok(true)) {
            passes = self.json_keys(rules, value);
        }
        self.ascend(scope);
        if rules.dependencies.is_empty() || !matches!(passes, Ok(true)) {
            return passes;
        }
        self.json_dependencies(&rules.dependencies, value)
    }

    fn json_properties(&mut self, rules: &ObjectRules, value: H::Value) -> Result<bool> {
        let mut seen = 0;
        for property in &rules.properties {
            let found = self.get(value, property.key)?;
            if self.is_undefined(found)? {
                if property.required {
                    return Ok(false);
                }
                continue;
            }
            seen += usize::from(property.required);
            if !self.visit(property.node, found)? {
                return Ok(false);
            }
        }
        if seen == rules.required.len() {
            return Ok(true);
        }
        for key in &rules.required {
            if !self.is_present(value, *key)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// A property that is `undefined` is not there, as far as JSON goes.
    pub(crate) fn is_present(&mut self, value: H::Value, key: crate::ir::KeyId) -> Result<bool> {
        let found = self.get(value, key)?;
        Ok(!self.is_undefined(found)?)
    }

    /// What applies to keys that the schema does not name.
    fn json_keys(&mut self, rules: &ObjectRules, value: H::Value) -> Result<bool> {
        let strict = matches!(
            rules.additional,
            Additional::Forbidden | Additional::Schema(_)
        );
        if !strict && rules.patterns.is_empty() && rules.names.is_none() {
            return Ok(true);
        }
        let mut keys = self.keys(value, OwnKeys::Enumerable)?;
        while let Some(key) = self.next_key(&mut keys)? {
            self.spend(1)?;
            let scope = self.host.enter()?;
            let passes = self.json_key(rules, value, key, strict);
            self.host.leave(scope);
            if !passes? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn json_key(
        &mut self,
        rules: &ObjectRules,
        value: H::Value,
        key: H::Key,
        strict: bool,
    ) -> Result<bool> {
        let program = self.program;
        let name = self.host.key_value(key);
        if let Some(names) = rules.names
            && !self.visit(names, name)?
        {
            return Ok(false);
        }
        let mut known = self.key_text(key, |name| rules.find(program, name).is_some())?;
        for property in &rules.patterns {
            if self.matches(name, property.pattern)? {
                known = true;
                let found = self.by_key(value, key)?;
                if !self.is_undefined(found)? && !self.visit(property.node, found)? {
                    return Ok(false);
                }
            }
        }
        if known || !strict {
            return Ok(true);
        }
        let found = self.by_key(value, key)?;
        if self.is_undefined(found)? {
            return Ok(true);
        }
        match rules.additional {
            Additional::Schema(schema) => self.visit(schema, found),
            _ => Ok(false),
        }
    }

    fn json_dependencies(&mut self, dependencies: &[Dependency], value: H::Value) -> Result<bool> {
        for dependency in dependencies {
            if !self.is_present(value, dependency.key)? {
                continue;
            }
            for key in &dependency.required {
                if !self.is_present(value, *key)? {
                    return Ok(false);
                }
            }
            if let Some(node) = dependency.node
                && !self.visit(node, value)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

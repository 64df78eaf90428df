//! JSON Schema on arrays and objects.

use super::failure::{OnFailure, Step, Verdict, require};
use super::messages;
use super::walk::Walk;
use crate::ir::{Additional, ArrayRules, Dependency, KeyId, MinMax, NodeId, ObjectRules};
use crate::value_access::{OwnKeys, Result, ValueAccess};

impl<A: ValueAccess> Walk<'_, '_, A> {
    pub(super) fn json_array<F: OnFailure>(
        &mut self,
        rules: &ArrayRules,
        value: A::Value,
    ) -> Verdict {
        let length = self.array_length(value)?;
        self.size::<F>(length as f64, rules.length, messages::ARRAY_LENGTH)?;
        for index in 0..length {
            let Some(node) = rules.at(index) else { break };
            self.visit_element::<F>(node, value, index)?;
        }
        if rules.unique && !self.all_differ(value, length)? {
            self.fail::<F>("Expected array elements to be unique")?;
        }
        match rules.contains {
            Some(contains) => self.contains::<F>(rules.matching, contains, value, length),
            None => Ok(()),
        }
    }

    #[inline(never)]
    fn contains<F: OnFailure>(
        &mut self,
        matching: MinMax,
        contains: NodeId,
        value: A::Value,
        length: usize,
    ) -> Verdict {
        let MinMax { min, max } = matching;
        let mut count = 0.0;
        for index in 0..length {
            if max.is_none() && matching.allows(count) {
                return Ok(());
            }
            let matches = self.accepts_element(contains, value, index);
            count += f64::from(Self::settle::<F>(matches)?);
        }
        if count == 0.0 && min.is_some_and(|min| min > 0.0) {
            self.fail::<F>("Expected array to contain at least one matching value")?;
        }
        let min = min.filter(|min| *min > 1.0);
        self.size::<F>(count, MinMax { min, max }, messages::MATCHING_ELEMENTS)
    }

    pub(super) fn json_object<F: OnFailure>(
        &mut self,
        rules: &ObjectRules,
        value: A::Value,
    ) -> Verdict {
        self.property_count::<F>(value, OwnKeys::Enumerable, rules.size)?;
        let scope = self.descend()?;
        let verdict = self.json_members::<F>(rules, value);
        self.ascend(scope);
        verdict?;
        self.json_dependencies::<F>(&rules.dependencies, value)
    }

    /// Errors come in TypeBox's order, what is missing and what is too much before the properties. The check reads
    /// each property once.
    fn json_members<F: OnFailure>(&mut self, rules: &ObjectRules, value: A::Value) -> Verdict {
        if F::COLLECTS {
            self.all_present::<F>(&rules.required, value)?;
            self.json_keys::<F>(rules, value)?;
        }
        let mut seen = 0;
        for property in &rules.properties {
            let found = self.get(value, property.key)?;
            if self.is_undefined(found)? {
                require(F::COLLECTS || !property.required)?;
                continue;
            }
            seen += usize::from(property.required);
            self.at::<F>(Step::Name(property.key), |walk| {
                walk.visit::<F>(property.node, found)
            })?;
        }
        if F::COLLECTS {
            return Ok(());
        }
        if seen != rules.required.len() {
            self.all_present::<F>(&rules.required, value)?;
        }
        self.json_keys::<F>(rules, value)
    }

    fn all_present<F: OnFailure>(&mut self, keys: &[KeyId], value: A::Value) -> Verdict {
        for key in keys {
            if !self.is_present(value, *key)? {
                self.fail_at::<F>(Step::Name(*key), "Expected required property")?;
            }
        }
        Ok(())
    }

    /// A property that is `undefined` is not there, as far as JSON goes.
    pub(crate) fn is_present(&mut self, value: A::Value, key: KeyId) -> Result<bool> {
        let found = self.get(value, key)?;
        Ok(!self.is_undefined(found)?)
    }

    /// What applies to keys that the schema does not name.
    #[inline(never)]
    fn json_keys<F: OnFailure>(&mut self, rules: &ObjectRules, value: A::Value) -> Verdict {
        let strict = matches!(
            rules.additional,
            Additional::Forbidden | Additional::Schema(_)
        );
        if !strict && rules.patterns.is_empty() && rules.names.is_none() {
            return Ok(());
        }
        self.each_key(value, OwnKeys::Enumerable, |walk, key| {
            walk.json_key::<F>(rules, value, key, strict)
        })
    }

    /// `propertyNames`, `patternProperties` and `additionalProperties` on one key.
    fn json_key<F: OnFailure>(
        &mut self,
        rules: &ObjectRules,
        value: A::Value,
        key: A::Key,
        strict: bool,
    ) -> Verdict {
        let program = self.program;
        let name = self.access.key_value(key);
        if let Some(names) = rules.names
            && !Self::settle::<F>(self.accepts(names, name))?
        {
            self.fail_at::<F>(Step::Key(key), "Unexpected property name")?;
        }
        let mut known = self.key_text(key, |name| rules.find(program, name).is_some())?;
        for property in &rules.patterns {
            if self.matches(name, property.pattern)? {
                known = true;
                let found = self.by_key(value, key)?;
                if !self.is_undefined(found)? {
                    self.at::<F>(Step::Key(key), |walk| walk.visit::<F>(property.node, found))?;
                }
            }
        }
        if known || !strict {
            return Ok(());
        }
        let found = self.by_key(value, key)?;
        if self.is_undefined(found)? {
            return Ok(());
        }
        match rules.additional {
            Additional::Schema(schema) => {
                self.at::<F>(Step::Key(key), |walk| walk.visit::<F>(schema, found))
            }
            _ => self.fail_at::<F>(Step::Key(key), "Unexpected property"),
        }
    }

    #[inline(never)]
    fn json_dependencies<F: OnFailure>(
        &mut self,
        dependencies: &[Dependency],
        value: A::Value,
    ) -> Verdict {
        for dependency in dependencies {
            if self.is_present(value, dependency.key)? {
                self.all_present::<F>(&dependency.required, value)?;
                if let Some(node) = dependency.node {
                    self.visit::<F>(node, value)?;
                }
            }
        }
        Ok(())
    }
}

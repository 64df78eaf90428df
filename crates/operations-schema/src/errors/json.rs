//! Errors of JSON Schemas: TypeBox's words where it has an equivalent.

use super::messages;
use super::{Collector, Stop};
use crate::check::{of_parts, types_of};
use crate::host::{Class, Host, OwnKeys};
use crate::ir::{
    Additional, ArrayRules, Bounds, JsonSchema, LogicRules, MinMax, ObjectRules, Unevaluated,
};
use crate::number::is_decimal_multiple;

impl<H: Host> Collector<'_, '_, '_, H> {
    pub(super) fn json(&mut self, schema: &JsonSchema, value: H::Value) -> Result<(), Stop> {
        // The walk keeps the dynamic scope; the collector goes along with it.
        let entered = self.walk.enter_resource(schema.resource);
        let result = self.json_rules(schema, value);
        self.walk.leave_resource(entered);
        result
    }

    fn json_rules(&mut self, schema: &JsonSchema, value: H::Value) -> Result<(), Stop> {
        let class = self.walk.class(value)?;
        if schema.nullable && class == Class::Null {
            return Ok(());
        }
        if let Some(types) = schema.types
            && !types.has(types_of(class))
        {
            self.report(messages::types(types))?;
        } else if !self.walk.is_listed(schema, value)? {
            let program = self.walk.program;
            match schema.constant {
                Some(constant) if !self.walk.equals(value, constant)? => {
                    self.report(messages::literal(program.constant(constant)))?;
                }
                _ => self.report("Expected union value")?,
            }
        }
        match class {
            Class::Number(number) => {
                if let Some(rules) = &schema.number {
                    self.walk.pay_for_division(number, rules)?;
                    self.json_number(rules, schema, number)?;
                }
            }
            Class::String => {
                if let Some(rules) = &schema.string {
                    if rules.length.is_given() {
                        let length = self.walk.code_points(value)?;
                        self.size(length, rules.length, messages::STRING_LENGTH)?;
                    }
                    self.pattern_and_format(rules.pattern, rules.format, value)?;
                }
            }
            Class::Array => {
                if let Some(rules) = &schema.array {
                    self.json_array(rules, value)?;
                }
            }
            Class::Object => {
                if let Some(rules) = &schema.object {
                    self.json_object(rules, value)?;
                }
            }
            _ => {}
        }
        if let Some(rules) = &schema.logic {
            self.json_logic(rules, value)?;
        }
        match &schema.unevaluated {
            Some(rules) => self.json_unevaluated(schema, rules, class, value),
            None => Ok(()),
        }
    }

    fn json_number(
        &mut self,
        rules: &Bounds<f64>,
        schema: &JsonSchema,
        value: f64,
    ) -> Result<(), Stop> {
        let integer = schema
            .types
            .is_some_and(|types| types.words().eq(["integer"]));
        let noun = if integer { "integer" } else { "number" };
        self.report_all(messages::number(noun, value, rules, is_decimal_multiple))
    }

    fn json_array(&mut self, rules: &ArrayRules, value: H::Value) -> Result<(), Stop> {
        let length = self.walk.array_length(value)?;
        self.size(length, rules.length, messages::ARRAY_LENGTH)?;
        for index in 0..length {
            let Some(node) = rules.at(index) else { break };
            self.at_index(node, value, index)?;
        }
        if rules.unique && !self.walk.all_differ(value, length)? {
            self.report("Expected array elements to be unique")?;
        }
        let Some(contains) = rules.contains else {
            return Ok(());
        };
        let mut count = 0;
        for index in 0..length {
            let element = self.walk.element(value, index)?;
            count += usize::from(self.passes(contains, element)?);
        }
        let MinMax { min, max } = rules.matching;
        if count == 0 && min.is_some_and(|min| min > 0.0) {
            self.report("Expected array to contain at least one matching value")?;
        }
        let min = min.filter(|min| *min > 1.0);
        self.size(count, MinMax { min, max }, messages::MATCHING_ELEMENTS)
    }

    fn json_object(&mut self, rules: &ObjectRules, value: H::Value) -> Result<(), Stop> {
        let program = self.walk.program;
        self.property_count(value, OwnKeys::Enumerable, rules.size)?;
        self.required(&rules.required, value)?;
        self.keys(value, OwnKeys::Enumerable, |collector, key, name| {
            collector.json_key(rules, value, key, name)?;
            Ok(true)
        })?;
        for property in &rules.properties {
            let found = self.walk.get(value, property.key)?;
            if !self.walk.is_undefined(found)? {
                let name = program.key_text(property.key);
                self.at_key(name, |collector| collector.visit(property.node, found))?;
            }
        }
        for dependency in &rules.dependencies {
            if !self.walk.is_present(value, dependency.key)? {
                continue;
            }
            self.required(&dependency.required, value)?;
            if let Some(node) = dependency.node {
                self.visit(node, value)?;
            }
        }
        Ok(())
    }

    fn required(&mut self, keys: &[crate::ir::KeyId], value: H::Value) -> Result<(), Stop> {
        let program = self.walk.program;
        for key in keys {
            if !self.walk.is_present(value, *key)? {
                let name = program.key_text(*key);
                self.at_key(name, |collector| {
                    collector.report("Expected required property")
                })?;
            }
        }
        Ok(())
    }

    /// `propertyNames`, `patternProperties` and `additionalProperties` on one key.
    fn json_key(
        &mut self,
        rules: &ObjectRules,
        value: H::Value,
        key: H::Key,
        name: &str,
    ) -> Result<(), Stop> {
        let program = self.walk.program;
        let key_value = self.walk.host.key_value(key);
        let found = self.walk.by_key(value, key)?;
        if let Some(names) = rules.names
            && !self.passes(names, key_value)?
        {
            self.at_key(name, |collector| {
                collector.report("Unexpected property name")
            })?;
        }
        if self.walk.is_undefined(found)? {
            return Ok(());
        }
        let mut known = rules.find(program, name).is_some();
        for property in &rules.patterns {
            if self.walk.matches(key_value, property.pattern)? {
                known = true;
                self.at_key(name, |collector| collector.visit(property.node, found))?;
            }
        }
        match rules.additional {
            Additional::Forbidden if !known => {
                self.at_key(name, |collector| collector.report("Unexpected property"))
            }
            Additional::Schema(schema) if !known => {
                self.at_key(name, |collector| collector.visit(schema, found))
            }
            _ => Ok(()),
        }
    }

    fn json_logic(&mut self, rules: &LogicRules, value: H::Value) -> Result<(), Stop> {
        if let Some(target) = rules.reference {
            self.visit(target, value)?;
        }
        if let Some(reference) = rules.dynamic {
            let target = self.walk.dynamic_target(reference)?;
            self.visit(target, value)?;
        }
        let before = self.errors.len();
        for schema in &rules.all_of {
            self.visit(*schema, value)?;
        }
        if self.errors.len() > before {
            self.report("Expected all values to match")?;
        }
        if let Some(variants) = &rules.any_of
            && self.walk.count_variants(variants, value, 1)? == 0
        {
            self.report("Expected union value")?;
        }
        if let Some(variants) = &rules.one_of {
            match self.walk.count_variants(variants, value, 2)? {
                0 => self.report("Expected union value")?,
                1 => {}
                _ => self.report("Expected exactly one variant to match")?,
            }
        }
        if let Some(schema) = rules.not
            && self.walk.visit(schema, value)?
        {
            self.report("Value should not match")?;
        }
        match self.walk.branch(rules, value)? {
            Some(branch) => self.visit(branch, value),
            None => Ok(()),
        }
    }

    fn json_unevaluated(
        &mut self,
        schema: &JsonSchema,
        rules: &Unevaluated,
        class: Class,
        value: H::Value,
    ) -> Result<(), Stop> {
        let Some(node) = of_parts(rules, class) else {
            return Ok(());
        };
        let parts = self.walk.unevaluated_parts(schema, class, value)?;
        for (index, _) in parts.seen.iter().enumerate().filter(|(_, seen)| !**seen) {
            let Some(key) = parts.keys.get(index) else {
                let element = self.walk.element(value, index)?;
                if !self.passes(node, element)? {
                    let name = index.to_string();
                    self.at_key(&name, |collector| collector.report("Unexpected element"))?;
                }
                continue;
            };
            let property = self.walk.by_key(value, *key)?;
            if !self.walk.is_undefined(property)? && !self.passes(node, property)? {
                let name = self.walk.key_text(*key, str::to_owned)?;
                self.at_key(&name, |collector| collector.report("Unexpected property"))?;
            }
        }
        Ok(())
    }
}

//! JSON Schema.

use super::walk::Walk;
use crate::host::{Class, Host, Result};
use crate::ir::{Bounds, Const, JsonSchema, LogicRules, MinMax, StringRules, TypeSet};
use crate::number::is_decimal_multiple;

/// The JSON types of a value; empty for what JSON does not have.
pub(crate) fn types_of(class: Class) -> TypeSet {
    match class {
        Class::Null => TypeSet::NULL,
        Class::Bool(_) => TypeSet::BOOLEAN,
        Class::Number(number) if !number.is_finite() => TypeSet::default(),
        Class::Number(number) if number.fract() == 0.0 => TypeSet::NUMBER.with(TypeSet::INTEGER),
        Class::Number(_) => TypeSet::NUMBER,
        Class::String => TypeSet::STRING,
        Class::Array => TypeSet::ARRAY,
        Class::Object => TypeSet::OBJECT,
        Class::Undefined | Class::BigInt | Class::Symbol | Class::Function => TypeSet::default(),
    }
}

impl<H: Host> Walk<'_, '_, H> {
    pub(super) fn json(&mut self, schema: &JsonSchema, value: H::Value) -> Result<bool> {
        let class = self.class(value)?;
        if schema.nullable && class == Class::Null {
            return Ok(true);
        }
        if schema
            .types
            .is_some_and(|types| !types.has(types_of(class)))
            || !self.is_listed(schema, value)?
        {
            return Ok(false);
        }
        let passes = match class {
            Class::Number(number) => match &schema.number {
                Some(rules) => {
                    self.pay_for_division(number, rules)?;
                    rules.hold(number, is_decimal_multiple)
                }
                None => true,
            },
            Class::String => match &schema.string {
                Some(rules) => self.json_string(**rules, value)?,
                None => true,
            },
            _ => true,
        };
        if !passes {
            return Ok(false);
        }
        let parts = match class {
            Class::Array => schema.array.is_some(),
            Class::Object => schema.object.is_some(),
            _ => false,
        };
        if !parts && schema.logic.is_none() && schema.unevaluated.is_none() {
            return Ok(true);
        }
        let entered = self.enter_resource(schema.resource);
        let passes = self.json_parts(schema, class, value);
        self.leave_resource(entered);
        passes
    }

    /// Dividing fractions means dividing decimals of up to six hundred digits.
    pub(crate) fn pay_for_division(&mut self, number: f64, rules: &Bounds<f64>) -> Result<()> {
        match rules.multiple_of {
            Some(divisor) if number.fract() == 0.0 && divisor.fract() == 0.0 => self.spend(8),
            Some(_) => self.spend(400),
            None => Ok(()),
        }
    }

    /// Everything that leads to other nodes.
    fn json_parts(&mut self, schema: &JsonSchema, class: Class, value: H::Value) -> Result<bool> {
        if class == Class::Array
            && let Some(rules) = &schema.array
            && !self.json_array(rules, value)?
        {
            return Ok(false);
        }
        if class == Class::Object
            && let Some(rules) = &schema.object
            && !self.json_object(rules, value)?
        {
            return Ok(false);
        }
        if let Some(rules) = &schema.logic
            && !self.json_logic(rules, value)?
        {
            return Ok(false);
        }
        match &schema.unevaluated {
            Some(rules) => self.nothing_unevaluated(schema, rules, class, value),
            None => Ok(true),
        }
    }

    /// `const` and `enum`.
    pub(crate) fn is_listed(&mut self, schema: &JsonSchema, value: H::Value) -> Result<bool> {
        if let Some(constant) = schema.constant
            && !self.equals(value, constant)?
        {
            return Ok(false);
        }
        let Some(list) = &schema.enumeration else {
            return Ok(true);
        };
        let program = self.program;
        if self.class(value)? == Class::String {
            // The text is read once, however long the list is.
            self.spend(list.len() as u64)?;
            let mut others = false;
            let found = self.text(value, |text| {
                list.iter().any(|id| match program.constant(*id) {
                    Const::String(wanted) => &**wanted == text,
                    Const::Slot(_) => {
                        others = true;
                        false
                    }
                    _ => false,
                })
            })?;
            if found || !others {
                return Ok(found);
            }
        }
        for constant in list {
            self.spend(1)?;
            if self.equals(value, *constant)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn json_string(&mut self, rules: StringRules, value: H::Value) -> Result<bool> {
        if !self.length_is_within(rules.length, value)? {
            return Ok(false);
        }
        self.pattern_and_format(rules, value)
    }

    /// Lengths count code points. There are at least half as many as UTF-16 units, and at most as
    /// many, so counting is rarely needed.
    fn length_is_within(&mut self, length: MinMax, value: H::Value) -> Result<bool> {
        let MinMax { min, max } = length;
        if !length.is_given() {
            return Ok(true);
        }
        let most = self.utf16_length(value)? as f64;
        let least = (most / 2.0).ceil();
        if min.is_some_and(|min| most < min) || max.is_some_and(|max| least > max) {
            return Ok(false);
        }
        Ok((length.allows(least) && length.allows(most))
            || length.allows(self.code_points(value)? as f64))
    }

    pub(crate) fn code_points(&mut self, value: H::Value) -> Result<usize> {
        self.text(value, |text| text.chars().count())
    }

    fn json_logic(&mut self, rules: &LogicRules, value: H::Value) -> Result<bool> {
        if let Some(target) = rules.reference
            && !self.visit(target, value)?
        {
            return Ok(false);
        }
        if let Some(reference) = rules.dynamic {
            let target = self.dynamic_target(reference)?;
            if !self.visit(target, value)? {
                return Ok(false);
            }
        }
        for schema in &rules.all_of {
            if !self.visit(*schema, value)? {
                return Ok(false);
            }
        }
        if let Some(variants) = &rules.any_of
            && !self.matches_any(variants, value)?
        {
            return Ok(false);
        }
        if let Some(variants) = &rules.one_of
            && self.count_variants(variants, value, 2)? != 1
        {
            return Ok(false);
        }
        if let Some(schema) = rules.not
            && self.visit(schema, value)?
        {
            return Ok(false);
        }
        match self.branch(rules, value)? {
            Some(branch) => self.visit(branch, value),
            None => Ok(true),
        }
    }

    pub(super) fn matches_any(
        &mut self,
        variants: &[crate::ir::NodeId],
        value: H::Value,
    ) -> Result<bool> {
        Ok(self.count_variants(variants, value, 1)? == 1)
    }

    /// How many variants pass, counting no further than `enough`.
    pub(crate) fn count_variants(
        &mut self,
        variants: &[crate::ir::NodeId],
        value: H::Value,
        enough: usize,
    ) -> Result<usize> {
        let mut count = 0;
        for variant in variants {
            count += usize::from(self.visit(*variant, value)?);
            if count >= enough {
                break;
            }
        }
        Ok(count)
    }

    /// The branch that `if` chooses.
    pub(crate) fn branch(
        &mut self,
        rules: &LogicRules,
        value: H::Value,
    ) -> Result<Option<crate::ir::NodeId>> {
        let Some(condition) = rules.condition else {
            return Ok(None);
        };
        if rules.then.is_none() && rules.otherwise.is_none() {
            return Ok(None);
        }
        Ok(if self.visit(condition, value)? {
            rules.then
        } else {
            rules.otherwise
        })
    }
}

//! JSON Schema.

use super::failure::{OnFailure, Verdict};
use super::messages::{self, Literal, Types};
use super::walk::Walk;
use crate::ir::{
    Bounds, Const, ConstId, JsonSchema, LogicRules, MinMax, NodeId, StringRules, TypeSet,
};
use crate::number::is_decimal_multiple;
use crate::value_access::{Class, Result, ValueAccess};

/// The JSON types of a value; empty for what JSON does not have.
fn types_of(class: Class) -> TypeSet {
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

impl<A: ValueAccess> Walk<'_, '_, A> {
    pub(super) fn json<F: OnFailure>(&mut self, schema: &JsonSchema, value: A::Value) -> Verdict {
        let class = self.class(value)?;
        if schema.nullable && class == Class::Null {
            return Ok(());
        }
        match schema.types {
            Some(types) if !types.has(types_of(class)) => self.fail::<F>(Types(types))?,
            _ => self.listed::<F>(schema, value)?,
        }
        match class {
            Class::Number(number) => {
                if let Some(rules) = &schema.number {
                    self.json_number::<F>(rules, schema, number)?;
                }
            }
            Class::String => {
                if let Some(rules) = &schema.string {
                    self.json_string::<F>(**rules, value)?;
                }
            }
            _ => {}
        }
        let parts = match class {
            Class::Array => schema.array.is_some(),
            Class::Object => schema.object.is_some(),
            _ => false,
        };
        if !parts && schema.logic.is_none() && schema.unevaluated.is_none() {
            return Ok(());
        }
        let entered = self.enter_resource(schema.resource);
        let verdict = self.json_parts::<F>(schema, class, value);
        self.leave_resource(entered);
        verdict
    }

    fn json_number<F: OnFailure>(
        &mut self,
        rules: &Bounds<f64>,
        schema: &JsonSchema,
        number: f64,
    ) -> Verdict {
        // Dividing fractions means dividing decimals of up to six hundred digits.
        match rules.multiple_of {
            Some(divisor) if number.fract() == 0.0 && divisor.fract() == 0.0 => self.spend(8)?,
            Some(_) => self.spend(400)?,
            None => {}
        }
        let noun = match schema.types {
            Some(TypeSet::INTEGER) => "integer",
            _ => "number",
        };
        self.bounds::<F>(noun, number, rules, is_decimal_multiple)
    }

    /// Everything that leads to other nodes.
    fn json_parts<F: OnFailure>(
        &mut self,
        schema: &JsonSchema,
        class: Class,
        value: A::Value,
    ) -> Verdict {
        if class == Class::Array
            && let Some(rules) = &schema.array
        {
            self.json_array::<F>(rules, value)?;
        }
        if class == Class::Object
            && let Some(rules) = &schema.object
        {
            self.json_object::<F>(rules, value)?;
        }
        if let Some(rules) = &schema.logic {
            self.json_logic::<F>(rules, value)?;
        }
        match &schema.unevaluated {
            Some(rules) => self.unevaluated::<F>(schema, rules, class, value),
            None => Ok(()),
        }
    }

    /// `const` and `enum`.
    fn listed<F: OnFailure>(&mut self, schema: &JsonSchema, value: A::Value) -> Verdict {
        if let Some(constant) = schema.constant
            && !self.equals(value, constant)?
        {
            return self.fail::<F>(Literal(self.program.constant(constant)));
        }
        match &schema.enumeration {
            Some(list) => {
                let is_listed = self.is_one_of(list, value)?;
                self.expect::<F>(is_listed, "Expected union value")
            }
            None => Ok(()),
        }
    }

    fn is_one_of(&mut self, list: &[ConstId], value: A::Value) -> Result<bool> {
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

    fn json_string<F: OnFailure>(&mut self, rules: StringRules, value: A::Value) -> Verdict {
        if rules.length.is_given() {
            let length = self.code_points(rules.length, value)?;
            self.size::<F>(length, rules.length, messages::STRING_LENGTH)?;
        }
        self.pattern_and_format::<F>(rules, value)
    }

    /// The length of a string in code points, or one that is on the same side of these bounds. There are at least
    /// half as many as UTF-16 units, and at most as many, so counting is rarely needed.
    fn code_points(&mut self, bounds: MinMax, value: A::Value) -> Result<f64> {
        let most = self.utf16_length(value)? as f64;
        let least = (most / 2.0).ceil();
        let sides = |length| {
            let [min, max] = [bounds.broken_min(length), bounds.broken_max(length)];
            (min.is_some(), max.is_some())
        };
        if sides(least) == sides(most) {
            return Ok(most);
        }
        self.text(value, |text| text.chars().count() as f64)
    }

    fn json_logic<F: OnFailure>(&mut self, rules: &LogicRules, value: A::Value) -> Verdict {
        if let Some(target) = rules.reference {
            self.visit::<F>(target, value)?;
        }
        if let Some(reference) = rules.dynamic {
            let target = self.dynamic_target(reference)?;
            self.visit::<F>(target, value)?;
        }
        self.all_of::<F>(&rules.all_of, value)?;
        if let Some(variants) = &rules.any_of
            && self.count_variants(variants, value, 1)? == 0
        {
            self.fail::<F>("Expected union value")?;
        }
        if let Some(variants) = &rules.one_of {
            match self.count_variants(variants, value, 2)? {
                0 => self.fail::<F>("Expected union value")?,
                1 => {}
                _ => self.fail::<F>("Expected exactly one variant to match")?,
            }
        }
        if let Some(schema) = rules.not
            && self.accepts(schema, value)?
        {
            self.fail::<F>("Value should not match")?;
        }
        match self.branch(rules, value)? {
            Some(branch) => self.visit::<F>(branch, value),
            None => Ok(()),
        }
    }

    /// How many variants pass, counting no further than `enough`.
    pub(super) fn count_variants(
        &mut self,
        variants: &[NodeId],
        value: A::Value,
        enough: usize,
    ) -> Result<usize> {
        let mut count = 0;
        for variant in variants {
            count += usize::from(self.accepts(*variant, value)?);
            if count >= enough {
                break;
            }
        }
        Ok(count)
    }

    /// The branch that `if` chooses.
    fn branch(&mut self, rules: &LogicRules, value: A::Value) -> Result<Option<NodeId>> {
        let Some(condition) = rules.condition else {
            return Ok(None);
        };
        if rules.then.is_none() && rules.otherwise.is_none() {
            return Ok(None);
        }
        Ok(if self.accepts(condition, value)? {
            rules.then
        } else {
            rules.otherwise
        })
    }
}

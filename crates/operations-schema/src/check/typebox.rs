//! TypeBox kinds without parts.

use std::cmp::Ordering;

use num_bigint::BigInt;

use super::walk::Walk;
use crate::host::{Class, Host, Interrupt, Result};
use crate::ir::{
    Bounds, Const, ConstId, ConstructorNode, KindNode, RegExpNode, Shape, StringRules,
};
use crate::number::js_is_multiple;

/// How a bigint compares with a constant; none when it does not (`NaN`).
pub(crate) fn compare_bigint(value: &BigInt, constant: &Const) -> Option<Ordering> {
    match constant {
        Const::BigInt(digits) => Some(value.cmp(&digits.parse().ok()?)),
        Const::Number(number) if number.is_nan() => None,
        Const::Number(number) if number.is_infinite() => Some(if *number > 0.0 {
            Ordering::Less
        } else {
            Ordering::Greater
        }),
        Const::Number(number) => {
            let floor: BigInt = format!("{:.0}", number.floor()).parse().ok()?;
            Some(match value.cmp(&floor) {
                Ordering::Equal if *number > number.floor() => Ordering::Less,
                other => other,
            })
        }
        _ => None,
    }
}

/// `value % constant === 0n`; none where JavaScript throws.
pub(crate) fn is_bigint_multiple(value: &BigInt, constant: &Const) -> Option<bool> {
    let Const::BigInt(digits) = constant else {
        return None;
    };
    let divisor: BigInt = digits.parse().ok()?;
    let zero = BigInt::default();
    if divisor == zero {
        None
    } else {
        Some(value % divisor == zero)
    }
}

impl<H: Host> Walk<'_, '_, H> {
    /// Kinds whose verdict needs no other node.
    pub(super) fn leaf(&mut self, shape: &Shape, value: H::Value) -> Result<bool> {
        if let Shape::Literal(constant) = shape {
            return self.same(value, *constant);
        }
        if let Shape::Kind(node) = shape {
            return self.custom_kind(node, value);
        }
        let class = self.class(value)?;
        Ok(match (shape, class) {
            (Shape::Boolean, Class::Bool(_))
            | (Shape::Null, Class::Null)
            | (Shape::Symbol, Class::Symbol)
            | (Shape::Function, Class::Function)
            | (Shape::Undefined | Shape::Void, Class::Undefined) => true,
            (Shape::Number(node), Class::Number(number)) => {
                number.is_finite() && node.hold(number, js_is_multiple)
            }
            (Shape::Integer(node), Class::Number(number)) => {
                number.is_finite() && number.fract() == 0.0 && node.hold(number, js_is_multiple)
            }
            (Shape::String(node), Class::String) => self.string(*node.as_ref(), value)?,
            (Shape::TemplateLiteral(pattern), Class::String) => self.matches(value, *pattern)?,
            (Shape::RegExp(node), _) => self.reg_exp(*node.as_ref(), class, value)?,
            (Shape::BigInt(node), Class::BigInt) => self.bigint(node, value)?,
            (Shape::Date(node), Class::Object) => {
                let time = self.date(value)?;
                time.is_some_and(|time| time.is_finite() && node.hold(time, js_is_multiple))
            }
            (Shape::Uint8Array(length), Class::Object) => {
                let found = self.uint8_array(value)?;
                found.is_some_and(|found| length.allows(found as f64))
            }
            (Shape::Promise, Class::Object) => self.host.is_promise(value)?,
            (Shape::Iterator, Class::Object | Class::Array) => {
                self.host.is_iterable(value, false)?
            }
            (Shape::AsyncIterator, Class::Object | Class::Array) => {
                self.host.is_iterable(value, true)?
            }
            _ => false,
        })
    }

    /// TypeBox throws when nobody registered the kind.
    pub(crate) fn custom_kind(&mut self, node: &KindNode, value: H::Value) -> Result<bool> {
        self.spend(H::PRICES.ask)?;
        self.host
            .custom_kind(value, node)?
            .ok_or(Interrupt::TypeBoxThrows)
    }

    fn string(&mut self, node: StringRules, value: H::Value) -> Result<bool> {
        if node.length.is_given() && !node.length.allows(self.utf16_length(value)? as f64) {
            return Ok(false);
        }
        self.pattern_and_format(node, value)
    }

    pub(super) fn pattern_and_format(
        &mut self,
        rules: StringRules,
        value: H::Value,
    ) -> Result<bool> {
        if let Some(pattern) = rules.pattern
            && !self.matches(value, pattern)?
        {
            return Ok(false);
        }
        match rules.format {
            Some(format) => self.has_format(value, format),
            None => Ok(true),
        }
    }

    /// TypeBox reads `length` from whatever the value is, and the pattern converts to a string.
    fn reg_exp(&mut self, node: RegExpNode, class: Class, value: H::Value) -> Result<bool> {
        if node.length.is_given() {
            let length = match class {
                Class::Undefined | Class::Null => return Err(Interrupt::TypeBoxThrows),
                Class::String => self.utf16_length(value)? as f64,
                Class::Array => self.array_length(value)? as f64,
                Class::Object | Class::Function => {
                    let length = self.get(value, node.length_key)?;
                    match self.class(length)? {
                        Class::Number(length) => length,
                        Class::Bool(length) => f64::from(u8::from(length)),
                        Class::Null => 0.0,
                        Class::String => self.text(length, |text| match text.trim() {
                            "" => 0.0,
                            digits => digits.parse().unwrap_or(f64::NAN),
                        })?,
                        _ => f64::NAN,
                    }
                }
                _ => f64::NAN,
            };
            if !node.length.allows(length) {
                return Ok(false);
            }
        }
        if class == Class::Symbol {
            return Err(Interrupt::TypeBoxThrows);
        }
        self.matches(value, node.pattern)
    }

    fn bigint(&mut self, node: &Bounds<ConstId>, value: H::Value) -> Result<bool> {
        let value = self.bigint_value(value)?;
        let program = self.program;
        let compare = |bound: Option<ConstId>, wanted: fn(Ordering) -> bool| {
            bound.is_none_or(|bound| {
                compare_bigint(&value, program.constant(bound)).is_some_and(wanted)
            })
        };
        let in_range = compare(node.exclusive_maximum, Ordering::is_lt)
            && compare(node.exclusive_minimum, Ordering::is_gt)
            && compare(node.maximum, Ordering::is_le)
            && compare(node.minimum, Ordering::is_ge);
        if !in_range {
            return Ok(false);
        }
        match node.multiple_of {
            Some(divisor) => is_bigint_multiple(&value, program.constant(divisor))
                .ok_or(Interrupt::TypeBoxThrows),
            None => Ok(true),
        }
    }

    pub(super) fn constructor(&mut self, node: ConstructorNode, value: H::Value) -> Result<bool> {
        let prototype = self.prototype(node, value)?;
        self.inside(|walk| walk.visit(node.returns, prototype))
    }

    /// `value.prototype`, which throws on `undefined` and `null`.
    pub(crate) fn prototype(&mut self, node: ConstructorNode, value: H::Value) -> Result<H::Value> {
        match self.class(value)? {
            Class::Undefined | Class::Null => Err(Interrupt::TypeBoxThrows),
            Class::Object | Class::Array | Class::Function => self.get(value, node.prototype),
            _ => Ok(self.host.undefined()),
        }
    }
}

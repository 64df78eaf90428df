//! TypeBox kinds without parts.

use std::cmp::Ordering;

use num_bigint::BigInt;

use super::failure::{OnFailure, Verdict, require};
use super::messages::{self, Bound, JsNumber, Literal, SizeMessages};
use super::walk::Walk;
use crate::ir::{
    Bounds, Const, ConstId, ConstructorNode, KindNode, MinMax, PatternId, RegExpNode, Shape,
    StringRules,
};
use crate::number::js_is_multiple;
use crate::value_access::{Class, Interrupt, Result, ValueAccess};

/// How a bigint compares with a constant; none when it does not (`NaN`).
fn compare_bigint(value: &BigInt, constant: &Const) -> Option<Ordering> {
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
fn is_bigint_multiple(value: &BigInt, constant: &Const) -> Option<bool> {
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

impl<A: ValueAccess> Walk<'_, '_, A> {
    /// Kinds whose verdict needs no other node.
    pub(super) fn leaf<F: OnFailure>(&mut self, shape: &Shape, value: A::Value) -> Verdict {
        if let Shape::Literal(constant) = shape {
            let same = self.same(value, *constant)?;
            return self.expect::<F>(same, Literal(self.program.constant(*constant)));
        }
        if let Shape::Kind(node) = shape {
            let passes = Self::settle::<F>(self.custom_kind(node, value))?;
            return self.expect::<F>(passes, format_args!("Expected kind '{}'", node.name));
        }
        let class = self.class(value)?;
        match (shape, class) {
            (Shape::Number(rules), Class::Number(number)) if number.is_finite() => {
                self.bounds::<F>("number", number, rules, js_is_multiple)
            }
            (Shape::Number(_), _) => self.fail::<F>("Expected number"),
            (Shape::Integer(rules), Class::Number(number))
                if number.is_finite() && number.fract() == 0.0 =>
            {
                self.bounds::<F>("integer", number, rules, js_is_multiple)
            }
            (Shape::Integer(_), _) => self.fail::<F>("Expected integer"),
            (Shape::String(rules), Class::String) => {
                if rules.length.is_given() {
                    let length = self.utf16_length(value)? as f64;
                    self.size::<F>(length, rules.length, messages::STRING_LENGTH)?;
                }
                self.pattern_and_format::<F>(**rules, value)
            }
            (Shape::TemplateLiteral(pattern), Class::String) => self.pattern::<F>(*pattern, value),
            (Shape::RegExp(node), _) if class == Class::String || !F::COLLECTS => {
                self.reg_exp::<F>(**node, class, value)
            }
            (Shape::String(_) | Shape::TemplateLiteral(_) | Shape::RegExp(_), _) => {
                self.fail::<F>("Expected string")
            }
            (Shape::BigInt(rules), Class::BigInt) => self.bigint::<F>(rules, value),
            (Shape::BigInt(_), _) => self.fail::<F>("Expected bigint"),
            (Shape::Date(rules), _) => self.date_kind::<F>(rules, class, value),
            (Shape::Uint8Array(length), _) => self.bytes::<F>(*length, class, value),
            (Shape::Boolean, _) => {
                self.expect::<F>(matches!(class, Class::Bool(_)), "Expected boolean")
            }
            (Shape::Null, _) => self.expect::<F>(class == Class::Null, "Expected null"),
            (Shape::Symbol, _) => self.expect::<F>(class == Class::Symbol, "Expected symbol"),
            (Shape::Function, _) => self.expect::<F>(class == Class::Function, "Expected function"),
            (Shape::Undefined, _) => {
                self.expect::<F>(class == Class::Undefined, "Expected undefined")
            }
            (Shape::Void, _) => self.expect::<F>(class == Class::Undefined, "Expected void"),
            (Shape::Promise, _) => {
                let is_promise = class == Class::Object && self.access.is_promise(value)?;
                self.expect::<F>(is_promise, "Expected Promise")
            }
            (Shape::Iterator, _) => self.iterable::<F>(class, value, false, "Expected Iterator"),
            (Shape::AsyncIterator, _) => {
                self.iterable::<F>(class, value, true, "Expected AsyncIterator")
            }
            _ => self.fail::<F>("Unexpected value"),
        }
    }

    /// TypeBox throws when the kind is not registered.
    fn custom_kind(&mut self, node: &KindNode, value: A::Value) -> Result<bool> {
        self.spend(A::PRICES.ask)?;
        self.access
            .custom_kind(value, node)?
            .ok_or(Interrupt::TypeBoxThrows)
    }

    #[inline]
    pub(super) fn bounds<F: OnFailure>(
        &mut self,
        noun: &'static str,
        value: f64,
        rules: &Bounds<f64>,
        is_multiple: fn(f64, f64) -> bool,
    ) -> Verdict {
        let hold = rules.hold(value, is_multiple);
        if hold || !F::COLLECTS {
            return require(hold);
        }
        self.broken_bounds(noun, value, rules, is_multiple)
    }

    #[cold]
    fn broken_bounds(
        &mut self,
        noun: &'static str,
        value: f64,
        rules: &Bounds<f64>,
        is_multiple: fn(f64, f64) -> bool,
    ) -> Verdict {
        let compare = |bound| value.partial_cmp(&bound);
        for (words, bound) in rules.broken(compare, |divisor| is_multiple(value, divisor)) {
            let bound = JsNumber(bound);
            self.report(&format_args!("Expected {noun} to be {words} {bound}"))?;
        }
        Ok(())
    }

    #[inline(never)]
    fn bigint<F: OnFailure>(&mut self, rules: &Bounds<ConstId>, value: A::Value) -> Verdict {
        let value = self.bigint_value(value)?;
        let program = self.program;
        let compare = |bound| compare_bigint(&value, program.constant(bound));
        let is_multiple = |divisor| is_bigint_multiple(&value, program.constant(divisor));
        for (words, bound) in rules.broken(compare, |divisor| is_multiple(divisor) == Some(true)) {
            if !F::COLLECTS && words == Bounds::<ConstId>::MULTIPLE && is_multiple(bound).is_none()
            {
                return Err(Interrupt::TypeBoxThrows.into());
            }
            let bound = program.constant(bound);
            self.fail::<F>(format_args!("Expected bigint to be {words} {bound}"))?;
        }
        Ok(())
    }

    #[inline(never)]
    fn date_kind<F: OnFailure>(
        &mut self,
        rules: &Bounds<f64>,
        class: Class,
        value: A::Value,
    ) -> Verdict {
        let time = match class {
            Class::Object => self.date(value)?.filter(|time| time.is_finite()),
            _ => None,
        };
        match time {
            Some(time) => self.bounds::<F>("Date timestamp", time, rules, js_is_multiple),
            None => self.fail::<F>("Expected Date"),
        }
    }

    #[inline(never)]
    fn bytes<F: OnFailure>(&mut self, bounds: MinMax, class: Class, value: A::Value) -> Verdict {
        let length = match class {
            Class::Object => self.uint8_array(value)?,
            _ => None,
        };
        let Some(length) = length else {
            return self.fail::<F>("Expected Uint8Array");
        };
        // TypeBox looks at the greatest first.
        let MinMax { min, max } = bounds;
        for (min, max) in [(None, max), (min, None)] {
            self.size::<F>(length as f64, MinMax { min, max }, messages::BYTE_LENGTH)?;
        }
        Ok(())
    }

    #[inline(never)]
    fn iterable<F: OnFailure>(
        &mut self,
        class: Class,
        value: A::Value,
        asynchronous: bool,
        message: &'static str,
    ) -> Verdict {
        let is_iterable = matches!(class, Class::Object | Class::Array)
            && self.access.is_iterable(value, asynchronous)?;
        self.expect::<F>(is_iterable, message)
    }

    pub(super) fn size<F: OnFailure>(
        &mut self,
        size: f64,
        bounds: MinMax,
        [too_small, too_large]: SizeMessages,
    ) -> Verdict {
        if !F::COLLECTS {
            return require(bounds.allows(size));
        }
        if let Some(bound) = bounds.broken_min(size) {
            self.fail::<F>(Bound(too_small, bound))?;
        }
        match bounds.broken_max(size) {
            Some(bound) => self.fail::<F>(Bound(too_large, bound)),
            None => Ok(()),
        }
    }

    pub(super) fn pattern_and_format<F: OnFailure>(
        &mut self,
        rules: StringRules,
        value: A::Value,
    ) -> Verdict {
        if let Some(pattern) = rules.pattern {
            self.pattern::<F>(pattern, value)?;
        }
        let Some(format) = rules.format else {
            return Ok(());
        };
        let fits = self.has_format(value, format)?;
        let name = self
            .program
            .format(format)
            .map_or("", |format| &format.name);
        self.expect::<F>(
            fits,
            format_args!("Expected string to match '{name}' format"),
        )
    }

    fn pattern<F: OnFailure>(&mut self, id: PatternId, value: A::Value) -> Verdict {
        let matches = self.matches(value, id)?;
        let source = self
            .program
            .pattern(id)
            .map_or("", |pattern| pattern.source());
        self.expect::<F>(matches, format_args!("Expected string to match '{source}'"))
    }

    /// TypeBox's check reads `length` from whatever the value is, and the pattern converts to a string.
    #[inline(never)]
    fn reg_exp<F: OnFailure>(
        &mut self,
        node: RegExpNode,
        class: Class,
        value: A::Value,
    ) -> Verdict {
        if node.length.is_given() {
            let length = match class {
                Class::Undefined | Class::Null => return Err(Interrupt::TypeBoxThrows.into()),
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
            self.size::<F>(length, node.length, messages::STRING_LENGTH)?;
        }
        if class == Class::Symbol {
            return Err(Interrupt::TypeBoxThrows.into());
        }
        let matches = self.matches(value, node.pattern)?;
        self.expect::<F>(matches, "Expected string to match regular expression")
    }

    /// `value.prototype`, which throws on `undefined` and `null`.
    pub(super) fn constructor<F: OnFailure>(
        &mut self,
        node: ConstructorNode,
        value: A::Value,
    ) -> Verdict {
        let prototype = match self.class(value)? {
            Class::Undefined | Class::Null => return Err(Interrupt::TypeBoxThrows.into()),
            Class::Object | Class::Array | Class::Function => self.get(value, node.prototype)?,
            _ => self.access.undefined(),
        };
        self.inside(|walk| walk.visit::<F>(node.returns, prototype))
    }
}

//! Errors of TypeBox kinds, in the order in which TypeBox lists them.

use super::messages::{self, SizeMessages};
use super::{Collector, Stop};
use crate::check::{compare_bigint, is_bigint_multiple};
use crate::host::{Class, Host};
use crate::ir::{Bounds, ConstId, MinMax, NodeId, Shape, StringRules};
use crate::number::{js_is_multiple, to_js_string};

impl<H: Host> Collector<'_, '_, '_, H> {
    pub(super) fn typebox(
        &mut self,
        id: NodeId,
        shape: &Shape,
        value: H::Value,
    ) -> Result<(), Stop> {
        match shape {
            Shape::Object(node) => self.object(node, value),
            Shape::Array(node) => self.array(node, value),
            Shape::Tuple(node) => self.tuple(node, value),
            Shape::Record(node) => self.record(node, value),
            Shape::Intersect(node) => self.intersect(node, value),
            Shape::Constructor(node) => {
                let prototype = self.walk.prototype(*node, value)?;
                self.visit(node.returns, prototype)
            }
            Shape::String(node) => self.string(**node, value),
            Shape::Number(node) => self.number("number", node, value),
            Shape::Integer(node) => self.number("integer", node, value),
            Shape::BigInt(node) => self.bigint(node, value),
            Shape::Date(node) => self.date(node, value),
            Shape::Uint8Array(node) => self.bytes(*node, value),
            Shape::RegExp(node) => {
                if self.walk.class(value)? != Class::String {
                    return self.report("Expected string");
                }
                self.length(node.length, value)?;
                if self.walk.matches(value, node.pattern)? {
                    return Ok(());
                }
                self.report("Expected string to match regular expression")
            }
            Shape::TemplateLiteral(pattern) => {
                if self.walk.class(value)? != Class::String {
                    return self.report("Expected string");
                }
                self.pattern_and_format(Some(*pattern), None, value)
            }
            other => {
                let message = self.simple_message(other);
                self.unless_passing(id, value, message)
            }
        }
    }

    fn unless_passing(
        &mut self,
        id: NodeId,
        value: H::Value,
        message: impl Into<std::borrow::Cow<'static, str>>,
    ) -> Result<(), Stop> {
        if self.passes(id, value)? {
            Ok(())
        } else {
            self.report(message)
        }
    }

    /// The message of kinds with only one.
    fn simple_message(&self, shape: &Shape) -> String {
        let program = self.walk.program;
        let fixed = match shape {
            Shape::AsyncIterator => "Expected AsyncIterator",
            Shape::Boolean => "Expected boolean",
            Shape::Function => "Expected function",
            Shape::Iterator => "Expected Iterator",
            Shape::Not(_) => "Value should not match",
            Shape::Null => "Expected null",
            Shape::Promise => "Expected Promise",
            Shape::Symbol => "Expected symbol",
            Shape::Undefined => "Expected undefined",
            Shape::Union(_) => "Expected union value",
            Shape::Void => "Expected void",
            Shape::Literal(constant) => return messages::literal(program.constant(*constant)),
            Shape::Kind(node) => return format!("Expected kind '{}'", node.name),
            _ => "Unexpected value",
        };
        fixed.to_owned()
    }

    fn number(&mut self, noun: &str, node: &Bounds<f64>, value: H::Value) -> Result<(), Stop> {
        match self.walk.class(value)? {
            Class::Number(number)
                if number.is_finite() && (noun == "number" || number.fract() == 0.0) =>
            {
                self.report_all(messages::number(noun, number, node, js_is_multiple))
            }
            _ => self.report(format!("Expected {noun}")),
        }
    }

    fn bigint(&mut self, node: &Bounds<ConstId>, value: H::Value) -> Result<(), Stop> {
        if self.walk.class(value)? != Class::BigInt {
            return self.report("Expected bigint");
        }
        let value = self.walk.bigint_value(value)?;
        let program = self.walk.program;
        let found = messages::bounds(
            "bigint",
            node,
            |bound| compare_bigint(&value, program.constant(bound)),
            |divisor| is_bigint_multiple(&value, program.constant(divisor)) == Some(true),
            |bound| messages::const_text(program.constant(bound)),
        );
        self.report_all(found)
    }

    fn date(&mut self, node: &Bounds<f64>, value: H::Value) -> Result<(), Stop> {
        let time = match self.walk.class(value)? {
            Class::Object => self.walk.date(value)?.filter(|time| time.is_finite()),
            _ => None,
        };
        let Some(time) = time else {
            return self.report("Expected Date");
        };
        self.report_all(messages::number(
            "Date timestamp",
            time,
            node,
            js_is_multiple,
        ))
    }

    fn bytes(&mut self, bounds: MinMax, value: H::Value) -> Result<(), Stop> {
        let length = match self.walk.class(value)? {
            Class::Object => self.walk.uint8_array(value)?,
            _ => None,
        };
        let Some(length) = length else {
            return self.report("Expected Uint8Array");
        };
        // TypeBox looks at the greatest first.
        let [too_small, too_large] = messages::BYTE_LENGTH;
        self.bound(bounds.broken_max(length as f64), too_large)?;
        self.bound(bounds.broken_min(length as f64), too_small)
    }

    /// Tells of a size that is out of its bounds.
    pub(super) fn size(
        &mut self,
        size: usize,
        bounds: MinMax,
        [too_small, too_large]: SizeMessages,
    ) -> Result<(), Stop> {
        self.bound(bounds.broken_min(size as f64), too_small)?;
        self.bound(bounds.broken_max(size as f64), too_large)
    }

    /// Tells of a bound that a size does not keep to.
    fn bound(&mut self, broken: Option<f64>, message: &str) -> Result<(), Stop> {
        match broken {
            Some(bound) => self.report(message.replace("{}", &to_js_string(bound))),
            None => Ok(()),
        }
    }

    fn length(&mut self, bounds: MinMax, value: H::Value) -> Result<(), Stop> {
        if !bounds.is_given() {
            return Ok(());
        }
        let length = self.walk.utf16_length(value)?;
        self.size(length, bounds, messages::STRING_LENGTH)
    }

    fn string(&mut self, node: StringRules, value: H::Value) -> Result<(), Stop> {
        if self.walk.class(value)? != Class::String {
            return self.report("Expected string");
        }
        self.length(node.length, value)?;
        self.pattern_and_format(node.pattern, node.format, value)
    }

    pub(super) fn pattern_and_format(
        &mut self,
        pattern: Option<crate::ir::PatternId>,
        format: Option<crate::ir::FormatId>,
        value: H::Value,
    ) -> Result<(), Stop> {
        let program = self.walk.program;
        if let Some(pattern) = pattern
            && !self.walk.matches(value, pattern)?
        {
            let source = program
                .pattern(pattern)
                .map_or("", |pattern| pattern.source());
            self.report(format!("Expected string to match '{source}'"))?;
        }
        if let Some(format) = format
            && !self.walk.has_format(value, format)?
        {
            let name = program.format(format).map_or("", |format| &*format.name);
            self.report(format!("Expected string to match '{name}' format"))?;
        }
        Ok(())
    }
}

//! TypeBox kinds that look at the value alone and not into it: one expression each.

use std::fmt::Write as _;

use super::literal;
use super::writer::{Local, Writer};
use crate::ir::{
    Bounds, Const, ConstId, MinMax, NodeId, PatternId, RegExpNode, Shape, StringRules,
};
use crate::patterns::Dialect;

/// Ends the whole check as "does not pass", wherever it stands: what TypeBox throws on is invalid,
/// also inside `Not` or beside a variant of a union that passes.
pub(super) const INVALID: &str = "invalid()";

/// What a node that needs no statements comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leaf {
    /// Every value passes.
    Always,
    /// No value passes.
    Never,
    /// An expression decides; it can stand in parentheses only.
    Test(String),
}

impl Leaf {
    /// The expression.
    pub(super) fn into_test(self) -> String {
        match self {
            Self::Always => "true".to_owned(),
            Self::Never => "false".to_owned(),
            Self::Test(test) => test,
        }
    }
}

impl Writer<'_> {
    /// The expression for a node that needs no statements; nothing for all others.
    pub(super) fn leaf(&mut self, id: NodeId, v: Local) -> Option<Leaf> {
        let test = match self.program.shape(id) {
            Shape::Any | Shape::Argument | Shape::Unknown | Shape::JsonBoolean(true) => {
                return Some(Leaf::Always);
            }
            Shape::Never | Shape::JsonBoolean(false) => return Some(Leaf::Never),
            Shape::Broken(_) => INVALID.to_owned(),
            Shape::AsyncIterator => {
                format!("typeof {v}===\"object\"&&{v}!==null&&Symbol.asyncIterator in {v}")
            }
            Shape::Iterator => {
                format!("typeof {v}===\"object\"&&{v}!==null&&Symbol.iterator in {v}")
            }
            Shape::BigInt(bounds) => self.bigint(bounds, v),
            Shape::Boolean => format!("typeof {v}===\"boolean\""),
            Shape::Date(bounds) => date(bounds, v),
            Shape::Function => format!("typeof {v}===\"function\""),
            Shape::Integer(bounds) => number("Number.isInteger", bounds, v),
            Shape::Number(bounds) => number("Number.isFinite", bounds, v),
            Shape::Literal(constant) => return Some(self.literal(*constant, v)),
            Shape::Null => format!("{v}===null"),
            Shape::Promise => format!("isPromise({v})"),
            Shape::RegExp(regexp) => self.regexp(id, **regexp, v),
            Shape::String(string) => self.string(**string, v),
            Shape::Symbol => format!("typeof {v}===\"symbol\""),
            Shape::TemplateLiteral(pattern) => {
                let matches = self.matches(*pattern, &v.to_string());
                format!("typeof {v}===\"string\"&&{matches}")
            }
            Shape::Undefined | Shape::Void => format!("{v}===undefined"),
            Shape::Uint8Array(length) => {
                let mut test = format!("isBytes({v})");
                push_size(&mut test, &format!("{v}.length"), *length);
                test
            }
            Shape::Kind(_) => {
                let kind = self.kind(id);
                format!("{kind}({v})")
            }
            Shape::Json(schema) => return self.json_leaf(schema, v),
            _ => return None,
        };
        Some(Leaf::Test(test))
    }

    /// Strict equality with a constant.
    pub(super) fn literal(&mut self, id: ConstId, v: Local) -> Leaf {
        Leaf::Test(match self.program.constant(id) {
            Const::Undefined => format!("{v}===undefined"),
            Const::Null => format!("{v}===null"),
            Const::Bool(wanted) => format!("{v}==={wanted}"),
            Const::Number(wanted) => format!("{v}==={}", literal::number(*wanted)),
            Const::String(wanted) => format!("{v}==={}", literal::string(wanted)),
            Const::BigInt(_) | Const::Slot(_) => {
                let wanted = self.constant(id);
                format!("{v}==={wanted}")
            }
            // These of the schema are never the value itself.
            Const::Date(_) | Const::Array(_) | Const::Object(_) => return Leaf::Never,
        })
    }

    /// Whether a pattern matches the string that `subject` names.
    pub(super) fn matches(&mut self, id: PatternId, subject: &str) -> String {
        let Some(pattern) = self.program.pattern(id) else {
            return "false".to_owned();
        };
        if pattern.dialect() == Dialect::JsonSchema {
            return self.bounded_match(id, subject);
        }
        if pattern.needs_bounds() {
            return format!("matches({},{subject})", id.0);
        }
        let regexp = self.pattern(id);
        // TypeBox makes a new RegExp for each check; one with these flags remembers its position.
        if pattern.flags().contains(['g', 'y']) {
            return format!("({regexp}.lastIndex=0,{regexp}.test({subject}))");
        }
        format!("{regexp}.test({subject})")
    }

    fn bigint(&mut self, bounds: &Bounds<ConstId>, v: Local) -> String {
        let mut test = format!("typeof {v}===\"bigint\"");
        for (operator, bound) in [
            ("<", bounds.exclusive_maximum),
            (">", bounds.exclusive_minimum),
            ("<=", bounds.maximum),
            (">=", bounds.minimum),
        ] {
            if let Some(id) = bound {
                let bound = self.bigint_bound(id);
                let _ = write!(test, "&&{v}{operator}{bound}");
            }
        }
        if let Some(id) = bounds.multiple_of {
            match self.program.constant(id) {
                Const::BigInt(digits)
                    if digits.bytes().any(|digit| matches!(digit, b'1'..=b'9')) =>
                {
                    let divisor = self.constant(id);
                    let _ = write!(test, "&&{v}%{divisor}===0n");
                }
                // TypeBox throws: mixed types, or division by zero.
                _ => {
                    let _ = write!(test, "&&{INVALID}");
                }
            }
        }
        test
    }

    fn bigint_bound(&mut self, id: ConstId) -> String {
        match self.program.constant(id) {
            Const::Number(bound) => literal::number(*bound),
            _ => self.constant(id),
        }
    }

    fn regexp(&mut self, id: NodeId, regexp: RegExpNode, v: Local) -> String {
        let mut test = String::new();
        push_size(&mut test, &format!("{v}.length"), regexp.length);
        let matches = self.matches(regexp.pattern, &v.to_string());
        // Anything else than a string is converted, which can run the user's code.
        let walk = self.walk(id, v);
        format!("(typeof {v}===\"string\"?{matches}{test}:{walk})")
    }

    fn string(&mut self, string: StringRules, v: Local) -> String {
        let mut test = format!("typeof {v}===\"string\"");
        push_size(&mut test, &format!("{v}.length"), string.length);
        if let Some(pattern) = string.pattern {
            let matches = self.matches(pattern, &v.to_string());
            let _ = write!(test, "&&{matches}");
        }
        if let Some(format) = string.format {
            let format = self.format(format);
            let _ = write!(test, "&&isFormat({format},{v})");
        }
        test
    }
}

fn number(is_number: &str, bounds: &Bounds<f64>, v: Local) -> String {
    within(format!("{is_number}({v})"), &v.to_string(), bounds)
}

fn date(bounds: &Bounds<f64>, v: Local) -> String {
    let time = format!("timeOf({v})");
    let test = format!("isDate({v})&&Number.isFinite({time})");
    within(test, &time, bounds)
}

fn within(mut test: String, subject: &str, bounds: &Bounds<f64>) -> String {
    push_bounds(&mut test, subject, bounds);
    if let Some(divisor) = bounds.multiple_of {
        let _ = write!(test, "&&{subject}%{}===0", literal::number(divisor));
    }
    test
}

/// Appends comparisons.
pub(super) fn push_bounds(test: &mut String, subject: &str, bounds: &Bounds<f64>) {
    for (operator, bound) in [
        ("<", bounds.exclusive_maximum),
        (">", bounds.exclusive_minimum),
        ("<=", bounds.maximum),
        (">=", bounds.minimum),
    ] {
        if let Some(bound) = bound {
            let _ = write!(test, "&&{subject}{operator}{}", literal::number(bound));
        }
    }
}

/// Appends comparisons with a least and a greatest size.
pub(super) fn push_size(test: &mut String, subject: &str, size: MinMax) {
    let bounds = Bounds {
        maximum: size.max,
        minimum: size.min,
        ..Bounds::default()
    };
    push_bounds(test, subject, &bounds);
}

//! JSON Schema: keywords about one value, each silent about values of other types.

use std::fmt::Write as _;

use super::keys::Declared;
use super::leaf::{Leaf, push_bounds};
use super::literal;
use super::object::is_object;
use super::writer::{Local, Mode, Scope, Writer};
use crate::ir::{Bounds, Const, ConstId, JsonSchema, NodeId, PatternId, StringRules, TypeSet};
use crate::patterns::{LONGEST_SUBJECT, Pattern, Price};

impl Writer<'_> {
    /// The expression for a JSON Schema without keywords that look into the value or combine.
    pub(super) fn json_leaf(&mut self, schema: &JsonSchema, v: Local) -> Option<Leaf> {
        let looks_inside = schema.array.is_some() || schema.object.is_some();
        if looks_inside || schema.logic.is_some() || schema.unevaluated.is_some() {
            return None;
        }
        let tests = self.json_tests(schema, v);
        Some(if tests.is_empty() {
            Leaf::Always
        } else {
            Leaf::Test(tests.join("&&"))
        })
    }

    /// Writes a JSON Schema.
    pub(super) fn json(&mut self, id: NodeId, schema: &JsonSchema, v: Local, scope: Scope) {
        if let Some(target) = schema.alias() {
            self.visit(target, v, scope);
            return;
        }
        let tests = self.json_tests(schema, v);
        if !tests.is_empty() {
            self.require(&tests.join("&&"), scope);
        }
        if let Some(array) = &schema.array {
            self.guarded(schema, TypeSet::ARRAY, v, |writer| {
                writer.array_rules(array, v, scope);
            });
        }
        if let Some(object) = &schema.object {
            self.guarded(schema, TypeSet::OBJECT, v, |writer| {
                writer.object_rules(object, v, scope);
            });
        }
        let choice = self.only_json_choice(schema, scope.mode);
        if let Some(logic) = &schema.logic {
            self.logic_rules(logic, choice, v, scope);
        }
        if let Some(choice) = choice {
            let mut outer = Declared::default();
            outer.add_json_always(self.program, schema);
            let outer = outer.removes.then_some(&outer);
            self.alternatives(choice, v, outer, scope);
        } else if scope.mode == Mode::Exact {
            let declared = Declared::by(self.program, id);
            self.undeclared_if_object(&declared, v, scope);
        }
    }

    /// Writes something that concerns one type only, under a test for the type unless `type` has
    /// settled it.
    fn guarded(
        &mut self,
        schema: &JsonSchema,
        about: TypeSet,
        v: Local,
        write: impl FnOnce(&mut Self),
    ) {
        match schema.types {
            Some(types) if types == about => return write(self),
            Some(types) if !types.has(about) => return,
            _ => {}
        }
        self.put(format_args!("if({}){{", type_test(about, v)));
        write(self);
        self.put(format_args!("}}"));
    }

    /// Tests of keywords that need no statements; all must hold.
    fn json_tests(&mut self, schema: &JsonSchema, v: Local) -> Vec<String> {
        let mut tests = Vec::new();
        if let Some(types) = schema.types {
            tests.push(format!("({})", type_test(types, v)));
        }
        if let Some(constant) = schema.constant {
            tests.push(format!("({})", self.equals(constant, v)));
        }
        if let Some(constants) = &schema.enumeration {
            let mut options: Vec<String> = constants
                .iter()
                .map(|constant| self.equals(*constant, v))
                .collect();
            if schema.nullable {
                options.push(format!("{v}===null"));
            }
            tests.push(format!(
                "({})",
                if options.is_empty() {
                    "false".to_owned()
                } else {
                    options.join("||")
                }
            ));
        }
        if let Some(rules) = &schema.number {
            push_guarded(
                &mut tests,
                schema,
                TypeSet::NUMBER,
                v,
                &number_rules(rules, v),
            );
        }
        if let Some(rules) = &schema.string {
            let rules = self.string_rules(*rules.as_ref(), v);
            push_guarded(&mut tests, schema, TypeSet::STRING, v, &rules);
        }
        tests
    }

    /// Equality by JSON Schema: by value, with 0 and -0 equal.
    fn equals(&mut self, id: ConstId, v: Local) -> String {
        match self.program.constant(id) {
            Const::Array(_) | Const::Object(_) | Const::Date(_) => {
                let wanted = self.constant(id);
                format!("isEqual({v},{wanted})")
            }
            _ => self.literal(id, v).into_test(),
        }
    }

    fn string_rules(&mut self, rules: StringRules, v: Local) -> String {
        let mut test = String::from("true");
        if let Some(least) = rules.length.min {
            let least_text = literal::number(least);
            // A string has at most as many code points as units, and at least half as many.
            let enough = literal::number(least * 2.0 - 1.0);
            let _ = write!(
                test,
                "&&{v}.length>={least_text}&&({v}.length>={enough}||codePoints({v})>={least_text})"
            );
        }
        if let Some(most) = rules.length.max {
            let most_text = literal::number(most);
            let too_many = literal::number(most * 2.0);
            let _ = write!(
                test,
                "&&({v}.length<={most_text}||{v}.length<={too_many}&&codePoints({v})<={most_text})"
            );
        }
        if let Some(pattern) = rules.pattern {
            let matches = self.matches(pattern, &v.to_string());
            let _ = write!(test, "&&{matches}");
        }
        if let Some(format) = rules.format {
            let format = self.format(format);
            let _ = write!(test, "&&isFormat({format},{v})");
        }
        test
    }

    /// A pattern that may come from anywhere: `RegExp` where it is proven harmless, otherwise the
    /// bounded engine.
    pub(super) fn bounded_match(&mut self, id: PatternId, subject: &str) -> String {
        let price = self.program.pattern(id).and_then(Pattern::price_elsewhere);
        let bounded = format!("matches({},{subject})", id.0);
        let Some(Price { once, each }) = price else {
            return bounded;
        };
        let regexp = self.pattern(id);
        format!(
            "({subject}.length<{LONGEST_SUBJECT}?regexp({regexp},{subject},{once},{each}):{bounded})"
        )
    }
}

fn number_rules(rules: &Bounds<f64>, v: Local) -> String {
    let mut test = String::from("true");
    push_bounds(&mut test, &v.to_string(), rules);
    if let Some(divisor) = rules.multiple_of {
        let by = literal::number(divisor);
        let is_safe_integer = divisor.fract() == 0.0 && divisor.abs() <= 9_007_199_254_740_991.0;
        let exact = format!("isMultiple({v},{by})");
        // The remainder of whole numbers is exact; fractions need decimal arithmetic.
        if is_safe_integer && divisor != 0.0 {
            let _ = write!(test, "&&(Number.isSafeInteger({v})?{v}%{by}===0:{exact})");
        } else {
            let _ = write!(test, "&&{exact}");
        }
    }
    test
}

fn push_guarded(
    tests: &mut Vec<String>,
    schema: &JsonSchema,
    about: TypeSet,
    v: Local,
    test: &str,
) {
    // A value of another type has failed already.
    let about_or_less = if about == TypeSet::NUMBER {
        about.with(TypeSet::INTEGER)
    } else {
        about
    };
    if schema.types.is_some_and(|types| !types.has(about_or_less)) {
        return;
    }
    let settled = schema
        .types
        .is_some_and(|types| types.0 & !about_or_less.0 == 0);
    tests.push(if settled {
        format!("({test})")
    } else {
        // NaN and the infinities are numbers to these keywords, but not to `type`.
        let other = if about == TypeSet::NUMBER {
            "number"
        } else {
            "string"
        };
        format!("(typeof {v}!==\"{other}\"||({test}))")
    });
}

/// The expression that says whether a value is of one of the types.
pub(super) fn type_test(types: TypeSet, v: Local) -> String {
    let number = if types.has(TypeSet::NUMBER) {
        "Number.isFinite"
    } else {
        "Number.isInteger"
    };
    let tests: Vec<String> = [
        (TypeSet::STRING, format!("typeof {v}===\"string\"")),
        (
            TypeSet::NUMBER.with(TypeSet::INTEGER),
            format!("{number}({v})"),
        ),
        (TypeSet::BOOLEAN, format!("typeof {v}===\"boolean\"")),
        (TypeSet::NULL, format!("{v}===null")),
        (TypeSet::ARRAY, format!("Array.isArray({v})")),
        (TypeSet::OBJECT, is_object(v)),
    ]
    .into_iter()
    .filter_map(|(about, test)| types.has(about).then_some(test))
    .collect();
    if tests.is_empty() {
        "false".to_owned()
    } else {
        tests.join("||")
    }
}

//! Strings, numbers and enumerations.

use operations_schema::formats::KnownFormat;
use operations_schema::json::Document;
use serde_json::{Map, Value, json};

use super::subset::{annotations, says, start};
use super::{Outcome, Projected, Projector, Refusal};
use crate::canonical::is_annotation;
use crate::checker::compiled;
use crate::hints;
use crate::lossy::LossKind;
use crate::measure::characters;
use crate::plan::{Plan, PlanId};
use crate::targets::Bounds;

/// The keywords of a number that are written in their own way.
const NUMBER_KEYS: [&str; 3] = ["format", "exclusiveMinimum", "exclusiveMaximum"];

impl Projector<'_> {
    pub(super) fn string(&mut self, node: &Map<String, Value>, at: &str) -> Projected {
        let mut made = start("string", node);
        let mut done = Vec::new();
        if let Some(pattern) = node.get("pattern").and_then(Value::as_str)
            && !is_plain_pattern(pattern)
        {
            done.push("pattern");
            self.lose(LossKind::Pattern, at, "the pattern looks around or back");
            hints::add(&mut made, [format!("pattern {pattern}")]);
        }
        if let Some(format) = node.get("format").and_then(Value::as_str) {
            let known = self
                .subset_rules()
                .is_some_and(|subset| subset.formats.contains(&format));
            if !known {
                done.push("format");
                if KnownFormat::from_name(format).is_some() {
                    self.lose(
                        LossKind::Format,
                        at,
                        format!("the target has no format {format}"),
                    );
                }
                hints::add(&mut made, [format!("format {format}")]);
            }
        }
        self.finish_constraints(&mut made, node, &done, at);
        Projected::new(made, PlanId::KEEP)
    }

    pub(super) fn number(&mut self, word: &str, node: &Map<String, Value>, at: &str) -> Projected {
        let mut made = start(word, node);
        self.finish_constraints(&mut made, node, &NUMBER_KEYS, at);
        let Some(subset) = self.subset_rules() else {
            return Projected::new(made, PlanId::KEEP);
        };
        if let Some(format) = node.get("format").and_then(Value::as_str)
            && subset.number_formats.contains(&format)
            && format.starts_with("int") == (word == "integer")
        {
            made.insert("format".to_owned(), json!(format));
        }
        for (exclusive, inclusive, step) in [
            ("exclusiveMinimum", "minimum", 1.0),
            ("exclusiveMaximum", "maximum", -1.0),
        ] {
            let Some(bound) = node.get(exclusive) else {
                continue;
            };
            if says(subset, exclusive) {
                made.insert(exclusive.to_owned(), bound.clone());
                continue;
            }
            let Some(number) = bound.as_f64() else {
                continue;
            };
            let exact = word == "integer" && number.abs() < 9e15;
            let inside = if !exact {
                self.lose(
                    LossKind::Range,
                    at,
                    format!("the target has no {exclusive}"),
                );
                hints::add(&mut made, hints::constraint(exclusive, bound));
                number
            } else if step > 0.0 {
                number.floor() + step
            } else {
                number.ceil() + step
            };
            let known = node.get(inclusive).and_then(Value::as_f64);
            let tighter = known.map_or(inside, |known| {
                if step > 0.0 {
                    known.max(inside)
                } else {
                    known.min(inside)
                }
            });
            made.insert(inclusive.to_owned(), whole_number(tighter));
        }
        Projected::new(made, PlanId::KEEP)
    }

    /// `enum` and `const`: the values that fit what else the schema demands.
    pub(super) fn enumeration(&mut self, node: &Map<String, Value>, at: &str) -> Outcome {
        let mut values: Vec<Value> = match (node.get("const"), node.get("enum")) {
            (Some(constant), _) => vec![constant.clone()],
            (None, Some(Value::Array(values))) => values.clone(),
            _ => Vec::new(),
        };
        let constrained = node
            .keys()
            .any(|key| !is_annotation(key) && key != "enum" && key != "const");
        if constrained {
            let mut rest = node.clone();
            rest.shift_remove("enum");
            rest.shift_remove("const");
            let rest = Value::Object(rest);
            let refers = rest.to_string().contains("\"$ref\"");
            let definitions = if refers {
                self.source.to_defs()
            } else {
                Map::new()
            };
            if let Some(program) = compiled(&rest, &definitions) {
                values.retain(|value| program.check_json(&Document::from(value)).unwrap_or(true));
            }
        }
        let had = values.len();
        values.retain(|value| !value.is_null());
        let nullable = values.len() < had;
        let mut unique: Vec<Value> = Vec::with_capacity(values.len());
        for value in values {
            if !unique.contains(&value) {
                unique.push(value);
            }
        }
        if unique.is_empty() {
            let mut null = annotations(node);
            null.insert(
                "type".to_owned(),
                json!(if nullable { json!("null") } else { json!([]) }),
            );
            return self.by_type(&null, at, 0);
        }
        let projected = self.listed(node, unique, at)?;
        Ok(if nullable {
            self.or_null(projected)
        } else {
            projected
        })
    }

    fn listed(&mut self, node: &Map<String, Value>, values: Vec<Value>, at: &str) -> Outcome {
        let Some(subset) = self.subset_rules() else {
            return Err(Refusal::TooLarge);
        };
        let words = type_words(&values);
        if self.is_too_long(&values, &subset.bounds) {
            return self.too_long(node, &values, &words, at);
        }
        let scalars_only = words
            .iter()
            .all(|word| !matches!(*word, "object" | "array"));
        if words == ["string"] || (scalars_only && !subset.string_enums) {
            let mut made = start("string", node);
            let types = match words.as_slice() {
                [word] => json!(word),
                words => json!(words),
            };
            made.insert("type".to_owned(), types);
            made.insert("enum".to_owned(), Value::Array(values));
            return Ok(Projected::new(made, PlanId::KEEP));
        }
        if words == ["boolean"] && values.len() == 2 {
            return Ok(Projected::new(start("boolean", node), PlanId::KEEP));
        }
        // A text for each value.
        let texts: Vec<(String, Value)> = values
            .into_iter()
            .map(|value| {
                let text = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                (text, value)
            })
            .collect();
        let mut made = start("string", node);
        let mut listed: Vec<&String> = Vec::new();
        for (text, _) in &texts {
            if !listed.contains(&text) {
                listed.push(text);
            }
        }
        made.insert("enum".to_owned(), json!(listed));
        let plan = self.plans.add(Plan::Texts(texts));
        Ok(Projected::new(made, plan))
    }

    fn is_too_long(&self, values: &[Value], bounds: &Bounds) -> bool {
        let length: usize = values.iter().map(characters).sum();
        values.len() > self.effort.enum_values
            || (values.len() > Bounds::LARGE_ENUM && length > bounds.enum_characters)
    }

    /// An enumeration that is not listed: its type, and a few values in the description.
    fn too_long(
        &mut self,
        node: &Map<String, Value>,
        values: &[Value],
        words: &[&str],
        at: &str,
    ) -> Outcome {
        let message = format!("its {} values cannot be listed", values.len());
        self.lose(LossKind::Enum, at, message);
        let mut plain = annotations(node);
        plain.insert("type".to_owned(), json!(words));
        let mut projected = self.by_type(&plain, at, 0)?;
        let some: Vec<String> = values.iter().take(5).filter_map(hints::brief).collect();
        hints::add(
            &mut projected.schema,
            [format!("such as {}", some.join(", "))],
        );
        Ok(projected)
    }
}

/// The types of some values.
fn type_words(values: &[Value]) -> Vec<&'static str> {
    let mut words = Vec::new();
    for value in values {
        let word = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    if words.contains(&"number") {
        words.retain(|word| *word != "integer");
    }
    words
}

/// Whether a regular expression is one that engines without backtracking run, as providers' are.
fn is_plain_pattern(pattern: &str) -> bool {
    let looks = ["(?=", "(?!", "(?<", "\\k<", "\\p{", "\\P{"];
    let refers_back = pattern
        .as_bytes()
        .windows(2)
        .any(|pair| matches!(pair, [b'\\', b'1'..=b'9']));
    !refers_back && !looks.iter().any(|look| pattern.contains(look))
}

/// A number, written without a fraction where it has none.
fn whole_number(number: f64) -> Value {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "only where the number is known to be whole and small"
    )]
    if number.fract() == 0.0 && number.abs() < 9e15 {
        json!(number as i64)
    } else {
        json!(number)
    }
}

//! What a dialect can say: one type at a time, with few keywords.

use serde_json::{Map, Value, json};

use super::{Outcome, Projected, Projector, Refusal};
use crate::canonical::{BEYOND_JSON, is_annotation, reference};
use crate::hints;
use crate::lossy::LossKind;
use crate::merge::{self, flatten};
use crate::plan::{Expect, Plan, PlanId};
use crate::targets::{Nullable, Subset};

impl Projector<'_> {
    pub(super) fn subset(&mut self, schema: &Value, at: &str, depth: usize) -> Outcome {
        self.spend()?;
        let node = match schema {
            Value::Object(node) => node,
            Value::Bool(false) => return Err(Refusal::nothing(at, "no value fits")),
            _ => return Ok(self.anything(&Map::new())),
        };
        if let Some(name) = reference(node)
            && node.keys().all(|key| key == "$ref" || is_annotation(key))
        {
            return self.reference(name, node, at, depth);
        }
        let node = self.flat(node, at)?;
        if let Some(word) = node.get(BEYOND_JSON).and_then(Value::as_str) {
            return Err(Refusal::nothing(
                at,
                format!("it takes a value of type {word}, which JSON does not have"),
            ));
        }
        if merge::is_never(&node) {
            return Err(Refusal::nothing(at, "no value fits"));
        }
        if node.contains_key("anyOf") || node.contains_key("oneOf") {
            return self.union(&node, at, depth);
        }
        if node.contains_key("enum") || node.contains_key("const") {
            return self.enumeration(&node, at);
        }
        self.by_type(&node, at, depth)
    }

    /// One schema for what references and `allOf` demand together. What cannot be merged is reported.
    pub(super) fn flat(
        &mut self,
        node: &Map<String, Value>,
        at: &str,
    ) -> Result<Map<String, Value>, Refusal> {
        match flatten(self.source, node) {
            Ok((node, lost)) => {
                for key in lost {
                    let message = format!("allOf demands {key} twice: the first is kept");
                    self.lose(LossKind::AllOf, at, message);
                }
                Ok(node)
            }
            Err(reason) => Err(Refusal::nothing(at, reason)),
        }
    }

    /// A schema without unions and enumerations.
    pub(super) fn by_type(&mut self, node: &Map<String, Value>, at: &str, depth: usize) -> Outcome {
        let mut types = types_of(node);
        let had = types.len();
        types.retain(|word| word != "null");
        let nullable = types.len() < had;
        match types.as_slice() {
            [] if nullable => self.only_null(node, at),
            [] if node.contains_key("type") => Err(Refusal::nothing(at, "no value fits")),
            [] => {
                for key in node.keys() {
                    if let Some(kind) = loss_of(key) {
                        self.lose(kind, at, format!("the target has no {key}"));
                    }
                }
                Ok(self.anything(node))
            }
            [word] => {
                let projected = self.one_type(word, node, at, depth)?;
                Ok(if nullable {
                    self.or_null(projected)
                } else {
                    projected
                })
            }
            _ => {
                let variants: Vec<Value> = types
                    .iter()
                    .map(|word| only_type(node, word))
                    .chain(nullable.then(|| json!({ "type": "null" })))
                    .collect();
                let mut union = annotations(node);
                union.insert("anyOf".to_owned(), Value::Array(variants));
                self.union(&union, at, depth)
            }
        }
    }

    fn one_type(
        &mut self,
        word: &str,
        node: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Outcome {
        match word {
            "object" => self.object(node, at, depth),
            "array" => self.array(node, at, depth),
            "string" => Ok(self.string(node, at)),
            "number" | "integer" => Ok(self.number(word, node, at)),
            _ => {
                let mut made = start(word, node);
                self.finish_constraints(&mut made, node, &[], at);
                Ok(Projected::new(made, PlanId::KEEP))
            }
        }
    }

    /// Anything at all, as JSON text.
    pub(super) fn anything(&mut self, node: &Map<String, Value>) -> Projected {
        self.json_text(
            node,
            "any JSON value, written as JSON text",
            Expect::Anything,
        )
    }

    /// A text that holds JSON.
    pub(super) fn json_text(
        &mut self,
        node: &Map<String, Value>,
        hint: &str,
        expected: Expect,
    ) -> Projected {
        let mut made = start("string", node);
        hints::add(&mut made, [hint.to_owned()]);
        Projected::new(made, self.plans.add(Plan::Json(expected)))
    }

    fn only_null(&mut self, node: &Map<String, Value>, at: &str) -> Outcome {
        match self.subset_rules().map(|subset| subset.nullable) {
            Some(Nullable::TypeList) => {
                let mut made = start("null", node);
                self.finish_constraints(&mut made, node, &[], at);
                Ok(Projected::new(made, PlanId::KEEP))
            }
            _ => Err(Refusal::nothing(at, "it takes nothing but null")),
        }
    }

    /// The same, or null.
    pub(super) fn or_null(&self, projected: Projected) -> Projected {
        let Projected { mut schema, plan } = projected;
        let keyword = self
            .subset_rules()
            .is_some_and(|subset| subset.nullable == Nullable::Keyword);
        if keyword {
            schema.insert("nullable".to_owned(), Value::Bool(true));
            return Projected::new(schema, plan);
        }
        match schema.get_mut("type") {
            Some(Value::String(word)) if word != "null" => {
                let list = json!([word, "null"]);
                schema.insert("type".to_owned(), list);
            }
            Some(Value::Array(words)) if !words.contains(&json!("null")) => {
                words.push(json!("null"));
            }
            Some(_) => {}
            None => {
                let only_null = json!({ "type": "null" });
                let Some(Value::Array(variants)) = schema.get_mut("anyOf") else {
                    let variants = Value::Array(vec![Value::Object(schema), only_null]);
                    let outer = Map::from_iter([("anyOf".to_owned(), variants)]);
                    return Projected::new(outer, plan);
                };
                if !variants.contains(&only_null) {
                    variants.push(only_null);
                }
            }
        }
        if let Some(Value::Array(values)) = schema.get_mut("enum")
            && !values.contains(&Value::Null)
        {
            values.push(Value::Null);
        }
        Projected::new(schema, plan)
    }

    /// Takes over the constraints that the dialect has, reports those that it has not (both in a loss and in
    /// the description), and passes over those in `done`.
    pub(super) fn finish_constraints(
        &mut self,
        made: &mut Map<String, Value>,
        node: &Map<String, Value>,
        done: &[&str],
        at: &str,
    ) {
        let Some(subset) = self.subset_rules() else {
            return;
        };
        let word = made
            .get("type")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let mut sentences = Vec::new();
        for (key, value) in node {
            if done.contains(&key.as_str()) || !concerns(key, &word) {
                continue;
            }
            if subset.constraints.contains(&key.as_str()) {
                made.insert(key.clone(), value.clone());
                continue;
            }
            if let Some(kind) = loss_of(key) {
                self.lose(kind, at, format!("the target has no {key}"));
            }
            sentences.extend(hints::constraint(key, value));
        }
        hints::add(made, sentences);
    }
}

/// A schema of one type with what describes it.
pub(super) fn start(word: &str, node: &Map<String, Value>) -> Map<String, Value> {
    let mut made = Map::from_iter([("type".to_owned(), json!(word))]);
    describe(&mut made, node);
    made
}

/// What says nothing of the values.
pub(super) fn annotations(node: &Map<String, Value>) -> Map<String, Value> {
    let kept = node.iter().filter(|(key, _)| is_annotation(key));
    kept.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Title and description as one description, and a default that the dialect has no keyword for.
fn describe(made: &mut Map<String, Value>, node: &Map<String, Value>) {
    let text = |key: &str| {
        node.get(key)
            .and_then(Value::as_str)
            .filter(|text| !text.trim().is_empty())
    };
    if let Some(description) = text("description").or_else(|| text("title")) {
        made.insert("description".to_owned(), json!(description));
    }
    let default = node.get("default").filter(|default| !default.is_null());
    hints::add(
        made,
        default.and_then(|default| hints::constraint("default", default)),
    );
}

/// The types that a schema is meant for. One that names none is meant for what its keywords speak of.
pub(super) fn types_of(node: &Map<String, Value>) -> Vec<String> {
    match node.get("type") {
        Some(Value::String(word)) => return vec![word.clone()],
        Some(Value::Array(words)) => {
            let mut words: Vec<String> = words
                .iter()
                .filter_map(|word| word.as_str().map(str::to_owned))
                .collect();
            if words.iter().any(|word| word == "number") {
                words.retain(|word| word != "integer");
            }
            return words;
        }
        _ => {}
    }
    let speaks = |keys: &[&str]| keys.iter().any(|key| node.contains_key(*key));
    let word = if speaks(&[
        "properties",
        "required",
        "additionalProperties",
        "patternProperties",
        "minProperties",
        "maxProperties",
        "propertyNames",
        "dependentRequired",
        "dependentSchemas",
    ]) {
        "object"
    } else if speaks(&[
        "items",
        "prefixItems",
        "minItems",
        "maxItems",
        "uniqueItems",
        "contains",
    ]) {
        "array"
    } else if speaks(&[
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "contentEncoding",
    ]) {
        "string"
    } else if speaks(&[
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
    ]) {
        "number"
    } else {
        return Vec::new();
    };
    vec![word.to_owned()]
}

/// The part of a schema of several types that speaks of one.
fn only_type(node: &Map<String, Value>, word: &str) -> Value {
    let mut made: Map<String, Value> = node
        .iter()
        .filter(|(key, _)| concerns(key, word))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    made.insert("type".to_owned(), json!(word));
    Value::Object(made)
}

/// Whether a keyword constrains values of a type.
fn concerns(key: &str, word: &str) -> bool {
    match key {
        "not" | "if" => true,
        "minLength" | "maxLength" | "pattern" | "contentEncoding" | "contentMediaType"
        | "contentSchema" => word == "string",
        "format" => matches!(word, "string" | "number" | "integer"),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            matches!(word, "number" | "integer")
        }
        "items" | "prefixItems" | "minItems" | "maxItems" | "uniqueItems" | "contains"
        | "minContains" | "maxContains" | "unevaluatedItems" => word == "array",
        "properties"
        | "required"
        | "additionalProperties"
        | "patternProperties"
        | "propertyNames"
        | "minProperties"
        | "maxProperties"
        | "dependentRequired"
        | "dependentSchemas"
        | "unevaluatedProperties" => word == "object",
        _ => false,
    }
}

/// The loss when a keyword is dropped; nothing for those that assert nothing on their own.
fn loss_of(key: &str) -> Option<LossKind> {
    Some(match key {
        "not" => LossKind::Not,
        "if" | "dependentRequired" | "dependentSchemas" => LossKind::Condition,
        "minLength" | "maxLength" => LossKind::Length,
        "pattern" => LossKind::Pattern,
        "format" => LossKind::Format,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => LossKind::Range,
        "multipleOf" => LossKind::MultipleOf,
        "minItems" | "maxItems" | "contains" | "unevaluatedItems" => LossKind::Items,
        "uniqueItems" => LossKind::UniqueItems,
        "propertyNames" => LossKind::PropertyNames,
        "minProperties" | "maxProperties" => LossKind::PropertyCount,
        "unevaluatedProperties" => LossKind::AdditionalProperties,
        "contentSchema" => LossKind::Content,
        _ => return None,
    })
}

/// A bound as a whole number, if it is one.
pub(super) fn count(node: &Map<String, Value>, key: &str) -> Option<usize> {
    let number = node.get(key)?;
    number
        .as_u64()
        .and_then(|count| usize::try_from(count).ok())
        .or_else(|| {
            let number = number.as_f64()?;
            // Bounds of sizes that are beyond any schema need not be exact.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "saturates, by design"
            )]
            Some(number.ceil().max(0.0) as usize)
        })
}

/// Whether a dialect's constraints include one.
pub(super) fn says(subset: &Subset, key: &str) -> bool {
    subset.constraints.contains(&key)
}

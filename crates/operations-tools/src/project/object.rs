//! Objects: with properties, as maps, or as anything.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::subset::{count, start};
use super::{Outcome, Projected, Projector, Refusal};
use crate::canonical::step;
use crate::hints;
use crate::lossy::LossKind;
use crate::names::property_names;
use crate::plan::{Expect, Field, Plan, PlanId};
use crate::restore::{PAIR_KEY, PAIR_VALUE};

/// What is written in its own way.
pub(super) const OBJECT_KEYS: [&str; 6] = [
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "minProperties",
    "maxProperties",
];

impl Projector<'_> {
    pub(super) fn object(&mut self, node: &Map<String, Value>, at: &str, depth: usize) -> Outcome {
        if depth >= self.effort.depth {
            return Ok(self.too_deep(node, at));
        }
        let properties = listed_properties(node);
        check_count(node, &properties, at)?;
        if !properties.is_empty() {
            return self.record(node, &properties, at, depth);
        }
        let others = node.get("additionalProperties");
        let patterns = node.get("patternProperties").and_then(Value::as_object);
        match (others, patterns) {
            (_, Some(patterns)) if !patterns.is_empty() => {
                let one = patterns.iter().next().filter(|_| patterns.len() == 1);
                self.lose(
                    LossKind::PropertyNames,
                    at,
                    "the target has no patterns for the names of properties",
                );
                match (one, others) {
                    (Some((pattern, value)), Some(Value::Bool(false))) => {
                        let at = step(&step(at, "patternProperties"), pattern);
                        self.map(node, value, &at, depth)
                    }
                    _ => Ok(self.free_form(node, at)),
                }
            }
            (Some(Value::Object(value)), _) if !value.is_empty() => {
                let at = step(at, "additionalProperties");
                self.map(node, &Value::Object(value.clone()), &at, depth)
            }
            (Some(Value::Bool(false)), _) => Ok(self.empty(node, at)),
            _ => Ok(self.free_form(node, at)),
        }
    }

    /// An object with listed properties.
    fn record(
        &mut self,
        node: &Map<String, Value>,
        properties: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Outcome {
        let closed = self.subset_rules().is_some_and(|subset| subset.closed);
        let demanded: HashSet<&str> = demanded(node).collect();
        let mut kept: Vec<(&str, Projected, bool)> = Vec::new();
        for (name, schema) in properties {
            let at = step(&step(at, "properties"), name);
            let is_demanded = demanded.contains(name.as_str());
            match self.walk(schema, &at, depth + 1) {
                Ok(projected) => kept.push((name, projected, is_demanded)),
                Err(Refusal::Nothing { reason, .. }) if !is_demanded => {
                    if schema != &Value::Bool(false) {
                        self.lose(LossKind::Property, &at, format!("left out: {reason}"));
                    }
                }
                Err(refusal) => return Err(refusal),
            }
        }
        let renamed = self
            .rules
            .property_names
            .and_then(|rule| property_names(kept.iter().map(|(name, ..)| *name), &rule));
        let mut made = start("object", node);
        let mut written = Map::new();
        let mut required = Vec::new();
        let mut fields = Vec::new();
        for (name, mut projected, is_demanded) in kept {
            let from = renamed
                .as_ref()
                .and_then(|renamed| renamed.get(name))
                .map_or(name, String::as_str)
                .to_owned();
            let null_is_absent = closed && !is_demanded;
            if null_is_absent {
                self.report_lost_null(properties.get(name), &step(&step(at, "properties"), name));
                projected = self.or_null(projected);
            }
            if is_demanded || closed {
                required.push(json!(from));
            }
            written.insert(from.clone(), Value::Object(projected.schema));
            fields.push(Field {
                from,
                to: name.to_owned(),
                plan: projected.plan,
                null_is_absent,
            });
        }
        if count(node, "minProperties").is_some_and(|least| least > written.len()) {
            return if is_closed(node) {
                Err(Refusal::nothing(at, "no object has that many properties"))
            } else {
                Ok(self.free_form(node, at))
            };
        }
        if written.is_empty() {
            return Ok(self.empty(node, at));
        }
        made.insert("properties".to_owned(), Value::Object(written));
        if !required.is_empty() {
            made.insert("required".to_owned(), Value::Array(required));
        }
        if closed {
            made.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        self.report_lost_others(node, at);
        self.count_properties(&mut made, node, fields.len(), at);
        self.finish_constraints(&mut made, node, &OBJECT_KEYS, at);
        let plan = self.plans.add(Plan::Object {
            fields,
            others: PlanId::KEEP,
        });
        Ok(Projected::new(made, plan))
    }

    /// An object whose keys are data, as a list of pairs.
    fn map(&mut self, node: &Map<String, Value>, value: &Value, at: &str, depth: usize) -> Outcome {
        let of = at.rsplit_once('/').map_or(at, |(before, _)| before);
        if depth + 1 >= self.effort.depth {
            return Ok(self.too_deep(node, of));
        }
        let value = match self.walk(value, at, depth + 2) {
            Ok(value) => value,
            Err(Refusal::Nothing { .. }) if count(node, "minProperties").unwrap_or(0) == 0 => {
                return Ok(self.empty(node, of));
            }
            Err(refusal) => return Err(refusal),
        };
        let mut made = start("array", node);
        let hint = "an object, as a list of its keys and values".to_owned();
        hints::add(&mut made, [hint]);
        let mut pair = Map::from_iter([
            ("type".to_owned(), json!("object")),
            (
                "properties".to_owned(),
                json!({ PAIR_KEY: { "type": "string" }, PAIR_VALUE: value.schema }),
            ),
            ("required".to_owned(), json!([PAIR_KEY, PAIR_VALUE])),
        ]);
        if self.subset_rules().is_some_and(|subset| subset.closed) {
            pair.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        made.insert("items".to_owned(), Value::Object(pair));
        // The number of keys: the list may hold one twice, which restores to fewer.
        for (keyword, list_keyword) in
            [("minProperties", "minItems"), ("maxProperties", "maxItems")]
        {
            if let Some(bound) = node.get(keyword) {
                made.insert(list_keyword.to_owned(), bound.clone());
                if keyword == "minProperties" {
                    self.lose(
                        LossKind::PropertyCount,
                        of,
                        "keys that are given twice count once",
                    );
                }
            }
        }
        let rest: Map<String, Value> = node
            .iter()
            .filter(|(key, _)| {
                matches!(
                    key.as_str(),
                    "propertyNames"
                        | "not"
                        | "if"
                        | "dependentRequired"
                        | "dependentSchemas"
                        | "unevaluatedProperties"
                )
            })
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        made.insert("type".to_owned(), json!("object"));
        self.finish_constraints(&mut made, &rest, &OBJECT_KEYS, of);
        made.insert("type".to_owned(), json!("array"));
        let plan = self.plans.add(Plan::Pairs(value.plan));
        Ok(Projected::new(made, plan))
    }

    /// An object of which nothing is known.
    fn free_form(&mut self, node: &Map<String, Value>, at: &str) -> Projected {
        self.lose(
            LossKind::JsonText,
            at,
            "a free-form object: JSON text is taken",
        );
        let mut projected =
            self.json_text(node, "a JSON object, written as JSON text", Expect::Object);
        for key in [
            "minProperties",
            "maxProperties",
            "propertyNames",
            "dependentRequired",
            "dependentSchemas",
            "not",
            "if",
        ] {
            if let Some(value) = node.get(key) {
                self.lose(
                    LossKind::PropertyCount,
                    at,
                    format!("the target has no {key}"),
                );
                hints::add(&mut projected.schema, hints::constraint(key, value));
            }
        }
        if node.contains_key("patternProperties")
            || node
                .get("additionalProperties")
                .is_some_and(Value::is_object)
        {
            self.lose(
                LossKind::AdditionalProperties,
                at,
                "the target cannot describe the values of other properties",
            );
        }
        projected
    }

    /// `{}` and nothing else.
    fn empty(&mut self, node: &Map<String, Value>, at: &str) -> Projected {
        let allowed = self
            .subset_rules()
            .is_some_and(|subset| subset.empty_objects);
        if !allowed {
            self.lose(
                LossKind::JsonText,
                at,
                "an object without properties: JSON text is taken",
            );
            return self.json_text(node, "{} as JSON text", Expect::Object);
        }
        let mut made = start("object", node);
        made.insert("properties".to_owned(), json!({}));
        made.insert("required".to_owned(), json!([]));
        made.insert("additionalProperties".to_owned(), Value::Bool(false));
        self.finish_constraints(&mut made, node, &OBJECT_KEYS, at);
        Projected::new(made, PlanId::KEEP)
    }

    fn too_deep(&mut self, node: &Map<String, Value>, at: &str) -> Projected {
        self.lose(LossKind::Depth, at, "too many levels: JSON text is taken");
        let names: Vec<&str> = listed_names(node).take(12).collect();
        let hint = if names.is_empty() {
            "a JSON object, written as JSON text".to_owned()
        } else {
            format!(
                "a JSON object with {}, written as JSON text",
                names.join(", ")
            )
        };
        self.json_text(node, &hint, Expect::Object)
    }

    /// Absence is said as null, so null itself cannot be said.
    fn report_lost_null(&mut self, schema: Option<&Value>, at: &str) {
        let takes_null = schema
            .and_then(|schema| schema.get("type"))
            .is_some_and(|types| {
                types
                    .as_array()
                    .is_some_and(|words| words.contains(&json!("null")))
            });
        if takes_null {
            self.lose(LossKind::Null, at, "null means that it is not given");
        }
    }

    /// Properties beyond those that are listed.
    fn report_lost_others(&mut self, node: &Map<String, Value>, at: &str) {
        let meant = match node.get("additionalProperties") {
            Some(Value::Bool(meant)) => *meant,
            Some(_) => true,
            None => node.contains_key("patternProperties"),
        };
        if node.contains_key("patternProperties") {
            let message =
                "the target cannot express what patterns for the names of properties demand";
            self.lose(LossKind::PropertyNames, at, message);
        }
        if meant {
            let message = "properties that are not listed cannot be given";
            self.lose(LossKind::AdditionalProperties, at, message);
        }
    }

    fn count_properties(
        &mut self,
        made: &mut Map<String, Value>,
        node: &Map<String, Value>,
        listed: usize,
        at: &str,
    ) {
        let demanded = demanded(node).count();
        let Some(subset) = self.subset_rules() else {
            return;
        };
        for (key, matters) in [
            (
                "minProperties",
                count(node, "minProperties").is_some_and(|least| least > demanded),
            ),
            (
                "maxProperties",
                count(node, "maxProperties").is_some_and(|most| most < listed),
            ),
        ] {
            let Some(value) = node.get(key).filter(|_| matters) else {
                continue;
            };
            if subset.constraints.contains(&key) {
                made.insert(key.to_owned(), value.clone());
            } else {
                self.lose(
                    LossKind::PropertyCount,
                    at,
                    format!("the target has no {key}"),
                );
                hints::add(made, hints::constraint(key, value));
            }
        }
    }
}

/// Whether an object has the listed properties and no others.
fn is_closed(node: &Map<String, Value>) -> bool {
    node.get("additionalProperties") == Some(&Value::Bool(false))
        && !node.contains_key("patternProperties")
}

/// Refuses an object that must have more properties than it may have.
pub(super) fn check_count(
    node: &Map<String, Value>,
    properties: &Map<String, Value>,
    at: &str,
) -> Result<(), Refusal> {
    let least = count(node, "minProperties").unwrap_or(0);
    let most = count(node, "maxProperties").unwrap_or(usize::MAX);
    if (is_closed(node) && least > properties.len()) || demanded(node).count().max(least) > most {
        return Err(Refusal::nothing(at, "no object has that many properties"));
    }
    Ok(())
}

fn demanded(node: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let names = node.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str)
}

fn listed_names(node: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let properties = node.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flat_map(|map| map.keys().map(String::as_str))
}

/// The properties, with those that are demanded and not described.
pub(super) fn listed_properties(node: &Map<String, Value>) -> Map<String, Value> {
    let mut properties = node
        .get("properties")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let others = node.get("additionalProperties").cloned();
    for name in demanded(node) {
        if !properties.contains_key(name) {
            let schema = others.clone().unwrap_or(Value::Bool(true));
            properties.insert(name.to_owned(), schema);
        }
    }
    properties
}

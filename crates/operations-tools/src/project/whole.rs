//! For targets that read all of JSON Schema: everything is kept, references lead to `$defs`, and
//! properties have names that the target takes.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::{Outcome, Projected, Projector, Refusal};
use crate::canonical::{BEYOND_JSON, is_annotation, reference, step};
use crate::checker::Checker;
use crate::lossy::LossKind;
use crate::names::property_names;
use crate::plan::{Field, Plan, PlanId, Variant};

/// Keywords with one schema whose values are the same value, a part of it, or neither.
const BESIDE: [&str; 4] = ["if", "then", "else", "not"];
const BELOW: [&str; 5] = [
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];

/// Keywords that are written together with others.
const OWN_WAY: [&str; 8] = [
    "$ref",
    "properties",
    "required",
    "dependentRequired",
    "additionalProperties",
    "patternProperties",
    "items",
    "prefixItems",
];

impl Projector<'_> {
    pub(super) fn whole(&mut self, schema: &Value, at: &str) -> Outcome {
        self.spend()?;
        let node = match schema {
            Value::Object(node) => node,
            Value::Bool(false) => {
                let never = Map::from_iter([("not".to_owned(), json!({}))]);
                return Ok(Projected::new(never, PlanId::KEEP));
            }
            _ => return Ok(Projected::new(Map::new(), PlanId::KEEP)),
        };
        if let Some(word) = node.get(BEYOND_JSON).and_then(Value::as_str) {
            let reason = format!("it takes a value of type {word}, which JSON does not have");
            return Err(Refusal::nothing(at, reason));
        }
        let mut plans = Vec::new();
        let mut made = Map::new();
        if let Some(name) = reference(node) {
            if node.keys().all(|key| key == "$ref" || is_annotation(key)) {
                return self.reference(name, node, at, 0);
            }
            let alone = Map::from_iter([("$ref".to_owned(), json!(format!("#/$defs/{name}")))]);
            let projected = self.reference(name, &alone, at, 0)?;
            plans.push(projected.plan);
            made.insert("allOf".to_owned(), json!([projected.schema]));
        }
        plans.push(self.whole_object(node, &mut made, at)?);
        plans.push(self.whole_array(node, &mut made, at)?);
        for (key, value) in node {
            match (key.as_str(), value) {
                (key, _) if OWN_WAY.contains(&key) => {}
                ("allOf", Value::Array(parts)) => {
                    plans.push(self.whole_all(parts, &mut made, at)?);
                }
                ("anyOf" | "oneOf", Value::Array(variants)) => {
                    plans.push(self.whole_union(key, variants, &mut made, at)?);
                }
                (key, value) if BESIDE.contains(&key) => {
                    let projected = self.walk(value, &step(at, key), 0)?;
                    plans.push(projected.plan);
                    made.insert(key.to_owned(), Value::Object(projected.schema));
                }
                (key, value) if BELOW.contains(&key) => {
                    let schema = match value {
                        Value::Bool(verdict) => Value::Bool(*verdict),
                        value => Value::Object(self.walk(value, &step(at, key), 0)?.schema),
                    };
                    made.insert(key.to_owned(), schema);
                }
                ("dependentSchemas", Value::Object(schemas)) => {
                    let named = self.whole_map(schemas, &step(at, key), &mut plans)?;
                    made.insert(key.clone(), named);
                }
                _ => {
                    made.insert(key.clone(), value.clone());
                }
            }
        }
        plans.retain(|plan| *plan != PlanId::KEEP);
        let plan = match plans.as_slice() {
            [only] => *only,
            _ => self.plans.add(Plan::All(plans)),
        };
        Ok(Projected::new(made, plan))
    }

    fn whole_object(
        &mut self,
        node: &Map<String, Value>,
        made: &mut Map<String, Value>,
        at: &str,
    ) -> Result<PlanId, Refusal> {
        let properties = node.get("properties").and_then(Value::as_object);
        let names = properties
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str);
        let renamed = self
            .rules
            .property_names
            .and_then(|rule| property_names(names, &rule))
            .unwrap_or_default();
        let mut fields = Vec::new();
        if let Some(properties) = properties {
            let demanded = node.get("required").and_then(Value::as_array);
            let mut written = Map::new();
            for (name, schema) in properties {
                let at = step(&step(at, "properties"), name);
                let projected = match self.walk(schema, &at, 0) {
                    Ok(projected) => projected,
                    Err(Refusal::Nothing { reason, .. })
                        if !demanded.is_some_and(|names| names.contains(&json!(name))) =>
                    {
                        self.lose(LossKind::Property, &at, format!("left out: {reason}"));
                        continue;
                    }
                    Err(refusal) => return Err(refusal),
                };
                let from = renamed.get(name.as_str()).unwrap_or(name).clone();
                written.insert(from.clone(), Value::Object(projected.schema));
                fields.push(Field {
                    from,
                    to: name.clone(),
                    plan: projected.plan,
                    null_is_absent: false,
                });
            }
            made.insert("properties".to_owned(), Value::Object(written));
        }
        for key in ["required", "dependentRequired"] {
            if let Some(names) = node.get(key) {
                made.insert(key.to_owned(), with_names(names, &renamed));
            }
        }
        let others = self.whole_others(node, made, at)?;
        Ok(self.plans.add(Plan::Object { fields, others }))
    }

    /// Properties that are not listed. One step for all of them: a value that fits two schemas at once is
    /// restored by the first that has something to restore.
    fn whole_others(
        &mut self,
        node: &Map<String, Value>,
        made: &mut Map<String, Value>,
        at: &str,
    ) -> Result<PlanId, Refusal> {
        let mut plans = Vec::new();
        if let Some(others) = node.get("additionalProperties") {
            let written = match others {
                Value::Object(_) => {
                    let projected = self.walk(others, &step(at, "additionalProperties"), 0)?;
                    plans.push(projected.plan);
                    Value::Object(projected.schema)
                }
                verdict => verdict.clone(),
            };
            made.insert("additionalProperties".to_owned(), written);
        }
        if let Some(Value::Object(patterns)) = node.get("patternProperties") {
            let written = self.whole_map(patterns, &step(at, "patternProperties"), &mut plans)?;
            made.insert("patternProperties".to_owned(), written);
        }
        let active = plans.into_iter().find(|plan| *plan != PlanId::KEEP);
        Ok(active.unwrap_or(PlanId::KEEP))
    }

    fn whole_array(
        &mut self,
        node: &Map<String, Value>,
        made: &mut Map<String, Value>,
        at: &str,
    ) -> Result<PlanId, Refusal> {
        let mut prefix = Vec::new();
        if let Some(Value::Array(places)) = node.get("prefixItems") {
            let written = self.whole_list(places, &step(at, "prefixItems"), &mut prefix)?;
            made.insert("prefixItems".to_owned(), Value::Array(written));
        }
        let mut rest = PlanId::KEEP;
        match node.get("items") {
            Some(Value::Object(schema)) => {
                let projected = self.walk(&Value::Object(schema.clone()), &step(at, "items"), 0)?;
                rest = projected.plan;
                made.insert("items".to_owned(), Value::Object(projected.schema));
            }
            Some(verdict) => {
                made.insert("items".to_owned(), verdict.clone());
            }
            None if self.rules.items_required && takes_arrays(node) => {
                made.insert("items".to_owned(), json!({}));
            }
            None => {}
        }
        Ok(self.plans.add(Plan::Array { prefix, rest }))
    }

    /// Schemas in their order, with their steps.
    fn whole_list(
        &mut self,
        schemas: &[Value],
        at: &str,
        plans: &mut Vec<PlanId>,
    ) -> Result<Vec<Value>, Refusal> {
        let each = schemas.iter().enumerate().map(|(index, schema)| {
            let projected = self.walk(schema, &format!("{at}/{index}"), 0)?;
            plans.push(projected.plan);
            Ok(Value::Object(projected.schema))
        });
        each.collect()
    }

    /// Schemas by name, with their steps.
    fn whole_map(
        &mut self,
        schemas: &Map<String, Value>,
        at: &str,
        plans: &mut Vec<PlanId>,
    ) -> Result<Value, Refusal> {
        let each = schemas.iter().map(|(name, schema)| {
            let projected = self.walk(schema, &step(at, name), 0)?;
            plans.push(projected.plan);
            Ok((name.clone(), Value::Object(projected.schema)))
        });
        Ok(Value::Object(each.collect::<Result<_, Refusal>>()?))
    }

    fn whole_all(
        &mut self,
        parts: &[Value],
        made: &mut Map<String, Value>,
        at: &str,
    ) -> Result<PlanId, Refusal> {
        let mut plans = Vec::new();
        let mut written = match made.shift_remove("allOf") {
            Some(Value::Array(written)) => written,
            _ => Vec::new(),
        };
        written.extend(self.whole_list(parts, &step(at, "allOf"), &mut plans)?);
        made.insert("allOf".to_owned(), Value::Array(written));
        Ok(self.plans.add(Plan::All(plans)))
    }

    fn whole_union(
        &mut self,
        keyword: &str,
        schemas: &[Value],
        made: &mut Map<String, Value>,
        at: &str,
    ) -> Result<PlanId, Refusal> {
        let mut variants = Vec::new();
        let mut written = Vec::new();
        let mut refusal = None;
        for (index, schema) in schemas.iter().enumerate() {
            let projected = match self.walk(schema, &format!("{}/{index}", step(at, keyword)), 0) {
                Ok(projected) => projected,
                Err(Refusal::TooLarge) => return Err(Refusal::TooLarge),
                Err(nothing) => {
                    refusal = Some(nothing);
                    continue;
                }
            };
            let schema_value = Value::Object(projected.schema);
            variants.push(Variant {
                projected: Checker::new(schema_value.clone()),
                original: Checker::new(schema.clone()),
                plan: projected.plan,
            });
            written.push(schema_value);
        }
        if let (true, Some(refusal)) = (written.is_empty(), refusal) {
            return Err(refusal);
        }
        made.insert(keyword.to_owned(), Value::Array(written));
        Ok(self.plans.add(Plan::Variants(variants)))
    }
}

/// Names of properties, and names by name, as the target has them.
fn with_names(names: &Value, renamed: &HashMap<&str, String>) -> Value {
    match names {
        Value::String(name) => json!(renamed.get(name.as_str()).unwrap_or(name)),
        Value::Array(names) => names.iter().map(|name| with_names(name, renamed)).collect(),
        Value::Object(entries) => {
            let entries = entries.iter().map(|(name, names)| {
                let name = renamed.get(name.as_str()).unwrap_or(name);
                (name.clone(), with_names(names, renamed))
            });
            Value::Object(entries.collect())
        }
        other => other.clone(),
    }
}

fn takes_arrays(node: &Map<String, Value>) -> bool {
    match node.get("type") {
        Some(Value::String(word)) => word == "array",
        Some(Value::Array(words)) => words.contains(&json!("array")),
        _ => false,
    }
}

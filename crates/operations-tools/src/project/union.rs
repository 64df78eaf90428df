//! Unions: `anyOf`, `oneOf`, several types.

use serde_json::{Map, Value, json};

use super::subset::{start, types_of};
use super::{Outcome, Projected, Projector, Refusal};
use crate::canonical::{Canonical, is_annotation, step};
use crate::checker::Checker;
use crate::hints;
use crate::lossy::LossKind;
use crate::merge::{flatten, multiplied, together};
use crate::plan::{Plan, PlanId, Variant};

impl Projector<'_> {
    pub(super) fn union(&mut self, node: &Map<String, Value>, at: &str, depth: usize) -> Outcome {
        let (base, keyword, variants) = self.apart(node, at);
        if is_about_presence(&base, &variants) {
            self.report_lost_presence(&variants, at);
            let mut base = base;
            hints::add(&mut base, [presence_hint(&variants)]);
            return self.subset(&Value::Object(base), at, depth);
        }
        let (annotations, demands): (Map<_, _>, Map<_, _>) =
            base.into_iter().partition(|(key, _)| is_annotation(key));
        let variants: Vec<Value> = variants
            .iter()
            .map(|variant| {
                if demands.is_empty() {
                    variant.clone()
                } else {
                    together(&Value::Object(demands.clone()), variant)
                }
            })
            .filter(|variant| variant != &Value::Bool(false))
            .collect();
        let told_apart = keyword != "oneOf" || are_disjoint(self.source, &variants);
        let mut nullable = false;
        let mut kept: Vec<(Value, Projected)> = Vec::new();
        let mut refusal = None;
        for (index, original) in variants.into_iter().enumerate() {
            if is_null(&original) {
                nullable = true;
                continue;
            }
            let at = format!("{}/{index}", step(at, keyword));
            match self.walk(&original, &at, depth) {
                Ok(projected) => kept.push((original, projected)),
                Err(Refusal::TooLarge) => return Err(Refusal::TooLarge),
                Err(nothing) => refusal = Some(nothing),
            }
        }
        if kept.is_empty() {
            if nullable {
                let mut null = annotations;
                null.insert("type".to_owned(), json!("null"));
                return self.by_type(&null, at, depth);
            }
            return Err(refusal.unwrap_or_else(|| Refusal::nothing(at, "no value fits")));
        }
        if !told_apart {
            self.lose(
                LossKind::OneOf,
                at,
                "a value may fit several of oneOf's schemas",
            );
        }
        let projected = self.joined(&annotations, kept);
        Ok(if nullable {
            self.nullable_union(projected)
        } else {
            projected
        })
    }

    /// The current union, what stands beside it, and what it is called.
    fn apart(
        &mut self,
        node: &Map<String, Value>,
        at: &str,
    ) -> (Map<String, Value>, &'static str, Vec<Value>) {
        let mut base = node.clone();
        let one = base.shift_remove("oneOf");
        let any = base.shift_remove("anyOf");
        let (keyword, union) = match (one, any) {
            (Some(one), Some(any)) => {
                let product = multiplied(&one, &any);
                if product.is_none() {
                    self.lose(
                        LossKind::AllOf,
                        at,
                        "anyOf beside oneOf is too much to be said",
                    );
                }
                ("oneOf", product.unwrap_or(one))
            }
            (Some(one), None) => ("oneOf", one),
            (None, any) => ("anyOf", any.unwrap_or_default()),
        };
        let variants = union.as_array().cloned().unwrap_or_default();
        (base, keyword, variants)
    }

    pub(super) fn report_lost_presence(&mut self, variants: &[Value], at: &str) {
        self.lose(LossKind::Union, at, presence_hint(variants));
    }

    /// One schema for several.
    fn joined(
        &mut self,
        annotations: &Map<String, Value>,
        kept: Vec<(Value, Projected)>,
    ) -> Projected {
        if let Some(values) = texts_of(&kept) {
            let mut made = start("string", annotations);
            made.insert("enum".to_owned(), values);
            return Projected::new(made, PlanId::KEEP);
        }
        let mut schemas: Vec<Value> = Vec::new();
        let mut variants: Vec<Variant> = Vec::new();
        for (original, projected) in kept {
            let schema = Value::Object(projected.schema);
            variants.push(Variant {
                projected: Checker::new(schema.clone()),
                original: Checker::new(original),
                plan: projected.plan,
            });
            for part in unfolded(schema) {
                if !schemas.contains(&part) {
                    schemas.push(part);
                }
            }
        }
        let plan = match variants.as_slice() {
            [only] => only.plan,
            _ => self.plans.add(Plan::Variants(variants)),
        };
        let mut outer = start("", annotations);
        outer.shift_remove("type");
        let alone = self.subset_rules().is_some_and(|subset| subset.union_alone);
        let on_first = alone || schemas.len() == 1;
        if let Some(Value::Object(first)) = schemas.first_mut().filter(|_| on_first) {
            pour(&outer, first);
            outer.clear();
        }
        if let [Value::Object(only)] = schemas.as_mut_slice() {
            return Projected::new(std::mem::take(only), plan);
        }
        outer.insert("anyOf".to_owned(), Value::Array(schemas));
        Projected::new(outer, plan)
    }

    /// The union, or null.
    fn nullable_union(&self, mut projected: Projected) -> Projected {
        let alone = self.subset_rules().is_some_and(|subset| subset.union_alone);
        match projected.schema.get_mut("anyOf") {
            Some(Value::Array(variants)) if alone => {
                for variant in variants {
                    if let Value::Object(variant) = variant {
                        variant.insert("nullable".to_owned(), Value::Bool(true));
                    }
                }
                projected
            }
            _ => self.or_null(projected),
        }
    }
}

/// The parts of a union in a union.
fn unfolded(schema: Value) -> Vec<Value> {
    match schema {
        Value::Object(mut union) if union.len() == 1 && union.contains_key("anyOf") => {
            match union.shift_remove("anyOf") {
                Some(Value::Array(parts)) => parts,
                _ => Vec::new(),
            }
        }
        schema => vec![schema],
    }
}

/// The description of a whole on one of its parts.
fn pour(outer: &Map<String, Value>, part: &mut Map<String, Value>) {
    let Some(text) = outer.get("description").and_then(Value::as_str) else {
        return;
    };
    let text = match part.get("description").and_then(Value::as_str) {
        Some(own) if own != text => format!("{text} {own}"),
        _ => text.to_owned(),
    };
    // Nothing stands beside a reference.
    if let Some(reference) = part.shift_remove("$ref") {
        part.insert("anyOf".to_owned(), json!([{ "$ref": reference }]));
    }
    part.insert("description".to_owned(), json!(text));
}

/// The texts of a union of constants, which is how an enumeration with explanations is written.
fn texts_of(kept: &[(Value, Projected)]) -> Option<Value> {
    let mut all: Vec<Value> = Vec::new();
    for (_, projected) in kept {
        let plain = projected.plan == PlanId::KEEP
            && projected.schema.get("type") == Some(&json!("string"))
            && projected
                .schema
                .keys()
                .all(|key| matches!(key.as_str(), "type" | "enum" | "description"));
        let values = projected.schema.get("enum")?.as_array()?;
        if !plain {
            return None;
        }
        for value in values {
            if !all.contains(value) {
                all.push(value.clone());
            }
        }
    }
    (kept.len() > 1).then_some(Value::Array(all))
}

/// Null and nothing else.
fn is_null(schema: &Value) -> bool {
    let Some(node) = schema.as_object() else {
        return false;
    };
    let mut demands = node.iter().filter(|(key, _)| !is_annotation(key));
    match (demands.next(), demands.next()) {
        (Some((key, value)), None) => match key.as_str() {
            "type" => value == &json!("null"),
            "const" => value.is_null(),
            "enum" => value == &json!([null]),
            _ => false,
        },
        _ => false,
    }
}

/// Whether a union says nothing but which properties must be there: "one of these must be given".
pub(super) fn is_about_presence(base: &Map<String, Value>, variants: &[Value]) -> bool {
    let is_object = base.contains_key("properties");
    is_object
        && !variants.is_empty()
        && variants.iter().all(|variant| {
            variant.as_object().is_some_and(|variant| {
                variant
                    .keys()
                    .all(|key| matches!(key.as_str(), "required" | "not") || is_annotation(key))
            })
        })
}

/// What such a union says.
pub(super) fn presence_hint(variants: &[Value]) -> String {
    let ways: Vec<String> = variants
        .iter()
        .filter_map(|variant| {
            let names = variant.get("required")?.as_array()?;
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            Some(names.join(" and "))
        })
        .collect();
    format!("given must be: {}", ways.join(", or "))
}

/// Whether no value can fit two of the schemas, as far as that can be seen.
fn are_disjoint(source: &Canonical, schemas: &[Value]) -> bool {
    if schemas.len() < 2 {
        return true;
    }
    let nodes: Option<Vec<Map<String, Value>>> = schemas
        .iter()
        .map(|schema| Some(flatten(source, schema.as_object()?).ok()?.0))
        .collect();
    let Some(nodes) = nodes else {
        return false;
    };
    nodes.iter().enumerate().all(|(index, one)| {
        nodes
            .iter()
            .skip(index + 1)
            .all(|other| exclude_each_other(source, one, other))
    })
}

fn exclude_each_other(
    source: &Canonical,
    one: &Map<String, Value>,
    other: &Map<String, Value>,
) -> bool {
    have_no_common_type(one, other)
        || have_no_common_value(one, other)
        || distinguishes(source, one, other)
        || distinguishes(source, other, one)
}

fn have_no_common_type(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    if !one.contains_key("type") || !other.contains_key("type") {
        return false;
    }
    let is_number = |word: &str| word == "number" || word == "integer";
    let others = types_of(other);
    types_of(one).iter().all(|word| {
        !others
            .iter()
            .any(|known| known == word || (is_number(known) && is_number(word)))
    })
}

fn values_of(node: &Map<String, Value>) -> Option<Vec<&Value>> {
    match (node.get("const"), node.get("enum")) {
        (Some(constant), _) => Some(vec![constant]),
        (None, Some(Value::Array(values))) => Some(values.iter().collect()),
        _ => None,
    }
}

fn have_no_common_value(one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    match (values_of(one), values_of(other)) {
        (Some(one), Some(other)) => one.iter().all(|value| !other.contains(value)),
        _ => false,
    }
}

/// Whether a property that the first demands is one that the second refuses.
fn distinguishes(source: &Canonical, one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    // Both must be about objects for certain: an untyped schema accepts everything else.
    let about_objects = |node: &Map<String, Value>| node.get("type") == Some(&json!("object"));
    if !about_objects(one) || !about_objects(other) {
        return false;
    }
    let property = |node: &Map<String, Value>, name: &str| -> Option<Map<String, Value>> {
        let schema = node.get("properties")?.get(name)?.as_object()?;
        Some(flatten(source, schema).ok()?.0)
    };
    let demanded = one.get("required").and_then(Value::as_array);
    demanded
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .any(|name| match (property(one, name), property(other, name)) {
            (Some(one), Some(other)) => {
                have_no_common_value(&one, &other) || have_no_common_type(&one, &other)
            }
            (_, None) => {
                let listed = other
                    .get("properties")
                    .is_some_and(|properties| properties.get(name).is_some());
                !listed
                    && !other.contains_key("patternProperties")
                    && other.get("additionalProperties") == Some(&Value::Bool(false))
            }
            _ => false,
        })
}

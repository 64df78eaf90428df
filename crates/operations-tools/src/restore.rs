//! From a value in a projected schema's shape back to the original's.
//!
//! Models are not exact: a step that does not find what it expects leaves the value as it is, and the
//! registry's own check tells the model what is wrong.

use serde_json::{Map, Value};

use crate::plan::{Expect, Field, Plan, PlanId, Plans, Variant};

/// What the two properties of a pair are called.
pub(crate) const PAIR_KEY: &str = "key";
pub(crate) const PAIR_VALUE: &str = "value";

impl Plans {
    /// Whether whatever is given stands for no value at all.
    pub(crate) fn is_nothing(&self, id: PlanId) -> bool {
        matches!(self.step(id), Some(Plan::Nothing))
    }

    pub(crate) fn restore(&self, id: PlanId, value: Value) -> Value {
        if !self.is_active(id) {
            return value;
        }
        let Some(step) = self.step(id) else {
            return value;
        };
        match (step, value) {
            (Plan::Same(plan), value) => self.restore(*plan, value),
            (Plan::Object { fields, others }, Value::Object(entries)) => {
                Value::Object(self.object(fields, *others, entries))
            }
            (Plan::Array { prefix, rest }, Value::Array(items)) => {
                let items = items.into_iter().enumerate();
                items
                    .map(|(index, item)| self.restore(*prefix.get(index).unwrap_or(rest), item))
                    .collect()
            }
            (Plan::Pairs(plan), Value::Array(pairs)) => self.pairs(*plan, pairs),
            (Plan::Tuple { fields, rest }, Value::Object(entries)) => {
                self.tuple(fields, rest.as_ref(), entries)
            }
            (Plan::Json(expected), Value::String(text)) => parsed(*expected, text),
            (Plan::Texts(pairs), Value::String(text)) => pairs
                .iter()
                .find(|(known, _)| *known == text)
                .map_or(Value::String(text), |(_, value)| value.clone()),
            (Plan::Variants(variants), value) => self.variant(variants, value),
            (Plan::All(plans), value) => plans
                .iter()
                .fold(value, |value, plan| self.restore(*plan, value)),
            (Plan::Unwrap(name, plan), Value::Object(mut entries)) => {
                // A model that leaves the wrapping out means the same.
                match entries.shift_remove(name) {
                    Some(inner) => self.restore(*plan, inner),
                    None => Value::Object(entries),
                }
            }
            (Plan::Nothing, _) => Value::Null,
            (_, value) => value,
        }
    }

    fn object(
        &self,
        fields: &[Field],
        others: PlanId,
        entries: Map<String, Value>,
    ) -> Map<String, Value> {
        let mut made = Map::with_capacity(entries.len());
        for (name, value) in entries {
            match fields.iter().find(|field| field.from == name) {
                Some(field) if field.null_is_absent && value.is_null() => {}
                Some(field) => {
                    made.insert(field.to.clone(), self.restore(field.plan, value));
                }
                None => {
                    made.insert(name, self.restore(others, value));
                }
            }
        }
        made
    }

    fn pairs(&self, plan: PlanId, pairs: Vec<Value>) -> Value {
        let named: Option<Vec<(String, Value)>> = pairs
            .iter()
            .map(|pair| {
                let key = pair.get(PAIR_KEY)?.as_str()?.to_owned();
                Some((key, pair.get(PAIR_VALUE)?.clone()))
            })
            .collect();
        let Some(named) = named else {
            return Value::Array(pairs);
        };
        let entries = named.into_iter();
        Value::Object(
            entries
                .map(|(key, value)| (key, self.restore(plan, value)))
                .collect(),
        )
    }

    fn tuple(
        &self,
        fields: &[Field],
        rest: Option<&(String, PlanId)>,
        mut entries: Map<String, Value>,
    ) -> Value {
        let mut items = Vec::new();
        for field in fields {
            match entries.shift_remove(&field.from) {
                None => break,
                Some(Value::Null) if field.null_is_absent => break,
                Some(value) => items.push(self.restore(field.plan, value)),
            }
        }
        if let Some((name, plan)) = rest
            && items.len() == fields.len()
            && let Some(Value::Array(more)) = entries.shift_remove(name)
        {
            items.extend(more.into_iter().map(|item| self.restore(*plan, item)));
        }
        Value::Array(items)
    }

    fn variant(&self, variants: &[Variant], value: Value) -> Value {
        let mut first = None;
        for variant in variants {
            if !variant.projected.accepts(&value, &self.projected) {
                continue;
            }
            let restored = self.restore(variant.plan, value.clone());
            if variant.original.accepts(&restored, &self.original) {
                return restored;
            }
            first.get_or_insert(restored);
        }
        first.unwrap_or(value)
    }
}

fn parsed(expected: Expect, text: String) -> Value {
    match serde_json::from_str::<Value>(&text) {
        Ok(value) if is_expected(expected, &value) => value,
        _ => Value::String(text),
    }
}

fn is_expected(expected: Expect, value: &Value) -> bool {
    match expected {
        Expect::Anything => true,
        Expect::Object => value.is_object(),
        Expect::Array => value.is_array(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checker::Checker;
    use serde_json::json;

    fn field(from: &str, to: &str, plan: PlanId, null_is_absent: bool) -> Field {
        Field {
            from: from.to_owned(),
            to: to.to_owned(),
            plan,
            null_is_absent,
        }
    }

    #[test]
    fn objects_pairs_tuples_and_texts() {
        let mut plans = Plans::default();
        let json_text = plans.add(Plan::Json(Expect::Object));
        let pairs = plans.add(Plan::Pairs(json_text));
        let tuple = plans.add(Plan::Tuple {
            fields: vec![
                field("item_1", "0", PlanId::KEEP, false),
                field("item_2", "1", PlanId::KEEP, true),
            ],
            rest: None,
        });
        let texts = plans.add(Plan::Texts(vec![("1".to_owned(), json!(1))]));
        let root = plans.add(Plan::Object {
            fields: vec![
                field("a", "a b", PlanId::KEEP, true),
                field("p", "p", pairs, false),
                field("t", "t", tuple, false),
                field("e", "e", texts, false),
                field("n", "n", PlanId::KEEP, true),
            ],
            others: PlanId::KEEP,
        });
        plans.settle();
        let value = json!({
            "a": 1, "p": [{ "key": "k", "value": "{\"x\":1}" }, { "key": "l", "value": "[" }],
            "t": { "item_1": 1, "item_2": null }, "e": "1", "n": null, "more": null,
        });
        assert_eq!(
            plans.restore(root, value),
            json!({ "a b": 1, "p": { "k": { "x": 1 }, "l": "[" }, "t": [1], "e": 1, "more": null })
        );
        let odd = json!({ "p": [1], "t": [1], "e": "2" });
        assert_eq!(
            plans.restore(root, odd.clone()),
            odd,
            "what is not as expected stays"
        );
    }

    #[test]
    fn a_circle_in_which_nothing_happens_is_idle() {
        let mut plans = Plans::default();
        let reserved = plans.reserve();
        let array = plans.add(Plan::Array {
            prefix: Vec::new(),
            rest: reserved,
        });
        plans.fill(reserved, array);
        plans.settle();
        assert!(!plans.is_active(array));
    }

    #[test]
    fn of_two_variants_the_one_whose_result_fits() {
        let mut plans = Plans::default();
        let json_text = plans.add(Plan::Json(Expect::Anything));
        let text = json!({ "type": "string" });
        let variants = plans.add(Plan::Variants(vec![
            Variant {
                projected: Checker::new(text.clone()),
                original: Checker::new(json!({ "type": "object" })),
                plan: json_text,
            },
            Variant {
                projected: Checker::new(text.clone()),
                original: Checker::new(text),
                plan: PlanId::KEEP,
            },
        ]));
        plans.settle();
        assert_eq!(plans.restore(variants, json!("{}")), json!({}));
        assert_eq!(plans.restore(variants, json!("42")), json!("42"));
    }
}

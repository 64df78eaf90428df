//! From a value in a projected schema's shape back to the original's.
//!
//! Models are not exact: a step that does not find what it expects leaves the value as it is, and the
//! registry's own check tells the model what is wrong.

use std::sync::OnceLock;

use operations_schema::json::Document;
use operations_schema::{CompileOptions, Program, Source, compile};
use serde_json::{Map, Value, json};

/// A step, by its place in [`Plans`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PlanId(usize);

impl PlanId {
    /// The step that changes nothing.
    pub(crate) const KEEP: Self = Self(0);
}

/// What is done with one value.
#[derive(Debug)]
pub(crate) enum Plan {
    Keep,
    /// Does what another step does: a definition's, which is known when it has been walked.
    Same(PlanId),
    /// Properties are renamed, restored, or dropped.
    Object {
        fields: Vec<Field>,
        /// For those that are not among the fields.
        others: PlanId,
    },
    Array {
        prefix: Vec<PlanId>,
        rest: PlanId,
    },
    /// A list of `{ key, value }` is an object.
    Pairs(PlanId),
    /// An object with a property for each place is an array.
    Tuple {
        fields: Vec<Field>,
        rest: Option<(String, PlanId)>,
    },
    /// A text holds JSON.
    Json(Expect),
    /// A text stands for another value.
    Texts(Vec<(String, Value)>),
    /// The first that accepts the value and whose result the original accepts.
    Variants(Vec<Variant>),
    /// One after the other.
    All(Vec<PlanId>),
    /// The value is the one property of an object.
    Unwrap(String, PlanId),
    /// There is no value.
    Nothing,
}

/// What JSON text is expected to hold. A text that holds something else is meant as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    Anything,
    Object,
    Array,
}

#[derive(Debug)]
pub(crate) struct Field {
    /// What it is called in the projection, and in the original.
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) plan: PlanId,
    /// Null means that it is not there.
    pub(crate) null_is_absent: bool,
}

#[derive(Debug)]
pub(crate) struct Variant {
    pub(crate) projected: Checker,
    pub(crate) original: Checker,
    pub(crate) plan: PlanId,
}

/// A schema that is compiled when it is first needed.
#[derive(Debug)]
pub(crate) struct Checker {
    part: Value,
    program: OnceLock<Option<Program>>,
}

impl Checker {
    pub(crate) fn new(part: Value) -> Self {
        Self {
            part,
            program: OnceLock::new(),
        }
    }

    /// Whether a value passes. A schema that cannot be compiled decides nothing, and accepts.
    fn accepts(&self, value: &Value, definitions: &Map<String, Value>) -> bool {
        self.program
            .get_or_init(|| compiled(&self.part, definitions))
            .as_ref()
            .is_none_or(|program| program.check_json(&Document::from(value)).unwrap_or(false))
    }
}

/// A part of a schema, with the definitions that it may refer to.
pub(crate) fn compiled(part: &Value, definitions: &Map<String, Value>) -> Option<Program> {
    let document = json!({ "$defs": definitions, "allOf": [part] });
    let source = Source::try_from(&document).ok()?;
    compile(&source, &CompileOptions::default()).ok()
}

/// The steps of one projection.
#[derive(Debug)]
pub(crate) struct Plans {
    steps: Vec<Plan>,
    /// Whether a step changes anything, itself or below; known once all are there.
    active: Vec<bool>,
    /// What the schemas of variants refer to.
    projected: Map<String, Value>,
    original: Map<String, Value>,
}

impl Default for Plans {
    fn default() -> Self {
        Self {
            steps: vec![Plan::Keep],
            active: Vec::new(),
            projected: Map::new(),
            original: Map::new(),
        }
    }
}

impl Plans {
    pub(crate) fn add(&mut self, plan: Plan) -> PlanId {
        if is_plainly_idle(&plan) {
            return PlanId::KEEP;
        }
        self.steps.push(plan);
        PlanId(self.steps.len() - 1)
    }

    /// A place for a step that is not known yet.
    pub(crate) fn reserve(&mut self) -> PlanId {
        self.steps.push(Plan::Keep);
        PlanId(self.steps.len() - 1)
    }

    pub(crate) fn fill(&mut self, reserved: PlanId, plan: PlanId) {
        if let Some(step) = self.steps.get_mut(reserved.0) {
            *step = Plan::Same(plan);
        }
    }

    /// Finds out which steps do anything. Circles make it a question of repeating until nothing changes.
    pub(crate) fn settle(&mut self) {
        self.active = vec![false; self.steps.len()];
        loop {
            let mut changed = false;
            for (index, step) in self.steps.iter().enumerate() {
                let active = self.is_active(PlanId(index)) || self.acts(step);
                if let Some(known) = self.active.get_mut(index)
                    && *known != active
                {
                    *known = active;
                    changed = true;
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Takes the definitions that variants need, if there are any variants to tell apart.
    pub(crate) fn keep_definitions(
        &mut self,
        projected: &Map<String, Value>,
        original: impl FnOnce() -> Map<String, Value>,
    ) {
        let mut variants = self.steps.iter().zip(&self.active);
        if variants.any(|(step, active)| *active && matches!(step, Plan::Variants(_))) {
            self.projected.clone_from(projected);
            self.original = original();
        }
    }

    pub(crate) fn is_active(&self, id: PlanId) -> bool {
        self.active.get(id.0).copied().unwrap_or(false)
    }

    fn acts(&self, step: &Plan) -> bool {
        let field = |field: &Field| {
            field.null_is_absent || field.from != field.to || self.is_active(field.plan)
        };
        match step {
            Plan::Keep => false,
            Plan::Same(plan) => self.is_active(*plan),
            Plan::Object { fields, others } => fields.iter().any(field) || self.is_active(*others),
            Plan::Array { prefix, rest } => {
                prefix.iter().any(|plan| self.is_active(*plan)) || self.is_active(*rest)
            }
            Plan::Variants(variants) => variants.iter().any(|variant| self.is_active(variant.plan)),
            Plan::All(plans) => plans.iter().any(|plan| self.is_active(*plan)),
            Plan::Pairs(_)
            | Plan::Tuple { .. }
            | Plan::Json(_)
            | Plan::Texts(_)
            | Plan::Unwrap(..)
            | Plan::Nothing => true,
        }
    }

    /// Whether whatever is given stands for no value at all.
    pub(crate) fn is_nothing(&self, id: PlanId) -> bool {
        matches!(self.steps.get(id.0), Some(Plan::Nothing))
    }

    pub(crate) fn restore(&self, id: PlanId, value: Value) -> Value {
        if !self.is_active(id) {
            return value;
        }
        let Some(step) = self.steps.get(id.0) else {
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

/// What the two properties of a pair are called.
pub(crate) const PAIR_KEY: &str = "key";
pub(crate) const PAIR_VALUE: &str = "value";

fn is_plainly_idle(plan: &Plan) -> bool {
    match plan {
        Plan::Keep | Plan::Same(PlanId::KEEP) => true,
        Plan::Object { fields, others } => {
            *others == PlanId::KEEP
                && fields.iter().all(|field| {
                    field.plan == PlanId::KEEP && !field.null_is_absent && field.from == field.to
                })
        }
        Plan::Array { prefix, rest } => {
            *rest == PlanId::KEEP && prefix.iter().all(|plan| *plan == PlanId::KEEP)
        }
        Plan::Variants(variants) => variants.iter().all(|variant| variant.plan == PlanId::KEEP),
        Plan::All(plans) => plans.iter().all(|plan| *plan == PlanId::KEEP),
        _ => false,
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

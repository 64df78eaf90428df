//! References: hoisted into `$defs`, or written out.

use serde_json::{Map, Value, json};

use super::subset::annotations;
use super::{HOIST_LEVEL, Outcome, Projected, Projector, Refusal};
use crate::lossy::LossKind;
use crate::plan::{Expect, PlanId};

impl Projector<'_> {
    /// What a reference with nothing but annotations beside it becomes.
    pub(super) fn reference(
        &mut self,
        name: &str,
        node: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Outcome {
        let Some(definition) = self.source.definition(name) else {
            return Err(Refusal::nothing(at, format!("{name} is not defined")));
        };
        let small = definition.uses <= 1 || definition.small;
        let written_out =
            self.effort.inline || (!definition.recursive && small && self.level < HOIST_LEVEL);
        if !written_out {
            let plan = self.hoisted(name);
            return Ok(Projected::new(self.pointer(name, node), plan));
        }
        if self.open.iter().any(|open| open == name) {
            let message = format!("{name} contains itself: below, JSON text is taken");
            self.lose(LossKind::Recursion, at, message);
            return Ok(self.json_text(node, &format!("{name} as JSON text"), Expect::Anything));
        }
        let mut schema = definition.schema.clone();
        if let Value::Object(inner) = &mut schema {
            inner.extend(annotations(node));
        }
        self.open.push(name.to_owned());
        let outcome = self.walk(&schema, at, depth);
        self.open.pop();
        outcome
    }

    /// The step of a definition, which is written into `$defs` once this schema is done.
    fn hoisted(&mut self, name: &str) -> PlanId {
        if let Some(plan) = self.definition_plans.get(name) {
            return *plan;
        }
        let reserved = self.plans.reserve();
        self.definition_plans.insert(name.to_owned(), reserved);
        self.waiting.push(name.to_owned());
        reserved
    }

    /// Writes the definitions that are referred to, and those that they refer to.
    pub(super) fn waiting_definitions(&mut self) -> Result<(), Refusal> {
        let mut next = 0;
        let source = self.source;
        while let Some(name) = self.waiting.get(next).cloned() {
            next += 1;
            let Some(definition) = source.definition(&name) else {
                continue;
            };
            let projected = self.walk(&definition.schema, &definition.at, 1)?;
            if let Some(reserved) = self.definition_plans.get(&name) {
                self.plans.fill(*reserved, projected.plan);
            }
            self.definitions
                .insert(name, Value::Object(projected.schema));
        }
        Ok(())
    }

    /// `$ref`, with the annotations that stand beside it where the target allows that.
    fn pointer(&self, name: &str, node: &Map<String, Value>) -> Map<String, Value> {
        let pointer = json!(format!("#/$defs/{name}"));
        let mut made = Map::new();
        if self.rules.subset.is_none() {
            made.insert("$ref".to_owned(), pointer);
            made.extend(annotations(node));
            return made;
        }
        match node.get("description") {
            None => {
                made.insert("$ref".to_owned(), pointer);
            }
            Some(description) => {
                made.insert("description".to_owned(), description.clone());
                made.insert("anyOf".to_owned(), json!([{ "$ref": pointer }]));
            }
        }
        made
    }
}

//! Lists and tuples.

use serde_json::{Map, Value, json};

use super::subset::{count, start};
use super::{Outcome, Projected, Projector, Refusal};
use crate::canonical::step;
use crate::hints;
use crate::lossy::LossKind;
use crate::plan::{Expect, Field, Plan, PlanId};

impl Projector<'_> {
    pub(super) fn array(&mut self, node: &Map<String, Value>, at: &str, depth: usize) -> Outcome {
        if depth >= self.effort.depth {
            self.lose(LossKind::Depth, at, "too many levels: JSON text is taken");
            return Ok(self.json_text(node, "a JSON array, written as JSON text", Expect::Array));
        }
        if let (Some(least), Some(most)) = (count(node, "minItems"), count(node, "maxItems"))
            && least > most
        {
            return Err(Refusal::nothing(at, "no list is that long"));
        }
        if count(node, "maxItems") == Some(0) {
            return Ok(self.empty_list(node, at));
        }
        match node.get("prefixItems").and_then(Value::as_array) {
            Some(places) if !places.is_empty() => self.tuple(node, places, at, depth),
            _ => self.list(node, node.get("items"), at, depth),
        }
    }

    fn list(
        &mut self,
        node: &Map<String, Value>,
        items: Option<&Value>,
        at: &str,
        depth: usize,
    ) -> Outcome {
        let mut made = start("array", node);
        let done = ["items", "prefixItems"];
        let items = match self.walk(
            items.unwrap_or(&Value::Bool(true)),
            &step(at, "items"),
            depth + 1,
        ) {
            Ok(projected) => projected,
            Err(Refusal::Nothing { .. }) if count(node, "minItems").unwrap_or(0) == 0 => {
                return Ok(self.empty_list(node, at));
            }
            Err(refusal) => return Err(refusal),
        };
        made.insert("items".to_owned(), Value::Object(items.schema));
        self.finish_constraints(&mut made, node, &done, at);
        let plan = self.plans.add(Plan::Array {
            prefix: Vec::new(),
            rest: items.plan,
        });
        Ok(Projected::new(made, plan))
    }

    /// A list that must be empty.
    fn empty_list(&mut self, node: &Map<String, Value>, at: &str) -> Projected {
        let mut node = node.clone();
        node.insert("maxItems".to_owned(), json!(0));
        let mut made = start("array", &node);
        made.insert("items".to_owned(), json!({ "type": "string" }));
        self.finish_constraints(&mut made, &node, &["items", "prefixItems"], at);
        Projected::new(made, PlanId::KEEP)
    }

    /// A tuple: a list of a fixed length where all places are alike, else an object with a property for
    /// each place.
    fn tuple(
        &mut self,
        node: &Map<String, Value>,
        places: &[Value],
        at: &str,
        depth: usize,
    ) -> Outcome {
        let rest = node
            .get("items")
            .filter(|rest| **rest != Value::Bool(false));
        let most = count(node, "maxItems").unwrap_or(usize::MAX);
        let most = if rest.is_none() {
            most.min(places.len())
        } else {
            most
        };
        if let [first, others @ ..] = places
            && others.iter().all(|place| place == first)
            && rest.is_none_or(|rest| rest == first)
        {
            let mut alike = node.clone();
            if most < usize::MAX {
                alike.insert("maxItems".to_owned(), json!(most));
            }
            return self.list(&alike, Some(first), at, depth);
        }
        self.places(node, places, rest, most, at, depth)
    }

    fn places(
        &mut self,
        node: &Map<String, Value>,
        places: &[Value],
        rest: Option<&Value>,
        most: usize,
        at: &str,
        depth: usize,
    ) -> Outcome {
        let least = count(node, "minItems").unwrap_or(0);
        let closed = self.subset_rules().is_some_and(|subset| subset.closed);
        let mut made = start("object", node);
        hints::add(&mut made, ["a list, given place by place".to_owned()]);
        let mut properties = Map::new();
        let mut required = Vec::new();
        let mut fields = Vec::new();
        let mut most = most;
        for (index, place) in places.iter().enumerate().take(most) {
            let at = format!("{at}/prefixItems/{index}");
            let mut projected = match self.walk(place, &at, depth + 1) {
                Ok(projected) => projected,
                // Where nothing fits, the list ends.
                Err(Refusal::Nothing { .. }) if index >= least => {
                    most = index;
                    break;
                }
                Err(refusal) => return Err(refusal),
            };
            let name = format!("item_{}", index + 1);
            let optional = index >= least;
            if optional && closed {
                projected = self.or_null(projected);
            }
            if !optional || closed {
                required.push(json!(name));
            }
            properties.insert(name.clone(), Value::Object(projected.schema));
            fields.push(Field {
                from: name,
                to: index.to_string(),
                plan: projected.plan,
                null_is_absent: optional,
            });
        }
        let more = if most > places.len() { rest } else { None };
        let rest = match more {
            None => None,
            Some(more) => self.more_places(more, &mut properties, &mut required, at, depth)?,
        };
        if properties.is_empty() {
            return Ok(self.empty_list(node, at));
        }
        if least > places.len() || (most < usize::MAX && most > places.len()) {
            self.lose(
                LossKind::Items,
                at,
                "the target cannot express the number of items",
            );
        }
        made.insert("properties".to_owned(), Value::Object(properties));
        made.insert("required".to_owned(), Value::Array(required));
        if closed {
            made.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        for key in ["uniqueItems", "contains", "unevaluatedItems", "not", "if"] {
            if node.contains_key(key) {
                self.lose(LossKind::Items, at, format!("the target has no {key}"));
            }
        }
        let plan = self.plans.add(Plan::Tuple { fields, rest });
        Ok(Projected::new(made, plan))
    }

    /// What follows the places of a tuple, as a list of its own.
    fn more_places(
        &mut self,
        more: &Value,
        properties: &mut Map<String, Value>,
        required: &mut Vec<Value>,
        at: &str,
        depth: usize,
    ) -> Result<Option<(String, PlanId)>, Refusal> {
        let at = step(at, "items");
        let item = match self.walk(more, &at, depth + 2) {
            Ok(item) => item,
            Err(Refusal::Nothing { .. }) => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        let list = Map::from_iter([
            ("type".to_owned(), json!("array")),
            ("description".to_owned(), json!("what follows")),
            ("items".to_owned(), Value::Object(item.schema)),
        ]);
        let mut list = Projected::new(list, item.plan);
        if self.subset_rules().is_some_and(|subset| subset.closed) {
            list = self.or_null(list);
            required.push(json!("more"));
        }
        properties.insert("more".to_owned(), Value::Object(list.schema));
        Ok(Some(("more".to_owned(), list.plan)))
    }
}

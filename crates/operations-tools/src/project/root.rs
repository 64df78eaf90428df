//! The root of a tool's schema, which most targets want to be an object.

use serde_json::{Map, Value, json};

use super::object::{OBJECT_KEYS, check_count, listed_properties};
use super::subset::{count, start, types_of};
use super::union::{is_about_presence, presence_hint};
use super::{Projector, Refusal};
use crate::canonical::{BEYOND_JSON, is_annotation};
use crate::hints;
use crate::lossy::LossKind;
use crate::plan::{Plan, PlanId};
use crate::targets::Root;

/// What an input that is no object is called inside the object that stands for it.
const WRAPPED: &str = "input";
/// Keywords that providers refuse beside `type: "object"` at the root.
const REFUSED: [&str; 4] = ["not", "if", "then", "else"];

type Rooted = Result<(Map<String, Value>, PlanId), Refusal>;

impl Projector<'_> {
    pub(super) fn root(&mut self) -> Rooted {
        let root = self.source.root.clone();
        if self.rules.root == Root::Any {
            let projected = self.walk(&root, "", 1)?;
            return Ok((projected.schema, projected.plan));
        }
        let node = match &root {
            Value::Object(node) => node.clone(),
            Value::Bool(false) => return Err(Refusal::nothing("", "no value fits")),
            _ => Map::new(),
        };
        if is_absent(&node) {
            return Ok((
                self.without_properties(&Map::new()),
                self.plans.add(Plan::Nothing),
            ));
        }
        let must_be_flat = self.rules.root == Root::PlainObject || node.contains_key("$ref");
        let mut node = if must_be_flat {
            self.flat(&node, "")?
        } else {
            node
        };
        if self.rules.root == Root::PlainObject {
            self.plain(&mut node);
        }
        let types = types_of(&node);
        let object = types.iter().any(|word| word == "object")
            && types.iter().all(|word| word == "object" || word == "null");
        let listed = ["anyOf", "oneOf", "enum", "const"];
        let is_choice = self.rules.root == Root::PlainObject
            && listed.iter().any(|keyword| node.contains_key(*keyword));
        if object && !is_choice {
            node.insert("type".to_owned(), json!("object"));
            return self.root_object(node);
        }
        let anything = node.keys().all(|key| is_annotation(key));
        if anything && self.rules.subset.is_none() {
            node.insert("type".to_owned(), json!("object"));
            return Ok((node, PlanId::KEEP));
        }
        self.wrapped(&Value::Object(node))
    }

    /// Takes away what a plain object must not have beside it.
    fn plain(&mut self, node: &mut Map<String, Value>) {
        for keyword in ["anyOf", "oneOf"] {
            let Some(Value::Array(variants)) = node.get(keyword).cloned() else {
                continue;
            };
            let mut base = node.clone();
            base.shift_remove(keyword);
            if is_about_presence(&base, &variants) {
                self.report_lost_presence(&variants, "");
                hints::add(&mut base, [presence_hint(&variants)]);
                *node = base;
            }
        }
        let is_object = types_of(node).iter().any(|word| word == "object");
        if self.rules.subset.is_some() || !is_object {
            return;
        }
        for keyword in REFUSED {
            if node.shift_remove(keyword).is_some() {
                let kind = if keyword == "not" {
                    LossKind::Not
                } else {
                    LossKind::Condition
                };
                self.lose(kind, "", format!("{keyword} cannot stand at the root"));
            }
        }
    }

    fn root_object(&mut self, node: Map<String, Value>) -> Rooted {
        if self.rules.subset.is_none() {
            let projected = self.walk(&Value::Object(node), "", 1)?;
            return Ok((projected.schema, projected.plan));
        }
        let properties = listed_properties(&node);
        check_count(&node, &properties, "")?;
        if !properties.is_empty() {
            let projected = self.walk(&Value::Object(node.clone()), "", 1)?;
            if projected.schema.get("type") == Some(&json!("object")) {
                return Ok((projected.schema, projected.plan));
            }
            // Properties that all had to be left out.
            if count(&node, "minProperties").unwrap_or(0) == 0 {
                return Ok((self.without_properties(&node), PlanId::KEEP));
            }
            return self.wrapped(&Value::Object(node));
        }
        if is_empty(&node) {
            return Ok((self.without_properties(&node), PlanId::KEEP));
        }
        self.wrapped(&Value::Object(node))
    }

    fn without_properties(&mut self, node: &Map<String, Value>) -> Map<String, Value> {
        let mut made = start("object", node);
        self.finish_constraints(&mut made, node, &OBJECT_KEYS, "");
        made.insert("properties".to_owned(), json!({}));
        let closed = match self.subset_rules() {
            Some(subset) => subset.closed,
            None => true,
        };
        if closed {
            made.insert("required".to_owned(), json!([]));
            made.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        made
    }

    /// An object with one property, for an input that is no object.
    fn wrapped(&mut self, schema: &Value) -> Rooted {
        let projected = self.walk(schema, "", 2)?;
        let mut made = Map::from_iter([
            ("type".to_owned(), json!("object")),
            (
                "properties".to_owned(),
                json!({ WRAPPED: projected.schema }),
            ),
            ("required".to_owned(), json!([WRAPPED])),
        ]);
        if self.subset_rules().is_none_or(|subset| subset.closed) {
            made.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
        let plan = Plan::Unwrap(WRAPPED.to_owned(), projected.plan);
        Ok((made, self.plans.add(plan)))
    }
}

/// An object that has nothing in it: one that is closed, or one whose properties are listed, and are none, as for an operation
/// without parameters.
fn is_empty(node: &Map<String, Value>) -> bool {
    let is_listed = node.get("properties").is_some_and(Value::is_object)
        && count(node, "minProperties").unwrap_or(0) == 0;
    match node.get("additionalProperties") {
        _ if node.contains_key("patternProperties") => false,
        Some(others) => others == &Value::Bool(false),
        None => is_listed,
    }
}

/// `Type.Void()` and `Type.Undefined()`: no input.
fn is_absent(node: &Map<String, Value>) -> bool {
    matches!(
        node.get(BEYOND_JSON).and_then(Value::as_str),
        Some("undefined" | "void")
    )
}

//! Operations as prompts.

use serde_json::{Map, Value, json};

use super::descriptor::OperationDescriptor;
use super::{Listed, OPERATION_KEY};

/// An operation as a prompt.
#[derive(Debug)]
pub(in super::super) struct Prompt {
    pub(in super::super) listed: Listed,
    pub(in super::super) arguments: Arguments,
}

impl Prompt {
    /// The prompt for an operation, under a name. `None` where it is not offered as one.
    pub(super) fn new(each: &OperationDescriptor, name: &str) -> Option<Self> {
        if !each.mcp.prompt {
            return None;
        }
        let arguments = Arguments::new(each);
        let mut prompt = json!({
            "name": name,
            "description": each.description,
            "arguments": arguments.listed(),
            "_meta": { OPERATION_KEY: { "id": each.id } },
        });
        if let (Some(title), Some(members)) = (&each.title, prompt.as_object_mut()) {
            members.insert("title".to_owned(), json!(title));
        }
        let text = prompt.to_string();
        Some(Self {
            listed: Listed::new(each, &text, &text),
            arguments,
        })
    }
}

/// Arguments that clients know as texts: those of a prompt, and the variables of an address.
#[derive(Debug)]
pub(in super::super) struct Arguments {
    properties: Map<String, Value>,
    required: Vec<String>,
    complete: Map<String, Value>,
}

/// Where completions come from.
#[derive(Debug, PartialEq)]
pub(in super::super) enum Source {
    /// From this list.
    Words(Vec<String>),
    /// An operation has them.
    Operation(String),
}

impl Arguments {
    pub(super) fn new(each: &OperationDescriptor) -> Self {
        let member = |name| each.input.as_ref().and_then(|schema| schema.get(name));
        let required = member("required").and_then(Value::as_array);
        Self {
            properties: member("properties")
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default(),
            required: required
                .into_iter()
                .flatten()
                .filter_map(|name| name.as_str().map(str::to_owned))
                .collect(),
            complete: each.mcp.complete.clone(),
        }
    }

    fn listed(&self) -> Vec<Value> {
        let describe = |(name, schema): (&String, &Value)| {
            let mut argument = json!({ "name": name, "required": self.required.contains(name) });
            for word in ["title", "description"] {
                if let (Some(text), Some(members)) = (schema.get(word), argument.as_object_mut())
                    && text.is_string()
                {
                    members.insert(word.to_owned(), text.clone());
                }
            }
            argument
        };
        self.properties.iter().map(describe).collect()
    }

    /// The input that texts stand for: where the operation takes a number, a text that is one becomes it.
    pub(in super::super) fn input(
        &self,
        given: impl IntoIterator<Item = (String, Value)>,
    ) -> Value {
        let typed = |(name, value): (String, Value)| {
            let value = match (value.as_str(), self.properties.get(&name)) {
                (Some(text), Some(schema)) => typed(text, schema).unwrap_or(value),
                _ => value,
            };
            (name, value)
        };
        Value::Object(given.into_iter().map(typed).collect())
    }

    /// Where the completions of an argument come from: what the operation says, or its schema.
    pub(in super::super) fn completions(&self, name: &str) -> Option<Source> {
        let words = |list: &[Value]| {
            let words = list.iter().filter_map(|word| match word {
                Value::String(word) => Some(word.clone()),
                Value::Number(_) | Value::Bool(_) => Some(word.to_string()),
                _ => None,
            });
            Source::Words(words.collect())
        };
        match self.complete.get(name) {
            Some(Value::String(id)) => return Some(Source::Operation(id.clone())),
            Some(Value::Array(list)) => return Some(words(list)),
            _ => {}
        }
        let schema = self.properties.get(name)?;
        if let Some(list) = schema.get("enum").and_then(Value::as_array) {
            return Some(words(list));
        }
        let options = schema.get("anyOf").or_else(|| schema.get("oneOf"));
        let options = options.and_then(Value::as_array)?;
        let constants: Vec<Value> = options
            .iter()
            .filter_map(|option| option.get("const").cloned())
            .collect();
        Some(words(&constants))
    }
}

/// A text as the type that a schema names; `None` where it is to stay a text.
fn typed(text: &str, schema: &Value) -> Option<Value> {
    let parsed = || serde_json::from_str::<Value>(text).ok();
    match schema.get("type")?.as_str()? {
        "number" | "integer" => parsed().filter(Value::is_number),
        "boolean" => parsed().filter(Value::is_boolean),
        "object" => parsed().filter(Value::is_object),
        "array" => parsed().filter(Value::is_array),
        "null" => parsed().filter(Value::is_null),
        _ => None,
    }
}

//! How the schemas of an operation are made when someone asks for them. Most operations of a large
//! document are never called, so importing keeps places in the document, not copies.

use indexmap::IndexMap;
use operations_core::json::push_string;
use serde_json::{Map, Value, json};

use super::document::{At, Document};
use super::read_write_only::Direction;
use super::schema::{Copier, Purpose};
use super::tree::{Members, Tree};
use operations_core::error::CallError;
use operations_http::message::Keep;

/// Where a schema comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// It stands in the document.
    There { part: usize, pointer: String },
    /// It was put together from parts of the document, as for Swagger 2.0's parameters.
    Made { value: Box<Tree>, part: usize },
    /// Nothing is known.
    Unknown,
}

impl Source {
    pub(super) fn at(at: &At<'_>) -> Self {
        Self::There {
            part: at.part,
            pointer: at.pointer.clone(),
        }
    }

    pub(super) fn made(value: &Value, part: usize) -> Self {
        Tree::of(value).map_or(Self::Unknown, |value| Self::Made {
            value: Box::new(value),
            part,
        })
    }

    fn find<'d>(&'d self, document: &'d Document) -> Option<At<'d>> {
        match self {
            Self::There { part, pointer } => document.at(*part, pointer),
            Self::Made { value, part } => Some(At {
                value,
                part: *part,
                pointer: String::new(),
            }),
            Self::Unknown => None,
        }
    }
}

/// One property of an input.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct InputPart {
    pub(super) name: String,
    pub(super) source: Source,
    pub(super) required: bool,
    pub(super) description: Option<String>,
    pub(super) deprecated: bool,
}

/// The input of an operation: one object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct InputRecipe {
    pub(super) parts: Vec<InputPart>,
    pub(super) binary_is_free: bool,
    /// Whether the last part, the body, is the input itself.
    pub(super) is_body: bool,
    /// What the schema has beside its properties.
    pub(super) keywords: Map<String, Value>,
}

impl InputRecipe {
    pub(super) fn build(
        &self,
        document: &Document,
        int64: Option<Keep>,
    ) -> Result<Value, CallError> {
        let found: Vec<Option<At<'_>>> = self
            .parts
            .iter()
            .map(|part| part.source.find(document))
            .collect();
        let roots: Vec<At<'_>> = found.iter().flatten().cloned().collect();
        let purpose = Purpose {
            direction: Direction::Input,
            binary_is_free: self.binary_is_free,
            int64,
        };
        let mut copier = Copier::new(document, purpose, &roots);
        if self.is_body {
            let copy = match found.last().and_then(Option::as_ref) {
                Some(at) => copier.copy_root(at)?,
                None => json!({}),
            };
            return Ok(match copy {
                Value::Object(schema) => close(schema, copier.definitions()?),
                Value::Bool(false) => Value::Bool(false),
                _ => json!({}),
            });
        }
        let mut properties = Map::new();
        let mut required = Vec::new();
        for (part, at) in self.parts.iter().zip(found) {
            let copy = match at {
                Some(at) => copier.copy_root(&at)?,
                None => json!({}),
            };
            properties.insert(part.name.clone(), part.describe(copy));
            if part.required {
                required.push(Value::from(part.name.as_str()));
            }
        }
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), properties.into());
        if !required.is_empty() {
            schema.insert("required".to_owned(), required.into());
        }
        for (name, value) in &self.keywords {
            schema.entry(name.as_str()).or_insert_with(|| value.clone());
        }
        Ok(close(schema, copier.definitions()?))
    }
}

/// Properties of one object that an outline has.
const MAX_OUTLINED: usize = 80;

impl InputRecipe {
    /// The names of the properties and what is said about them, and the same of the objects in them:
    /// what a search wants to know, at a hundredth of the price of the schema. A schema as JSON.
    pub(super) fn outline(&self, document: &Document) -> String {
        let mut json = String::with_capacity(1_024);
        json.push_str("{\"properties\":{");
        for (index, part) in self.parts.iter().enumerate() {
            let found = part.source.find(document);
            let found = found.and_then(|at| document.follow(at).ok());
            let mut description = part.description.as_deref();
            let mut inner = IndexMap::new();
            if let Some(at) = &found {
                description = description.or_else(|| at.string("description"));
                outline_object(document, at, &mut inner);
            }
            if index > 0 {
                json.push(',');
            }
            push_string(&mut json, &part.name);
            json.push_str(":{");
            push_description(&mut json, description);
            if !inner.is_empty() {
                json.push_str(if description.is_some() { "," } else { "" });
                json.push_str("\"properties\":{");
                for (index, (name, description)) in inner.into_iter().enumerate() {
                    json.push_str(if index > 0 { "," } else { "" });
                    push_string(&mut json, name);
                    json.push_str(":{");
                    push_description(&mut json, description);
                    json.push('}');
                }
                json.push('}');
            }
            json.push('}');
        }
        json.push_str("},\"required\":[");
        let required = self.parts.iter().filter(|part| part.required);
        for (index, part) in required.enumerate() {
            json.push_str(if index > 0 { "," } else { "" });
            push_string(&mut json, &part.name);
        }
        json.push_str("]}");
        json
    }
}

fn push_description(json: &mut String, description: Option<&str>) {
    if let Some(text) = description {
        json.push_str("\"description\":");
        push_string(json, text);
    }
}

/// The properties of an object, and of those that it is composed of, with their descriptions.
fn outline_object<'d>(
    document: &'d Document,
    at: &At<'d>,
    outlined: &mut IndexMap<&'d str, Option<&'d str>>,
) {
    let parts = at.get("allOf");
    let parts = parts.iter().flat_map(At::items);
    let parts = parts.filter_map(|part| document.follow(part).ok());
    for object in std::iter::once(at.clone()).chain(parts) {
        let properties = object.object().and_then(|object| object.get("properties"));
        let properties = properties.and_then(Tree::as_object);
        for (name, property) in properties.into_iter().flat_map(Members::iter) {
            if outlined.len() >= MAX_OUTLINED {
                return;
            }
            let description = property.get("description").and_then(Tree::as_str);
            outlined.insert(name, description);
        }
    }
}

impl InputPart {
    /// What the parameter says about itself is nearer to the caller than what its schema says.
    fn describe(&self, schema: Value) -> Value {
        let mut object = match schema {
            Value::Object(object) => object,
            Value::Bool(true) if self.description.is_some() => Map::new(),
            other => return other,
        };
        if let Some(description) = &self.description {
            object.insert("description".to_owned(), description.as_str().into());
        }
        if self.deprecated {
            object.insert("deprecated".to_owned(), true.into());
        }
        Value::Object(object)
    }
}

/// The schema of what an operation gives.
pub(super) fn build_output(
    source: &Source,
    document: &Document,
    int64: Option<Keep>,
) -> Result<Value, CallError> {
    let Some(at) = source.find(document) else {
        return Ok(json!({}));
    };
    let purpose = Purpose {
        direction: Direction::Output,
        binary_is_free: false,
        int64,
    };
    let mut copier = Copier::new(document, purpose, std::slice::from_ref(&at));
    match copier.copy_root(&at)? {
        Value::Object(schema) => Ok(close(schema, copier.definitions()?)),
        Value::Bool(false) => Ok(Value::Bool(false)),
        _ => Ok(json!({})),
    }
}

fn close(mut schema: Map<String, Value>, definitions: Map<String, Value>) -> Value {
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), definitions.into());
    }
    Value::Object(schema)
}

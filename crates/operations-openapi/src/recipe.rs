//! How the schemas of an operation are made when someone asks for them. Most operations of a large
//! document are never called, so importing keeps places in the document, not copies.

use serde_json::{Map, Value, json};

use super::document::{At, Document};
use super::one_way::Direction;
use super::schema::{Copier, Purpose};
use operations_core::error::CallError;
use operations_http::message::Keep;

/// Where a schema comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    /// It stands in the document.
    There { part: usize, pointer: String },
    /// It was put together from parts of the document, as for Swagger 2.0's parameters.
    Made { value: Box<Value>, part: usize },
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

    pub(super) fn made(value: Value, part: usize) -> Self {
        Self::Made {
            value: Box::new(value),
            part,
        }
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
    /// what a search wants to know, at a hundredth of the price of the schema.
    pub(super) fn outline(&self, document: &Document) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        for part in &self.parts {
            let mut inner = Map::new();
            let found = part.source.find(document);
            let found = found.and_then(|at| document.follow(at).ok());
            let mut description = part.description.as_deref();
            if let Some(at) = found {
                description = description.or_else(|| at.string("description"));
                outline_object(document, &at, &mut inner);
            }
            let mut outline = Map::new();
            if let Some(text) = description {
                outline.insert("description".to_owned(), text.into());
            }
            if !inner.is_empty() {
                outline.insert("properties".to_owned(), inner.into());
            }
            properties.insert(part.name.clone(), outline.into());
            if part.required {
                required.push(Value::from(part.name.as_str()));
            }
        }
        json!({ "properties": properties, "required": required })
    }
}

/// The properties of an object, and of those that it is composed of.
fn outline_object(document: &Document, at: &At<'_>, outlined: &mut Map<String, Value>) {
    let parts = at.get("allOf").into_iter().flat_map(|all| {
        let parts: Vec<At<'_>> = all.items().collect();
        parts
    });
    let parts = parts.filter_map(|part| document.follow(part).ok());
    for object in std::iter::once(at.clone()).chain(parts) {
        let Some(properties) = object.get("properties") else {
            continue;
        };
        for (name, property) in properties.entries() {
            if outlined.len() >= MAX_OUTLINED {
                return;
            }
            let description = property.string("description");
            let outline =
                description.map_or_else(|| json!({}), |text| json!({ "description": text }));
            outlined.insert(name.to_owned(), outline);
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

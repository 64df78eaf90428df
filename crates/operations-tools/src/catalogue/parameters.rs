//! The parameters of an operation, as far as its input schema names them.

use std::borrow::Cow;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;

/// A property of the input, or of an object in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) is_required: bool,
    /// A property of a property.
    pub(super) is_inner: bool,
}

/// Parameters of one operation that are looked at.
const MAX_PARAMETERS: usize = 80;

/// What is read of a schema. The rest of its text is passed over.
#[derive(Deserialize, Default)]
struct Outline<'a> {
    #[serde(borrow, default)]
    properties: Option<IndexMap<Cow<'a, str>, &'a RawValue, RandomState>>,
    #[serde(borrow, default)]
    required: Option<Vec<Cow<'a, str>>>,
    #[serde(borrow, rename = "$defs", alias = "definitions", default)]
    definitions: Option<Definitions<'a>>,
    #[serde(borrow, rename = "$ref", default)]
    reference: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    description: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "allOf", alias = "anyOf", alias = "oneOf", default)]
    parts: Option<Vec<&'a RawValue>>,
}

/// The properties of an input schema, which is JSON, and those of the objects in it. Nothing for what is
/// no schema of an object.
pub(super) fn parameters_of(schema: &str) -> Vec<Parameter> {
    let Some(root) = outline(schema) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let definitions = root.definitions.clone().unwrap_or_default();
    collect(&root, &definitions, 0, &mut found);
    found
}

impl Clone for Outline<'_> {
    fn clone(&self) -> Self {
        Self {
            properties: self.properties.clone(),
            required: self.required.clone(),
            definitions: self.definitions.clone(),
            reference: self.reference.clone(),
            description: self.description.clone(),
            parts: self.parts.clone(),
        }
    }
}

/// A schema that does not look like one tells nothing.
fn outline(schema: &str) -> Option<Outline<'_>> {
    serde_json::from_str(schema).ok()
}

type Definitions<'a> = HashMap<Cow<'a, str>, &'a RawValue, RandomState>;

fn resolved<'a>(outline: Outline<'a>, definitions: &Definitions<'a>) -> Outline<'a> {
    let mut outline = outline;
    // References may lead to one another; a circle ends soon enough.
    for _ in 0..4 {
        let Some(reference) = outline.reference.as_deref() else {
            break;
        };
        let name = reference.rsplit('/').next().unwrap_or_default();
        let Some(next) = definitions
            .get(name)
            .and_then(|text| self::outline(text.get()))
        else {
            break;
        };
        let description = outline.description.take();
        outline = next;
        outline.description = description.or(outline.description);
    }
    outline
}

fn collect<'a>(
    schema: &Outline<'a>,
    definitions: &Definitions<'a>,
    depth: usize,
    found: &mut Vec<Parameter>,
) {
    let required = schema.required.as_deref().unwrap_or_default();
    for (name, text) in schema.properties.iter().flatten() {
        if found.len() >= MAX_PARAMETERS {
            return;
        }
        let inner = outline(text.get()).map(|inner| resolved(inner, definitions));
        found.push(Parameter {
            name: name.clone().into_owned(),
            description: inner
                .as_ref()
                .and_then(|inner| inner.description.as_deref())
                .map(str::to_owned),
            is_required: required.contains(name),
            is_inner: depth > 0,
        });
        if depth == 0
            && let Some(inner) = inner
        {
            collect(&inner, definitions, 1, found);
        }
    }
    if depth < 2 {
        for part in schema.parts.iter().flatten() {
            if let Some(part) = outline(part.get()) {
                collect(
                    &resolved(part, definitions),
                    definitions,
                    depth.max(1),
                    found,
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_and_those_of_the_body() {
        let found = parameters_of(
            r##"{"type":"object","required":["repo"],"properties":{"repo":{"type":"string","description":"Where"},
            "body":{"$ref":"#/$defs/Issue"}},"$defs":{"Issue":{"required":["title"],"properties":{"title":{"type":"string"},
            "inner":{"properties":{"deep":{}}}}}}}"##,
        );
        let names: Vec<_> = found
            .iter()
            .map(|each| (each.name.as_str(), each.is_required, each.is_inner))
            .collect();
        assert_eq!(
            names,
            [
                ("repo", true, false),
                ("body", false, false),
                ("title", true, true),
                ("inner", false, true)
            ]
        );
        assert_eq!(found[0].description.as_deref(), Some("Where"));
    }

    #[test]
    fn what_is_no_schema_has_none() {
        for text in [
            "true",
            "{",
            "[]",
            "{\"properties\": 3}",
            r##"{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/A"}}}"##,
        ] {
            assert_eq!(parameters_of(text), [], "{text}");
        }
    }
}

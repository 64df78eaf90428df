//! The parameters of an operation, as far as its input schema names them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use foldhash::fast::RandomState;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A property of the input, or of an object in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parameter<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) description: Option<Cow<'a, str>>,
    pub(super) is_required: bool,
    /// A property of a property.
    pub(super) is_inner: bool,
}

/// Parameters of one operation that are indexed.
const MAX_PARAMETERS: usize = 80;

/// What is read of a schema. The rest of its text is passed over.
#[derive(Deserialize, Default)]
struct Outline<'a> {
    #[serde(borrow, default)]
    properties: Option<Properties<'a>>,
    #[serde(borrow, default)]
    required: Option<Vec<Text<'a>>>,
    #[serde(borrow, rename = "$defs", default)]
    definitions: Option<Definitions<'a>>,
    /// In older drafts. A schema may have both.
    #[serde(borrow, rename = "definitions", default)]
    older_definitions: Option<Definitions<'a>>,
    #[serde(borrow, rename = "$ref", default)]
    reference: Option<Text<'a>>,
    #[serde(borrow, default)]
    description: Option<Text<'a>>,
    #[serde(borrow, rename = "allOf", default)]
    all_of: Option<Vec<&'a RawValue>>,
    #[serde(borrow, rename = "anyOf", default)]
    any_of: Option<Vec<&'a RawValue>>,
    #[serde(borrow, rename = "oneOf", default)]
    one_of: Option<Vec<&'a RawValue>>,
}

/// A string of the schema, which stays where it is unless something in it is escaped. Serde reads a `Cow` in a list or a map
/// as an owned one.
#[derive(Deserialize, PartialEq, Eq, Hash)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl std::borrow::Borrow<str> for Text<'_> {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// The properties of an object in their order. There is no lookup by name.
struct Properties<'a>(Vec<(Text<'a>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Properties<'a> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Reading;
        impl<'de> Visitor<'de> for Reading {
            type Value = Properties<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(property) = map.next_entry()? {
                    list.push(property);
                }
                Ok(Properties(list))
            }
        }
        reader.deserialize_map(Reading)
    }
}

/// The properties of an input schema, which is JSON, and those of the objects in it. Nothing for what is
/// no schema of an object.
pub(super) fn parameters_of(schema: &str) -> Vec<Parameter<'_>> {
    let Some(mut root) = outline(schema) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut definitions = root.older_definitions.take().unwrap_or_default();
    definitions.extend(root.definitions.take().into_iter().flatten());
    collect(root, &definitions, 0, &mut found);
    found
}

/// A schema of another shape is skipped.
fn outline(schema: &str) -> Option<Outline<'_>> {
    serde_json::from_str(schema).ok()
}

type Definitions<'a> = HashMap<Text<'a>, &'a RawValue, RandomState>;

fn resolved<'a>(outline: Outline<'a>, definitions: &Definitions<'a>) -> Outline<'a> {
    let mut outline = outline;
    // References may lead to one another; a circle ends soon enough.
    for _ in 0..4 {
        let Some(Text(reference)) = &outline.reference else {
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
    schema: Outline<'a>,
    definitions: &Definitions<'a>,
    depth: usize,
    found: &mut Vec<Parameter<'a>>,
) {
    let required = schema.required.unwrap_or_default();
    let Properties(properties) = schema.properties.unwrap_or(Properties(Vec::new()));
    for (name, text) in properties {
        if found.len() >= MAX_PARAMETERS {
            return;
        }
        let mut inner = outline(text.get()).map(|inner| resolved(inner, definitions));
        let description = inner.as_mut().and_then(|inner| inner.description.take());
        found.push(Parameter {
            is_required: required.contains(&name),
            name: name.0,
            description: description.map(|Text(text)| text),
            is_inner: depth > 0,
        });
        if depth == 0
            && let Some(inner) = inner
        {
            collect(inner, definitions, 1, found);
        }
    }
    if depth < 2 {
        let parts = [schema.all_of, schema.any_of, schema.one_of];
        for part in parts.iter().flatten().flatten() {
            if let Some(part) = outline(part.get()) {
                collect(
                    resolved(part, definitions),
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
            .map(|each| (&*each.name, each.is_required, each.is_inner))
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
    fn keywords_that_say_the_same_may_stand_side_by_side() {
        let found = parameters_of(
            r##"{"properties":{"a":{"$ref":"#/$defs/A"},"b":{"$ref":"#/definitions/B"}},
            "allOf":[{"properties":{"c":{}}}],"anyOf":[{"properties":{"d":{}}}],"oneOf":[{"properties":{"e":{}}}],
            "$defs":{"A":{"description":"new"}},"definitions":{"A":{"description":"old"},"B":{"description":"older"}}}"##,
        );
        let names: Vec<_> = found
            .iter()
            .map(|each| (&*each.name, each.description.as_deref()))
            .collect();
        assert_eq!(
            names,
            [
                ("a", Some("new")),
                ("b", Some("older")),
                ("c", None),
                ("d", None),
                ("e", None)
            ]
        );
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

//! A schema as a TypeScript type.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::names::{Trial, TypeKey};
use super::scope::Scope;
use super::texts::{MAX_VALUES, enumeration, is_identifier, literal, one_line};

/// How much of a type is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Detail {
    /// Objects within objects.
    depth: usize,
    /// Named types that name others.
    hops: usize,
    /// Optional properties of an object.
    properties: usize,
}

impl Detail {
    pub(super) const fn new(depth: usize, hops: usize, properties: usize) -> Self {
        Self {
            depth,
            hops,
            properties,
        }
    }
}

/// Named types up to this many characters are written where they are used.
const SMALL: usize = 48;
/// Objects from this many characters on are declared once if several operations have them.
const WORTH_SHARING: usize = 100;
/// Characters of what is said about a parameter.
const MAX_COMMENT: usize = 120;

/// Writes the types of one schema.
pub(super) struct Writer<'w, 't, 'a> {
    scope: &'w Scope<'a>,
    detail: Detail,
    types: &'w mut Trial<'t>,
    has_comments: bool,
    /// Characters after which the rest is left out.
    room: usize,
}

impl<'w, 't, 'a> Writer<'w, 't, 'a> {
    pub(super) fn new(
        scope: &'w Scope<'a>,
        detail: Detail,
        types: &'w mut Trial<'t>,
        has_comments: bool,
        room: usize,
    ) -> Self {
        Self {
            scope,
            detail,
            types,
            has_comments,
            room,
        }
    }

    /// The parameter of an operation: nothing if it takes nothing.
    pub(super) fn parameter(mut self, text: &mut String) {
        let root = self.scope.root();
        let has = |key: &str| root.get(key).is_some();
        let is_object = root.get("type").and_then(Value::as_str) == Some("object");
        let is_empty = root
            .get("properties")
            .and_then(Value::as_object)
            .is_none_or(Map::is_empty);
        let is_open = [
            "additionalProperties",
            "patternProperties",
            "anyOf",
            "oneOf",
            "allOf",
            "$ref",
        ]
        .iter()
        .any(|key| {
            root.get(*key)
                .is_some_and(|value| *value != Value::Bool(false))
        });
        if is_object && is_empty && !is_open && has("properties") {
            return;
        }
        let is_optional = root.as_object().is_some_and(Map::is_empty)
            || (is_object
                && root
                    .get("required")
                    .and_then(Value::as_array)
                    .is_none_or(Vec::is_empty)
                && !is_open);
        text.push_str(if is_optional { "input?: " } else { "input: " });
        self.write(root, self.detail.depth, self.detail.hops, text);
    }

    /// The type of the schema.
    pub(super) fn root(mut self, text: &mut String) {
        self.write(self.scope.root(), self.detail.depth, self.detail.hops, text);
    }

    fn write(&mut self, schema: &Value, depth: usize, hops: usize, text: &mut String) {
        if self.types.characters() > self.room || text.len() > self.room {
            return;
        }
        let Some(members) = schema.as_object() else {
            text.push_str(if schema == &Value::Bool(false) {
                "never"
            } else {
                "unknown"
            });
            return;
        };
        let mut parts: Vec<String> = Vec::new();
        if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
            let mut part = String::new();
            self.reference(reference, depth, hops, &mut part);
            parts.push(part);
        }
        if let Some(value) = members.get("const") {
            parts.push(literal(value));
        } else if let Some(values) = members.get("enum").and_then(Value::as_array) {
            parts.push(enumeration(values));
        } else {
            for key in ["anyOf", "oneOf"] {
                if let Some(list) = members.get(key).and_then(Value::as_array) {
                    parts.push(self.union(list, depth, hops));
                }
            }
            if let Some(own) = self.own(members, !parts.is_empty(), depth, hops) {
                parts.push(own);
            }
        }
        for each in members
            .get("allOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let mut part = String::new();
            self.write(each, depth, hops, &mut part);
            parts.push(part);
        }
        parts.retain(|part| part != "unknown");
        if parts.len() > 1 {
            parts.retain(|part| part != "object");
        }
        parts.dedup();
        let count = parts.len();
        let written: Vec<String> = parts
            .into_iter()
            .map(|part| {
                if count > 1 && part.contains(" | ") {
                    format!("({part})")
                } else {
                    part
                }
            })
            .collect();
        if written.is_empty() {
            text.push_str("unknown");
            return;
        }
        let whole = written.join(" & ");
        text.push_str(&whole);
        // As OpenAPI 3.0 has it.
        if members.get("nullable") == Some(&Value::Bool(true)) && !whole.ends_with("null") {
            text.push_str(" | null");
        }
    }

    /// What a schema says by itself, besides references and unions.
    fn own(
        &mut self,
        members: &Map<String, Value>,
        has_others: bool,
        depth: usize,
        hops: usize,
    ) -> Option<String> {
        let is_shaped =
            members.contains_key("properties") || members.contains_key("additionalProperties");
        let types: Vec<&str> = match members.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ if is_shaped => vec!["object"],
            _ if members.contains_key("items") || members.contains_key("prefixItems") => {
                vec!["array"]
            }
            _ => return None,
        };
        // What the union says already need not be said again.
        if has_others && (!is_shaped || members.get("properties").is_none()) {
            return None;
        }
        let mut parts: Vec<String> = types
            .into_iter()
            .map(|name| match name {
                "string" | "boolean" | "null" | "bigint" | "undefined" | "symbol" | "void" => {
                    name.to_owned()
                }
                "number" | "integer" => "number".to_owned(),
                "Date" | "Uint8Array" => name.to_owned(),
                "array" => self.array(members, depth, hops),
                "object" => self.object(members, depth, hops),
                _ => "unknown".to_owned(),
            })
            .collect();
        parts.dedup();
        Some(parts.join(" | "))
    }

    fn union(&mut self, list: &[Value], depth: usize, hops: usize) -> String {
        let mut parts: Vec<String> = Vec::new();
        for each in list {
            let mut part = String::new();
            self.write(each, depth, hops, &mut part);
            if part == "unknown" {
                return part;
            }
            let part = if part.contains(" & ") {
                format!("({part})")
            } else {
                part
            };
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        if parts.is_empty() {
            "unknown".to_owned()
        } else {
            parts.join(" | ")
        }
    }

    fn array(&mut self, members: &Map<String, Value>, depth: usize, hops: usize) -> String {
        let tuple = members
            .get("prefixItems")
            .or_else(|| members.get("items").filter(|items| items.is_array()))
            .and_then(Value::as_array);
        if let Some(items) = tuple
            && items.len() <= MAX_VALUES
        {
            let parts: Vec<String> = items
                .iter()
                .map(|item| self.text_of(item, depth, hops))
                .collect();
            return format!("[{}]", parts.join(", "));
        }
        let item = members.get("items").map_or_else(
            || "unknown".to_owned(),
            |item| self.text_of(item, depth, hops),
        );
        if item.contains([' ', '|', '&']) && !item.starts_with('{') {
            return format!("({item})[]");
        }
        // A union of objects begins like an object.
        if item.contains("} |") || item.contains("} &") {
            return format!("({item})[]");
        }
        item + "[]"
    }

    fn text_of(&mut self, schema: &Value, depth: usize, hops: usize) -> String {
        let mut text = String::new();
        self.write(schema, depth, hops, &mut text);
        text
    }

    fn object(&mut self, members: &Map<String, Value>, depth: usize, hops: usize) -> String {
        let none = Map::new();
        let properties = members
            .get("properties")
            .and_then(Value::as_object)
            .unwrap_or(&none);
        let rest = members
            .get("additionalProperties")
            .filter(|rest| rest.is_object() || **rest == Value::Bool(true));
        let rest = rest.or_else(|| {
            members
                .get("patternProperties")?
                .as_object()?
                .values()
                .next()
        });
        if properties.is_empty() {
            return match rest {
                Some(rest) if depth > 0 => {
                    let rest = self.text_of(rest, depth - 1, hops);
                    // A type that contains itself must not do so through another.
                    if self.types.is_unfinished(&rest) {
                        format!("{{ [name: string]: {rest} }}")
                    } else {
                        format!("Record<string, {rest}>")
                    }
                }
                _ => "object".to_owned(),
            };
        }
        if depth == 0 {
            return "object".to_owned();
        }
        let required: Vec<&str> = members
            .get("required")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let mut left_out = 0_usize;
        let mut written = 0_usize;
        let mut text = String::from("{ ");
        let mut comments = false;
        // What is needed comes first, and is always there.
        let is_required = |name: &&String| required.contains(&name.as_str());
        let (needed, optional): (Vec<&String>, Vec<&String>) =
            properties.keys().partition(is_required);
        for (is_optional, name) in needed
            .into_iter()
            .map(|name| (false, name))
            .chain(optional.into_iter().map(|name| (true, name)))
        {
            if written >= self.detail.properties
                && (is_optional || written >= 4 * self.detail.properties.max(4))
            {
                left_out += 1;
                continue;
            }
            written += 1;
            let Some(property) = properties.get(name) else {
                continue;
            };
            if self.has_comments
                && let Some(comment) = property.get("description").and_then(Value::as_str)
            {
                let comment = one_line(comment, MAX_COMMENT);
                if !comment.is_empty() {
                    text.push_str("\n    /** ");
                    text.push_str(&comment);
                    text.push_str(" */ ");
                    comments = true;
                }
            }
            if is_identifier(name) {
                text.push_str(name);
            } else {
                text.push_str(&Value::from(name.as_str()).to_string());
            }
            text.push_str(if is_optional { "?: " } else { ": " });
            self.write(property, depth - 1, hops, &mut text);
            text.push_str("; ");
        }
        if left_out > 0 {
            let _ = write!(text, "/* {left_out} more */ ");
        }
        if comments {
            text.push_str("\n  ");
        }
        text.push('}');
        if text.len() >= WORTH_SHARING && depth + 2 > self.detail.depth {
            let title = members.get("title").and_then(Value::as_str);
            self.types.note(title, &text);
        }
        text
    }

    fn reference(&mut self, reference: &str, depth: usize, hops: usize, text: &mut String) {
        let Some((name, definition)) = self.scope.definition(reference) else {
            text.push_str("unknown");
            return;
        };
        let key = TypeKey {
            namespace: self.scope.namespace().to_owned(),
            name,
            hash: definition.hash,
        };
        if let Some(known) = self.types.find(&key) {
            text.push_str(known);
            return;
        }
        let schema = definition.schema;
        if hops == 0 || depth == 0 {
            // Plain ones, which end by themselves, are written; of others, that they are objects.
            let is_plain = ["$ref", "properties", "items", "anyOf", "oneOf", "allOf"]
                .iter()
                .all(|key| schema.get(*key).is_none());
            if is_plain {
                self.write(&schema, 0, 0, text);
            } else {
                let is_object = schema.get("type").and_then(Value::as_str) == Some("object");
                text.push_str(if is_object { "object" } else { "unknown" });
            }
            return;
        }
        let reserved = self.types.reserve(key);
        let mut body = String::new();
        let has_comments = std::mem::replace(&mut self.has_comments, false);
        self.write(&schema, depth.max(2) - 1, hops - 1, &mut body);
        self.has_comments = has_comments;
        if body.len() <= SMALL && !body.contains(&reserved) {
            self.types.release(&reserved);
            text.push_str(&body);
            return;
        }
        let declared = format!("type {reserved} = {body};\n");
        self.types.declare(&reserved, declared);
        text.push_str(&reserved);
    }
}

//! A schema and its definitions.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::rc::Rc;

use indexmap::IndexMap;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// A schema that was read once, to be declared many times. Its definitions are read when they are needed.
#[derive(Debug)]
pub struct SchemaText {
    text: Box<str>,
    root: Value,
    /// Where their texts are.
    definitions: HashMap<String, Range<usize>>,
    /// Those that have been read.
    read: RefCell<HashMap<String, Definition>>,
}

/// A schema, and where it comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    namespace: &'a str,
    schema: &'a SchemaText,
}

/// A definition, and what distinguishes it from others of the same name.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) schema: Rc<Value>,
    pub(super) hash: u64,
}

impl SchemaText {
    /// Reads JSON. What cannot be read is a schema that says nothing.
    #[must_use]
    pub fn read(text: String) -> Self {
        let text = text.into_boxed_str();
        let (root, definitions) = parts(&text);
        Self {
            text,
            root,
            definitions,
            read: RefCell::default(),
        }
    }

    /// How long the text is.
    #[must_use]
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// The schema itself, and where its definitions are.
fn parts(text: &str) -> (Value, HashMap<String, Range<usize>>) {
    let mut definitions: HashMap<Cow<'_, str>, &RawValue> = HashMap::new();
    let members: Option<IndexMap<Cow<'_, str>, &RawValue>> = serde_json::from_str(text).ok();
    let mut root = Map::new();
    let mut root_text = String::from("{");
    for (key, member) in members.into_iter().flatten() {
        if key == "$defs" || key == "definitions" {
            let found: Option<HashMap<Cow<'_, str>, &RawValue>> =
                serde_json::from_str(member.get()).ok();
            definitions.extend(found.into_iter().flatten());
        } else if let Ok(value) = serde_json::from_str(member.get()) {
            if root_text.len() > 1 {
                root_text.push(',');
            }
            root_text.push_str(&Value::from(&*key).to_string());
            root_text.push(':');
            root_text.push_str(member.get());
            root.insert(key.into_owned(), value);
        }
    }
    root_text.push('}');
    // A schema that contains itself is there twice: as the root, and under its name.
    if let Some((name, _)) = definitions.iter().find(|(_, text)| text.get() == root_text) {
        let pointer = name
            .replace('~', "~0")
            .replace('/', "~1")
            .replace('%', "%25");
        root.clear();
        root.insert("$ref".to_owned(), format!("#/$defs/{pointer}").into());
    }
    let definitions = definitions.into_iter().map(|(name, member)| {
        // The text of a member is a part of the whole text.
        let start = member.get().as_ptr().addr() - text.as_ptr().addr();
        (name.into_owned(), start..start + member.get().len())
    });
    (Value::Object(root), definitions.collect())
}

impl<'a> Scope<'a> {
    pub(super) fn new(schema: &'a SchemaText, namespace: &'a str) -> Self {
        Self { namespace, schema }
    }

    pub(super) fn root(&self) -> &'a Value {
        &self.schema.root
    }

    pub(super) fn namespace(&self) -> &'a str {
        self.namespace
    }

    /// What a reference leads to, and its name.
    pub(super) fn definition(&self, reference: &str) -> Option<(String, Definition)> {
        let SchemaText {
            text,
            definitions,
            read,
            ..
        } = self.schema;
        let pointer = reference
            .strip_prefix("#/$defs/")
            .or_else(|| reference.strip_prefix("#/definitions/"))?;
        let decoded = percent_encoding::percent_decode_str(pointer).decode_utf8_lossy();
        let name = decoded.replace("~1", "/").replace("~0", "~");
        if let Some(known) = read.borrow().get(&name) {
            return Some((name, known.clone()));
        }
        let text = text.get(definitions.get(name.as_str())?.clone())?;
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let definition = Definition {
            schema: Rc::new(serde_json::from_str(text).ok()?),
            hash: hasher.finish(),
        };
        read.borrow_mut().insert(name.clone(), definition.clone());
        Some((name, definition))
    }
}

//! A schema and its definitions.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

use indexmap::IndexMap;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// A schema, and the definitions that it may refer to, which are read when they are needed.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    namespace: &'a str,
    root: Value,
    definitions: HashMap<Cow<'a, str>, &'a RawValue>,
    /// Those that have been read.
    read: RefCell<HashMap<String, Definition>>,
}

/// A definition, and what tells it from others of the same name.
#[derive(Debug, Clone)]
pub(super) struct Definition {
    pub(super) schema: Rc<Value>,
    pub(super) hash: u64,
}

impl<'a> Scope<'a> {
    /// What cannot be read is a schema that says nothing.
    pub(super) fn read(text: &'a str, namespace: &'a str) -> Self {
        let mut definitions = HashMap::new();
        let members: Option<IndexMap<Cow<'a, str>, &'a RawValue>> = serde_json::from_str(text).ok();
        let mut root = Map::new();
        let mut root_text = String::from("{");
        for (key, member) in members.into_iter().flatten() {
            if key == "$defs" || key == "definitions" {
                let found: Option<HashMap<Cow<'a, str>, &'a RawValue>> =
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
        Self {
            namespace,
            root: Value::Object(root),
            definitions,
            read: RefCell::default(),
        }
    }

    pub(super) fn root(&self) -> &Value {
        &self.root
    }

    pub(super) fn namespace(&self) -> &'a str {
        self.namespace
    }

    /// What a reference leads to, and its name.
    pub(super) fn definition(&self, reference: &str) -> Option<(String, Definition)> {
        let pointer = reference
            .strip_prefix("#/$defs/")
            .or_else(|| reference.strip_prefix("#/definitions/"))?;
        let decoded = percent_encoding::percent_decode_str(pointer).decode_utf8_lossy();
        let name = decoded.replace("~1", "/").replace("~0", "~");
        if let Some(known) = self.read.borrow().get(&name) {
            return Some((name, known.clone()));
        }
        let text = self.definitions.get(name.as_str())?.get();
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let definition = Definition {
            schema: Rc::new(serde_json::from_str(text).ok()?),
            hash: hasher.finish(),
        };
        self.read
            .borrow_mut()
            .insert(name.clone(), definition.clone());
        Some((name, definition))
    }
}

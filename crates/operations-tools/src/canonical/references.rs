//! Where references lead, and what their targets are called.

use std::collections::{HashMap, HashSet};

use percent_encoding::percent_decode_str;
use serde_json::Value;

/// The references of one document.
pub(super) struct References<'d> {
    document: &'d Value,
    /// Schemas by `$id`, `$anchor` and their like; collected when one is asked for.
    named: Option<HashMap<String, &'d Value>>,
    /// The name of each target, by its address in memory: two ways to write one reference are one.
    names: HashMap<*const Value, String>,
    taken: HashSet<String>,
    /// How many references lead to each name.
    pub(super) uses: HashMap<String, usize>,
    /// Targets that have not been read: name, schema, and a JSON Pointer to it.
    pub(super) waiting: Vec<(String, &'d Value, String)>,
}

impl<'d> References<'d> {
    pub(super) fn new(document: &'d Value) -> Self {
        Self {
            document,
            named: None,
            names: HashMap::new(),
            taken: HashSet::new(),
            uses: HashMap::new(),
            waiting: Vec::new(),
        }
    }

    /// The name of what a reference at a place leads to; nothing if it leads nowhere.
    pub(super) fn name_of(&mut self, reference: &str, at: &str) -> Option<String> {
        let target = self.resolve(reference)?;
        let key = std::ptr::from_ref(target);
        let name = if let Some(name) = self.names.get(&key) {
            name.clone()
        } else {
            let name = self.definition_name(reference);
            self.names.insert(key, name.clone());
            // A name of its own, not a pointer: then the place of the first use must do.
            let place = reference
                .strip_prefix('#')
                .filter(|rest| rest.starts_with('/'));
            let place = place.unwrap_or(if reference == "#" { "" } else { at });
            self.waiting.push((name.clone(), target, place.to_owned()));
            name
        };
        *self.uses.entry(name.clone()).or_default() += 1;
        Some(name)
    }

    fn resolve(&mut self, reference: &str) -> Option<&'d Value> {
        if reference == "#" || reference.is_empty() {
            return Some(self.document);
        }
        if let Some(pointer) = reference
            .strip_prefix('#')
            .filter(|rest| rest.starts_with('/'))
        {
            return pointed(self.document, pointer);
        }
        let document = self.document;
        let named = self.named.get_or_insert_with(|| {
            let mut named = HashMap::new();
            collect_names(document, &mut named);
            named
        });
        if let Some(found) = named.get(reference) {
            return Some(found);
        }
        let (base, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        if let Some(found) = named.get(base) {
            return pointed(found, pointer);
        }
        // TypeBox's modules refer to their definitions by name alone.
        ["$defs", "definitions"]
            .iter()
            .find_map(|key| document.get(key)?.get(reference))
    }

    /// The last part of what a target is called: `DeploymentSpec` for `io.k8s.api.apps.v1.DeploymentSpec`.
    fn definition_name(&mut self, reference: &str) -> String {
        let last = reference.rsplit('/').next().unwrap_or_default();
        let short = last.rsplit('.').next().unwrap_or_default();
        let mut name: String = short
            .trim_start_matches('#')
            .chars()
            .take(48)
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect();
        if name.is_empty() || name.chars().all(|c| c == '_') {
            "Root".clone_into(&mut name);
        }
        let mut candidate = name.clone();
        let mut number = 1;
        while !self.taken.insert(candidate.clone()) {
            number += 1;
            candidate = format!("{name}_{number}");
        }
        candidate
    }
}

/// Every schema of a document that has a name of its own.
fn collect_names<'d>(value: &'d Value, named: &mut HashMap<String, &'d Value>) {
    match value {
        Value::Object(node) => {
            for (key, prefix) in [
                ("$id", ""),
                ("id", ""),
                ("$anchor", "#"),
                ("$dynamicAnchor", "#"),
            ] {
                if let Some(name) = node.get(key).and_then(Value::as_str) {
                    named.entry(format!("{prefix}{name}")).or_insert(value);
                }
            }
            for entry in node.values() {
                collect_names(entry, named);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, named)),
        _ => {}
    }
}

/// What a JSON Pointer, written as a fragment, leads to.
fn pointed<'d>(document: &'d Value, pointer: &str) -> Option<&'d Value> {
    document.pointer(pointer).or_else(|| {
        let decoded = percent_decode_str(pointer).decode_utf8().ok()?;
        document.pointer(&decoded)
    })
}

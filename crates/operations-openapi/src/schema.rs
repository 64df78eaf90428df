//! Self-contained schemas: what an operation needs of a document, copied so that it stands alone.
//!
//! Every schema that is referred to becomes one entry of `$defs`, however often and from wherever it
//! is meant, so a copy is never larger than the document times its depth, and recursion costs
//! nothing. The outermost reference of each part is replaced by what it means, because people and
//! language models read a schema from the top.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::bounds::MAX_SCHEMA_NODES;
use super::document::{At, Document};
use super::keywords::{Kind, is_annotation, is_illustration, kind_of, repair};
use super::read_write_only::{Direction, read_write_only_properties};
use super::schema_rules::{accept_null, accept_wide, count, definition_name, demand};
use super::scope::{Scope, Sink, identity, mentions_reference, walk};
use super::tree::{Members, Tree};
use operations_core::error::CallError;
use operations_http::message::Keep;

/// How a copy is to differ from its original.
#[derive(Debug, Clone, Copy)]
pub(super) struct Purpose {
    pub(super) direction: Direction,
    /// Whether a binary string may be given as bytes, a file or a stream, as in a multipart body.
    pub(super) binary_is_free: bool,
    /// What else than a number an int64 may be.
    pub(super) int64: Option<Keep>,
}

/// Copies schemas of one document into one self-contained schema.
pub(super) struct Copier<'d> {
    document: &'d Document,
    purpose: Purpose,
    names: HashMap<usize, String>,
    definitions: Vec<At<'d>>,
    nodes: usize,
}

/// The references of a schema, resolved.
struct Targets<'s, 'd> {
    scope: &'s Scope<'d>,
    found: Vec<(At<'d>, String)>,
}

impl Sink for Targets<'_, '_> {
    fn reference(&mut self, reference: &str, _: &str) {
        if let Ok(target) = self.scope.resolve(reference) {
            self.found.push((target, reference.to_owned()));
        }
    }
}

impl<'d> Copier<'d> {
    /// Finds everything that the roots refer to and names it.
    pub(super) fn new(document: &'d Document, purpose: Purpose, roots: &[At<'d>]) -> Self {
        let mut copier = Self {
            document,
            purpose,
            names: HashMap::new(),
            definitions: Vec::new(),
            nodes: 0,
        };
        let mut used = HashMap::new();
        for root in roots {
            if let Ok(root) = Scope::settle(document, root.clone()) {
                copier.name_targets(root, &mut used);
            }
        }
        let mut next = 0;
        while let Some(definition) = copier.definitions.get(next).cloned() {
            copier.name_targets(definition, &mut used);
            next += 1;
        }
        copier
    }

    fn name_targets(&mut self, at: At<'d>, used: &mut HashMap<String, usize>) {
        let value = at.value;
        let scope = Scope::new(self.document, at);
        let mut targets = Targets {
            scope: &scope,
            found: Vec::new(),
        };
        walk(
            value,
            scope.siblings_count(),
            &mut String::new(),
            &mut targets,
        );
        for (target, reference) in targets.found {
            if let std::collections::hash_map::Entry::Vacant(slot) =
                self.names.entry(identity(target.value))
            {
                slot.insert(definition_name(&reference, used));
                self.definitions.push(target);
            }
        }
    }

    /// The copy of a root, its own reference replaced by what it means.
    pub(super) fn copy_root(&mut self, root: &At<'d>) -> Result<Value, CallError> {
        let Ok(settled) = Scope::settle(self.document, root.clone()) else {
            return Ok(json!({}));
        };
        let mut copy = self.copy_settled(&settled)?;
        // What stands beside the reference describes this use of the schema better.
        if let (Value::Object(copy), Some(original)) = (&mut copy, root.object())
            && identity(settled.value) != identity(root.value)
        {
            for (keyword, value) in original.iter() {
                if is_annotation(keyword) && !mentions_reference(value) {
                    self.charge(1)?;
                    copy.insert(keyword.to_owned(), value.to_value());
                }
            }
        }
        Ok(copy)
    }

    fn copy_settled(&mut self, at: &At<'d>) -> Result<Value, CallError> {
        let scope = Scope::new(self.document, at.clone());
        let copy = self.copy(at.value, &scope, &HashSet::new())?;
        Ok(copy.unwrap_or_else(|| json!({})))
    }

    /// The `$defs` that the copies of the roots refer to.
    pub(super) fn definitions(mut self) -> Result<Map<String, Value>, CallError> {
        let mut definitions = Map::new();
        for at in std::mem::take(&mut self.definitions) {
            let copy = self.copy_settled(&at)?;
            if let Some(name) = self.names.get(&identity(at.value)) {
                definitions.insert(name.clone(), copy);
            }
        }
        Ok(definitions)
    }

    fn charge(&mut self, nodes: usize) -> Result<(), CallError> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAX_SCHEMA_NODES {
            return Err(CallError::invalid(format!(
                "The schema of the operation has more than {MAX_SCHEMA_NODES} values"
            )));
        }
        Ok(())
    }

    fn copy(
        &mut self,
        value: &'d Tree,
        scope: &Scope<'d>,
        outer_excluded: &HashSet<&'d str>,
    ) -> Result<Option<Value>, CallError> {
        self.charge(1)?;
        match value {
            Tree::Object(object) if object.get("$ref").is_some_and(Tree::is_string) => {
                self.copy_reference(object, scope).map(Some)
            }
            Tree::Object(object) => self.copy_object(object, scope, outer_excluded).map(Some),
            Tree::Bool(value) => Ok(Some(Value::Bool(*value))),
            _ => Ok(None),
        }
    }

    fn copy_reference(
        &mut self,
        object: &'d Members,
        scope: &Scope<'d>,
    ) -> Result<Value, CallError> {
        if scope.siblings_count() {
            return self.copy_object(object, scope, &HashSet::new());
        }
        let mut copy = Map::new();
        for (keyword, value) in object.iter() {
            match keyword {
                "$ref" => self.point(&mut copy, value, scope),
                keyword if is_annotation(keyword) && !mentions_reference(value) => {
                    let value = value.to_value();
                    self.charge(count(&value))?;
                    copy.insert(keyword.to_owned(), value);
                }
                _ => {}
            }
        }
        Ok(accept_null(copy, object))
    }

    /// Writes the reference to a definition. One that leads nowhere is left out: anything goes there.
    fn point(&self, copy: &mut Map<String, Value>, reference: &Tree, scope: &Scope<'d>) {
        let target = reference.as_str().and_then(|text| scope.resolve(text).ok());
        if let Some(name) = target.and_then(|at| self.names.get(&identity(at.value))) {
            copy.insert("$ref".to_owned(), format!("#/$defs/{name}").into());
        }
    }

    fn copy_object(
        &mut self,
        object: &'d Members,
        scope: &Scope<'d>,
        outer_excluded: &HashSet<&'d str>,
    ) -> Result<Value, CallError> {
        let mut excluded = read_write_only_properties(object, scope, self.purpose.direction);
        self.charge(excluded.looked_at / 16)?;
        excluded.names.extend(outer_excluded);
        let mut copy = Map::new();
        for (keyword, value) in object.iter() {
            let kind = kind_of(keyword);
            let copied = match kind {
                Kind::SchemaOrSchemas if value.is_array() => {
                    self.copy_list(value, scope, &HashSet::new())?
                }
                Kind::Schema | Kind::SchemaOrSchemas => self.copy(value, scope, &HashSet::new())?,
                Kind::Schemas if keyword == "allOf" => {
                    self.copy_list(value, scope, &excluded.names)?
                }
                Kind::Schemas => self.copy_list(value, scope, &HashSet::new())?,
                Kind::Named if keyword == "patternProperties" => {
                    let document = self.document;
                    self.copy_named(value, scope, |pattern| document.can_run(pattern))?
                }
                Kind::Named | Kind::Dependencies => self.copy_named(value, scope, |_| true)?,
                // A rule that no engine can apply would take the whole operation with it.
                Kind::Text
                    if keyword == "pattern"
                        && !value
                            .as_str()
                            .is_some_and(|text| self.document.can_run(text)) =>
                {
                    None
                }
                Kind::Left => None,
                Kind::Reference => {
                    self.point(&mut copy, value, scope);
                    None
                }
                Kind::Discriminator => self.copy_discriminator(value, scope)?,
                Kind::Required => {
                    repair(kind, value).and_then(|names| demand(names, &excluded.names))
                }
                Kind::Data if is_illustration(keyword) && mentions_reference(value) => None,
                _ => repair(kind, value),
            };
            if let Some(copied) = copied {
                if !matches!(
                    kind,
                    Kind::Schema | Kind::SchemaOrSchemas | Kind::Schemas | Kind::Named
                ) {
                    self.charge(count(&copied))?;
                }
                copy.insert(keyword.to_owned(), copied);
            }
        }
        self.free_binary(&mut copy, object);
        let copy = match self.purpose.int64 {
            Some(keep) => accept_wide(copy, keep),
            None => copy,
        };
        Ok(accept_null(copy, object))
    }

    /// A file is not a string to the caller, whatever the document calls it.
    fn free_binary(&self, copy: &mut Map<String, Value>, object: &Members) {
        let word = |key: &str| object.get(key).and_then(Tree::as_str);
        if word("type") == Some("file") {
            copy.insert("format".to_owned(), "binary".into());
        }
        let raw = word("format") == Some("binary")
            || (word("contentMediaType").is_some() && word("contentEncoding").is_none());
        if self.purpose.binary_is_free && raw && word("type") == Some("string") {
            copy.shift_remove("type");
        }
    }

    fn copy_list(
        &mut self,
        value: &'d Tree,
        scope: &Scope<'d>,
        outer_excluded: &HashSet<&'d str>,
    ) -> Result<Option<Value>, CallError> {
        let mut list = Vec::new();
        for item in value.as_array().into_iter().flatten() {
            list.extend(self.copy(item, scope, outer_excluded)?);
        }
        Ok((!list.is_empty()).then_some(Value::Array(list)))
    }

    fn copy_named(
        &mut self,
        value: &'d Tree,
        scope: &Scope<'d>,
        keeps: impl Fn(&str) -> bool,
    ) -> Result<Option<Value>, CallError> {
        let Some(members) = value.as_object() else {
            return Ok(None);
        };
        let mut copy = Map::new();
        for (name, member) in members.iter().filter(|(name, _)| keeps(name)) {
            let copied = match member {
                // A list of names, in `dependencies`.
                Tree::Array(_) => Some(member.to_value()),
                _ => self.copy(member, scope, &HashSet::new())?,
            };
            copy.insert(name.to_owned(), copied.unwrap_or(Value::Bool(true)));
        }
        Ok(Some(Value::Object(copy)))
    }

    /// The mapping names schemas; those that are not part of the copy are no use in it.
    fn copy_discriminator(
        &mut self,
        value: &Tree,
        scope: &Scope<'d>,
    ) -> Result<Option<Value>, CallError> {
        let Some(object) = value.as_object() else {
            // Swagger 2.0: the name of the property.
            return Ok(value.is_string().then(|| value.to_value()));
        };
        self.charge(count(&value.to_value()))?;
        let point = |target: &Tree| {
            let at = scope.resolve(target.as_str()?).ok()?;
            let name = self.names.get(&identity(at.value))?;
            Some(Value::from(format!("#/$defs/{name}")))
        };
        let mut copy = Map::new();
        for (key, inner) in object.iter() {
            let copied = match (key, inner) {
                ("mapping", Tree::Object(mapping)) => {
                    let kept: Map<String, Value> = mapping
                        .iter()
                        .filter_map(|(word, target)| Some((word.to_owned(), point(target)?)))
                        .collect();
                    (!kept.is_empty()).then_some(Value::Object(kept))
                }
                ("mapping", _) => None,
                ("defaultMapping", target) => point(target),
                _ => (!mentions_reference(inner)).then(|| inner.to_value()),
            };
            if let Some(copied) = copied {
                copy.insert(key.to_owned(), copied);
            }
        }
        Ok(Some(Value::Object(copy)))
    }
}

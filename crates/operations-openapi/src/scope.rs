//! References between schemas, and the walk that finds them.

use super::bounds::MAX_REFERENCE_CHAIN;
use super::document::{At, Document};
use super::keywords::{Kind, is_annotation, is_schema, is_well_formed, kind_of};
use super::pointer;
use super::tree::{Members, Tree};
use super::version::Version;

/// The schema within which references are read: a component, or a schema that stands in an
/// operation.
#[derive(Clone)]
pub(super) struct Scope<'d> {
    document: &'d Document,
    root: At<'d>,
}

/// What identifies a schema: a document does not move while it is read.
pub(super) fn identity(value: &Tree) -> usize {
    std::ptr::from_ref(value).addr()
}

impl<'d> Scope<'d> {
    pub(super) fn new(document: &'d Document, root: At<'d>) -> Self {
        Self { document, root }
    }

    /// The scope of another schema of the same document.
    pub(super) fn at(&self, root: At<'d>) -> Self {
        Self::new(self.document, root)
    }

    /// The schema that a reference means, aliases followed.
    pub(super) fn resolve(&self, reference: &str) -> Result<At<'d>, String> {
        let mut target = self.resolve_once(reference)?;
        for _ in 0..MAX_REFERENCE_CHAIN {
            if !is_schema(target.value) {
                return Err(format!("{reference:?} does not lead to a schema"));
            }
            let Some(next) = self.alias(target.value) else {
                return Ok(target);
            };
            target = Self::new(self.document, target).resolve_once(next)?;
        }
        Err(format!("{reference:?} leads only back to itself"))
    }

    /// The schema that stands where `at` is, aliases followed.
    pub(super) fn settle(document: &'d Document, at: At<'d>) -> Result<At<'d>, String> {
        let scope = Self::new(document, at);
        match scope.alias(scope.root.value) {
            Some(next) => scope.resolve(next),
            None => Ok(scope.root),
        }
    }

    /// The reference of a schema that is nothing else.
    fn alias(&self, value: &'d Tree) -> Option<&'d str> {
        let object = value.as_object()?;
        let reference = object.get("$ref")?.as_str()?;
        let alone = object.keys().all(|key| {
            key == "$ref"
                || (!self.siblings_count() && key != "nullable" && key != "x-nullable")
                || is_annotation(key)
        });
        alone.then_some(reference)
    }

    /// Whether the schema engine can use this pattern.
    pub(super) fn can_run(&self, pattern: &str) -> bool {
        self.document.can_run(pattern)
    }

    /// Whether keywords beside `$ref` mean something.
    pub(super) fn siblings_count(&self) -> bool {
        self.document.version() >= Version::OpenApi31
    }

    fn resolve_once(&self, reference: &str) -> Result<At<'d>, String> {
        if reference == "#" {
            return Ok(self.root.clone());
        }
        let own = reference
            .strip_prefix('#')
            .filter(|rest| rest.starts_with('/'));
        if let Some(inside) = own
            && self.root.string("$id").is_some()
            && let Some(found) = self.inside(inside)
        {
            return Ok(found);
        }
        match self.document.resolve(reference, self.root.part) {
            Ok(found) => Ok(found),
            Err(reason) => own
                .and_then(|inside| self.inside(inside))
                .or_else(|| self.component(reference))
                .ok_or(reason),
        }
    }

    /// A pointer from the root of this schema, as it is written in schemas that were pasted in.
    fn inside(&self, fragment: &str) -> Option<At<'d>> {
        let pointer = pointer::from_fragment(fragment);
        Some(At {
            value: pointer::look_up(self.root.value, &pointer)?,
            part: self.root.part,
            pointer: format!("{}{pointer}", self.root.pointer),
        })
    }

    /// The component of this name: how discriminators and careless references say it.
    fn component(&self, name: &str) -> Option<At<'d>> {
        let start = self.document.start();
        match self.document.version() {
            Version::Swagger2 => start.get("definitions")?.get(name),
            _ => start.get("components")?.get("schemas")?.get(name),
        }
    }
}

/// Someone who wants to know what is in a schema.
pub(super) trait Sink {
    /// A reference, and where it is.
    fn reference(&mut self, reference: &str, pointer: &str);
    /// A keyword that does not have the form it must have, and where it is.
    fn malformed(&mut self, _keyword: &str, _pointer: &str) {}
    /// A regular expression, and where it is.
    fn pattern(&mut self, _pattern: &str, _pointer: &str) {}
}

/// Visits a schema and the schemas inside it, not those behind references. The depth is that of the
/// document, which the parsers limit.
pub(super) fn walk(value: &Tree, siblings: bool, at: &mut String, sink: &mut impl Sink) {
    let Some(object) = value.as_object() else {
        return;
    };
    let alone = !siblings && object.get("$ref").is_some_and(Tree::is_string);
    for (keyword, inner) in object.iter() {
        if alone && keyword != "$ref" {
            continue;
        }
        let kind = kind_of(keyword);
        if !is_well_formed(kind, inner) {
            sink.malformed(keyword, at);
        }
        match kind {
            Kind::Reference => {
                if let Some(reference) = inner.as_str() {
                    sink.reference(reference, at);
                }
            }
            Kind::Schema | Kind::SchemaOrSchemas | Kind::Schemas => match inner {
                Tree::Array(list) if kind != Kind::Schema => {
                    for (index, item) in list.iter().enumerate() {
                        step(item, &[keyword, &index.to_string()], siblings, at, sink);
                    }
                }
                Tree::Object(_) if kind != Kind::Schemas => {
                    step(inner, &[keyword], siblings, at, sink);
                }
                _ => {}
            },
            Kind::Text if keyword == "pattern" => {
                if let Some(pattern) = inner.as_str() {
                    sink.pattern(pattern, at);
                }
            }
            Kind::Named | Kind::Dependencies => {
                let are_patterns = keyword == "patternProperties";
                for (name, item) in inner.as_object().into_iter().flat_map(Members::iter) {
                    if are_patterns {
                        sink.pattern(name, at);
                    }
                    step(item, &[keyword, name], siblings, at, sink);
                }
            }
            _ => {}
        }
    }
}

fn step(value: &Tree, tokens: &[&str], siblings: bool, at: &mut String, sink: &mut impl Sink) {
    let length = at.len();
    for token in tokens {
        at.push('/');
        at.push_str(&pointer::escape(token));
    }
    walk(value, siblings, at, sink);
    at.truncate(length);
}

/// Whether data holds something that looks like a reference.
pub(super) fn mentions_reference(value: &Tree) -> bool {
    match value {
        Tree::Array(items) => items.iter().any(mentions_reference),
        Tree::Object(entries) => has_reference(entries) || entries.values().any(mentions_reference),
        _ => false,
    }
}

fn has_reference(entries: &Members) -> bool {
    entries.get("$ref").is_some_and(Tree::is_string)
}

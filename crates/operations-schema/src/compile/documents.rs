//! Schema resources: where `$ref` and its relatives lead.

use std::collections::HashMap;

use super::draft::Draft;
use super::metaschema;
use super::place::{PlaceMap, place_of};
use super::uri::{join, percent_decode, split_fragment};
use super::{CompileOptions, Registry};
use crate::keywords::{Holds, holds};
use crate::pointer::unescape;
use crate::source::{Flags, Source, SourceObject};

/// A schema resource: a document, or a part of one with an `$id` of its own.
pub(super) struct Resource<'a> {
    root: &'a Source<'a>,
    base: String,
    pub(super) draft: Draft,
    /// The vocabulary of types, bounds and the like is in use.
    pub(super) validates: bool,
    anchors: HashMap<&'a str, &'a Source<'a>>,
    pub(super) dynamic_anchors: HashMap<&'a str, &'a Source<'a>>,
}

/// All resources that are known so far.
pub(super) struct Documents<'a> {
    registry: &'a Registry,
    default_draft: Draft,
    pub(super) resources: Vec<Resource<'a>>,
    by_uri: HashMap<String, u32>,
    by_place: PlaceMap<u32>,
}

/// The name under which `$recursiveAnchor: true` is kept; no anchor can be called that.
pub(super) const RECURSIVE: &str = "#";

/// Whether JSON Schema rules apply to an object of a document.
pub(super) fn is_json_schema(object: &SourceObject<'_>) -> bool {
    object.kind.is_none() || object.flags.has(Flags::JSON_SCHEMA)
}

impl<'a> Documents<'a> {
    pub(super) fn new(options: &'a CompileOptions) -> Self {
        let default_draft = if options.openapi {
            Draft::Draft7
        } else {
            options.default_draft
        };
        Self {
            registry: &options.documents,
            default_draft,
            resources: Vec::new(),
            by_uri: HashMap::new(),
            by_place: PlaceMap::default(),
        }
    }

    pub(super) fn resource(&self, id: u32) -> Option<&Resource<'a>> {
        self.resources.get(id as usize)
    }

    pub(super) fn draft(&self, id: u32) -> Draft {
        self.resource(id)
            .map_or(self.default_draft, |resource| resource.draft)
    }

    /// The resource that begins at this place, if one does.
    pub(super) fn starting_at(&self, source: &Source<'_>) -> Option<u32> {
        self.by_place.get(&place_of(source)).copied()
    }

    /// Takes in a document that has no URI from outside.
    pub(super) fn add_root(&mut self, root: &'a Source<'a>) -> u32 {
        let base = format!("document://{}/", self.resources.len());
        self.add(root, &base)
    }

    /// Takes in a document and finds the resources and anchors inside.
    fn add(&mut self, document: &'a Source<'a>, uri: &str) -> u32 {
        let root = self.open(document, uri, self.default_draft);
        let mut open = vec![(document, root)];
        while let Some((source, owner)) = open.pop() {
            let Some(object) = source.as_object().filter(|object| is_json_schema(object)) else {
                continue;
            };
            let owner = self.enter(source, object, owner);
            // Children go on the stack in reverse, so that the first of equal names wins.
            for (key, value) in object.entries.iter().rev() {
                match holds(key) {
                    Holds::Schema | Holds::Schemas | Holds::SchemaOrSchemas => match value {
                        Source::Array(items) => {
                            open.extend(items.iter().rev().map(|item| (item, owner)));
                        }
                        other => open.push((other, owner)),
                    },
                    Holds::Named | Holds::Definitions | Holds::Dependencies => {
                        if let Some(map) = value.as_object() {
                            open.extend(map.entries.iter().rev().map(|(_, item)| (item, owner)));
                        }
                    }
                    Holds::Number | Holds::Other => {}
                }
            }
        }
        root
    }

    /// Notes what an object says about itself; gives the resource of what is inside.
    fn enter(&mut self, source: &'a Source<'a>, object: &'a SourceObject<'a>, owner: u32) -> u32 {
        let draft = self.own_draft(object).unwrap_or_else(|| self.draft(owner));
        let mut owner = owner;
        if draft.reference_stands_alone() && object.string("$ref").is_some() {
            return owner;
        }
        if let Some(id) = object.string(draft.id_keyword()) {
            let (uri, fragment) = split_fragment(id);
            if !uri.is_empty() && self.starting_at(source).is_none() {
                let base = self.resource(owner).map(|resource| resource.base.clone());
                owner = self.open(source, &base.unwrap_or_default(), self.draft(owner));
            } else if let Some(here) = self.starting_at(source) {
                owner = here;
            }
            if !fragment.is_empty() && !draft.is_modern() {
                self.anchor(owner, fragment, source);
            }
        }
        if self.draft(owner).is_modern() {
            if let Some(name) = object.string("$anchor") {
                self.anchor(owner, name, source);
            }
            if let Some(name) = object.string("$dynamicAnchor") {
                self.anchor(owner, name, source);
                self.dynamic_anchor(owner, name, source);
            }
            if object.get("$recursiveAnchor") == Some(&Source::Bool(true)) {
                self.dynamic_anchor(owner, RECURSIVE, source);
            }
        }
        owner
    }

    fn anchor(&mut self, owner: u32, name: &'a str, source: &'a Source<'a>) {
        if let Some(resource) = self.resources.get_mut(owner as usize) {
            resource.anchors.entry(name).or_insert(source);
        }
    }

    fn dynamic_anchor(&mut self, owner: u32, name: &'a str, source: &'a Source<'a>) {
        if let Some(resource) = self.resources.get_mut(owner as usize) {
            resource.dynamic_anchors.entry(name).or_insert(source);
        }
    }

    /// Begins a resource. `uri` is where the document came from, or the base around the resource;
    /// its own id is relative to that.
    fn open(&mut self, root: &'a Source<'a>, uri: &str, inherited: Draft) -> u32 {
        let object = root.as_object();
        let draft = object
            .and_then(|object| self.own_draft(object))
            .unwrap_or(inherited);
        let mut base = uri.to_owned();
        let own_id = object
            .filter(|object| !(draft.reference_stands_alone() && object.string("$ref").is_some()))
            .and_then(|object| object.string(draft.id_keyword()));
        if let Some(id) = own_id {
            let own = split_fragment(id).0;
            if !own.is_empty() {
                base = join(uri, own);
            }
        }
        let id = u32::try_from(self.resources.len()).unwrap_or(u32::MAX);
        let validates = object.is_none_or(|object| self.validates(object));
        self.by_uri.entry(uri.to_owned()).or_insert(id);
        self.by_uri.entry(base.clone()).or_insert(id);
        self.by_place.insert(place_of(root), id);
        self.resources.push(Resource {
            root,
            base,
            draft,
            validates,
            anchors: HashMap::new(),
            dynamic_anchors: HashMap::new(),
        });
        id
    }

    /// The draft that `$schema` names, perhaps through a meta-schema of the user's own.
    fn own_draft(&self, object: &SourceObject<'_>) -> Option<Draft> {
        let mut uri = object.string("$schema")?;
        // A meta-schema has a meta-schema; a chain longer than this is not meant seriously.
        for _ in 0..8 {
            if let Some(draft) = Draft::from_meta_schema(uri) {
                return Some(draft);
            }
            uri = self.in_registry(uri)?.as_object()?.string("$schema")?;
        }
        None
    }

    fn in_registry(&self, uri: &str) -> Option<&'a Source<'a>> {
        self.registry.get(split_fragment(uri).0)
    }

    /// Whether the meta-schema's `$vocabulary`, if it has one, includes validation.
    fn validates(&self, object: &SourceObject<'_>) -> bool {
        let vocabulary = object
            .string("$schema")
            .and_then(|uri| self.in_registry(uri))
            .and_then(|document| document.as_object()?.get("$vocabulary")?.as_object());
        vocabulary.is_none_or(|words| {
            words
                .entries
                .iter()
                .any(|(word, _)| word.ends_with("/vocab/validation"))
        })
    }

    /// Where a reference leads: the schema and the resource that it is in.
    pub(super) fn resolve(&mut self, reference: &str, from: u32) -> Option<(&'a Source<'a>, u32)> {
        let (uri, fragment) = split_fragment(reference);
        let target = if uri.is_empty() {
            from
        } else {
            self.find(&join(&self.resource(from)?.base, uri))?
        };
        let fragment = percent_decode(fragment);
        let resource = self.resource(target)?;
        if fragment.is_empty() {
            return Some((resource.root, target));
        }
        if fragment.starts_with('/') {
            return self.follow(&fragment, target);
        }
        resource
            .anchors
            .get(&*fragment)
            .map(|source| (*source, target))
    }

    fn find(&mut self, uri: &str) -> Option<u32> {
        if let Some(id) = self.by_uri.get(uri) {
            return Some(*id);
        }
        let document = self.registry.get(uri).or_else(|| metaschema::find(uri))?;
        Some(self.add(document, uri))
    }

    /// Walks a JSON Pointer, noticing where another resource begins.
    fn follow(&self, pointer: &str, from: u32) -> Option<(&'a Source<'a>, u32)> {
        let mut source = self.resource(from)?.root;
        let mut owner = from;
        for segment in pointer.split('/').skip(1) {
            let segment = unescape(segment);
            source = match source {
                Source::Object(object) => object.get(&segment)?,
                Source::Array(items) => items.get(segment.parse::<usize>().ok()?)?,
                _ => return None,
            };
            owner = self.starting_at(source).unwrap_or(owner);
        }
        Some((source, owner))
    }
}

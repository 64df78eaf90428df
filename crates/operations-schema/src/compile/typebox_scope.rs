//! Where TypeBox's `Ref` and `This` lead.
//!
//! TypeBox keeps a list of the schemas with an `$id` that it has visited, and takes the first of a
//! name. `Import` adds its definitions for what is inside. The same is known here before any value
//! is: a scope is the tree of a root or of an Import, and its ids count in document order.

use super::place::{PlaceMap, place_of};
use crate::source::Source;

pub(super) const ROOT_SCOPE: u32 = 0;

struct Scope<'a> {
    parent: Option<u32>,
    root: &'a Source<'a>,
    /// Filled when a reference first needs it.
    ids: Option<Vec<(usize, &'a str, &'a Source<'a>)>>,
    /// Where in the parent's order this scope begins.
    position: usize,
}

/// All scopes of a schema.
pub(super) struct Scopes<'a> {
    scopes: Vec<Scope<'a>>,
    /// The position of every Import in the order of its scope.
    imports: PlaceMap<usize>,
}

impl<'a> Scopes<'a> {
    pub(super) fn new(root: &'a Source<'a>) -> Self {
        let root = Scope {
            parent: None,
            root,
            ids: None,
            position: 0,
        };
        Self {
            scopes: vec![root],
            imports: PlaceMap::default(),
        }
    }

    /// The scope inside an Import.
    pub(super) fn enter_import(&mut self, import: &'a Source<'a>, parent: u32) -> u32 {
        self.index(parent);
        let position = self
            .imports
            .get(&place_of(import))
            .copied()
            .unwrap_or(usize::MAX);
        self.scopes.push(Scope {
            parent: Some(parent),
            root: import,
            ids: None,
            position,
        });
        u32::try_from(self.scopes.len() - 1).unwrap_or(ROOT_SCOPE)
    }

    /// The schema with this `$id`: the outermost scope first, and of outer scopes only what comes
    /// before the Import.
    pub(super) fn find(&mut self, id: &str, scope: u32) -> Option<(&'a Source<'a>, u32)> {
        let mut chain = vec![(scope, usize::MAX)];
        let mut at = scope;
        while let Some(Scope {
            parent: Some(parent),
            position,
            ..
        }) = self.scopes.get(at as usize)
        {
            chain.push((*parent, *position));
            at = *parent;
        }
        for (candidate, before) in chain.into_iter().rev() {
            self.index(candidate);
            let ids = self.scopes.get(candidate as usize)?.ids.as_ref()?;
            let found = ids
                .iter()
                .find(|(position, name, _)| *name == id && *position < before);
            if let Some((_, _, source)) = found {
                return Some((*source, candidate));
            }
        }
        None
    }

    fn index(&mut self, scope: u32) {
        let Some(entry) = self.scopes.get(scope as usize) else {
            return;
        };
        if entry.ids.is_some() {
            return;
        }
        let root = entry.root;
        let mut ids = definitions(root);
        let mut position = 0;
        let mut open = vec![root];
        while let Some(source) = open.pop() {
            position += 1;
            match source {
                Source::Array(items) => open.extend(items.iter().rev()),
                Source::Object(object) => {
                    let is_root = std::ptr::eq(source, root);
                    let is_import = object.kind.as_deref() == Some("Import");
                    if object.kind.is_some()
                        && let Some(id) = object.string("$id")
                        && !(is_root && is_import)
                    {
                        ids.push((position, id, source));
                    }
                    if is_import && !is_root {
                        self.imports.insert(place_of(source), position);
                        continue;
                    }
                    open.extend(object.entries.iter().rev().map(|(_, value)| value));
                }
                _ => {}
            }
        }
        // The root of the whole schema may itself be an Import.
        self.imports.entry(place_of(root)).or_insert(0);
        if let Some(entry) = self.scopes.get_mut(scope as usize) {
            entry.ids = Some(ids);
        }
    }
}

/// The definitions of an Import are known all at once, before anything inside is visited.
fn definitions<'a>(root: &'a Source<'a>) -> Vec<(usize, &'a str, &'a Source<'a>)> {
    let import = root
        .as_object()
        .filter(|object| object.kind.as_deref() == Some("Import"));
    let map = import
        .and_then(|object| object.get("$defs"))
        .and_then(Source::as_object);
    let each = map.map_or(&[][..], |map| &map.entries);
    each.iter()
        .filter_map(|(_, source)| Some((0, source.as_object()?.string("$id")?, source)))
        .collect()
}

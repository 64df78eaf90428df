//! All operations and how each is called; which of them a request is for; what of them the document shows to whom.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use bytes::Bytes;
use http::Method;
use operations_core::access::Identity;
use operations_core::error::CallError;
use operations_core::lock::locked;
use serde_json::Value;

use super::descriptor::OperationDescriptor;
use super::document::{self, About};
use super::route::Route;
use crate::description_cache;

/// Cached documents, for callers with different rights.
const KEPT_DOCUMENTS: usize = 16;
/// Where the document is, below the door.
pub(super) const DOCUMENT: &str = "/openapi.json";

/// The routes of a registry, at one time.
#[derive(Debug)]
pub struct Routes {
    revision: u64,
    operations: Vec<OperationDescriptor>,
    /// One for each operation.
    ways: Vec<Route>,
    /// By the number of segments; those with fewer variables, and with later ones, first.
    by_length: HashMap<usize, Vec<usize>>,
    documents: Mutex<HashMap<Vec<bool>, Bytes>>,
}

/// Which route a request is for.
#[derive(Debug)]
pub(super) enum Found<'r, 'p> {
    /// This one, of this operation, with the raw values of its variables.
    Route(&'r OperationDescriptor, &'r Route, Vec<(&'r str, &'p str)>),
    /// Only other methods are known here.
    OtherMethods(Vec<Method>),
    /// None.
    Nothing,
}

impl Routes {
    /// Decides how operations are called.
    ///
    /// `POST <namespace>/<name>` is its operation's. Of imported ones that want the same place, the first gets it, and the
    /// others are called by name; so are those whose path differs from another in the names of its variables only.
    #[must_use]
    pub fn new(operations: Vec<OperationDescriptor>, revision: u64) -> Self {
        let mut taken: HashSet<(Method, String)> = HashSet::new();
        let mut spelling: HashMap<String, String> = HashMap::new();
        let by_name: Vec<Route> = operations
            .iter()
            .map(|operation| {
                let plain = Route::plain(operation);
                spelling.insert(plain.shape(), plain.path.clone());
                taken.insert((plain.method.clone(), plain.shape()));
                let imported = operation.request.is_some();
                let flat = Route::flat(operation).filter(|_| !imported);
                if let Some(flat) = &flat {
                    taken.insert((flat.method.clone(), flat.shape()));
                }
                flat.unwrap_or(plain)
            })
            .collect();
        taken.insert((Method::GET, DOCUMENT.to_owned()));
        let mut by_length: HashMap<usize, Vec<usize>> = HashMap::new();
        let routes: Vec<Route> = operations
            .iter()
            .zip(by_name)
            .enumerate()
            .map(|(index, (operation, by_name))| {
                let imported = Route::imported(operation).filter(|route| {
                    let shape = route.shape();
                    let is_spelt = spelling
                        .entry(shape.clone())
                        .or_insert_with(|| route.path.clone());
                    *is_spelt == route.path && taken.insert((route.method.clone(), shape))
                });
                let route = imported.unwrap_or(by_name);
                by_length
                    .entry(route.segments.len())
                    .or_default()
                    .push(index);
                route
            })
            .collect();
        let shapes: Vec<Vec<bool>> = routes
            .iter()
            .map(|route| {
                let segments = route.segments.iter();
                let is_variable =
                    |segment| matches!(segment, &super::route::Segment::Variable { .. });
                segments.map(is_variable).collect()
            })
            .collect();
        for list in by_length.values_mut() {
            list.sort_by_key(|index| shapes.get(*index));
        }
        Self {
            revision,
            operations,
            ways: routes,
            by_length,
            documents: Mutex::default(),
        }
    }

    /// The operations that a caller may call, as far as the rules can be checked here.
    pub(crate) fn ids_for(
        &self,
        identity: Option<&Identity>,
        is_served: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let shown = self.operations.iter().filter(|each| each.is_for(identity));
        shown
            .map(OperationDescriptor::id)
            .filter(|id| is_served(id))
            .collect()
    }

    /// The schema of an operation's input.
    pub(super) fn input(&self, id: &str) -> Option<&Value> {
        let operation = self.operations.iter().find(|each| each.id() == id)?;
        operation.input.as_ref()
    }

    /// The route for a path below the door.
    pub(super) fn find<'r, 'p>(
        &'r self,
        method: &Method,
        path: &'p str,
        is_served: impl Fn(&str) -> bool,
    ) -> Found<'r, 'p> {
        let Some(path) = path.strip_prefix('/') else {
            return Found::Nothing;
        };
        let path: Vec<&str> = path.split('/').collect();
        let mut others = Vec::new();
        for index in self.by_length.get(&path.len()).into_iter().flatten() {
            let (Some(route), Some(operation)) =
                (self.ways.get(*index), self.operations.get(*index))
            else {
                continue;
            };
            let Some(variables) = route.variables(&path) else {
                continue;
            };
            if !is_served(&operation.id()) {
                continue;
            }
            if route.method == *method {
                return Found::Route(operation, route, variables);
            }
            others.push(route.method.clone());
        }
        if others.is_empty() {
            return Found::Nothing;
        }
        Found::OtherMethods(others)
    }

    /// All operations, each with its method and its path below the door.
    pub(crate) fn operations(&self) -> impl Iterator<Item = (&OperationDescriptor, &Method, &str)> {
        let all = self.operations.iter().zip(&self.ways);
        all.map(|(operation, way)| (operation, &way.method, way.path.as_str()))
    }

    /// The document about those operations that are shown.
    #[must_use]
    pub fn document(
        &self,
        about: &About,
        is_shown: impl Fn(&OperationDescriptor) -> bool,
    ) -> Value {
        let operations = self.operations.iter().zip(&self.ways);
        document::of(
            operations.filter(|(operation, _)| is_shown(operation)),
            about,
        )
    }

    /// The same as bytes, for a caller: what they may call and what is served.
    pub(super) fn document_for(
        &self,
        identity: Option<&Identity>,
        about: &About,
        is_served: impl Fn(&str) -> bool,
    ) -> Bytes {
        let shown: Vec<bool> = self
            .operations
            .iter()
            .map(|operation| operation.is_for(identity) && is_served(&operation.id()))
            .collect();
        if let Some(document) = locked(&self.documents).get(&shown) {
            return document.clone();
        }
        let operations = self.operations.iter().zip(&self.ways).zip(&shown);
        let operations = operations
            .filter(|(_, is_shown)| **is_shown)
            .map(|(operation, _)| operation);
        let document = Bytes::from(document::of(operations, about).to_string());
        let mut documents = locked(&self.documents);
        if documents.len() >= KEPT_DOCUMENTS {
            documents.clear();
        }
        documents.insert(shown, document.clone());
        document
    }
}

impl description_cache::FromDescription for Routes {
    const REQUEST: &'static str = r#"{"describe":"http"}"#;

    fn read(text: &str, revision: u64) -> Result<Self, CallError> {
        OperationDescriptor::read_all(text).map(|operations| Self::new(operations, revision))
    }

    fn revision(&self) -> u64 {
        self.revision
    }
}

//! All operations and how each is called; which of them a request is for; what of them the document shows to whom.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Method;
use operations_core::access::Identity;
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
    operations: Vec<Arc<Routed>>,
    /// One for each operation.
    ways: Vec<Arc<Route>>,
    /// By the number of segments; those with fewer variables, and with later ones, first.
    by_length: HashMap<usize, Vec<usize>>,
    documents: Mutex<HashMap<Vec<bool>, Bytes>>,
}

/// An operation, and the ways in which it could be called.
#[derive(Debug)]
pub struct Routed {
    operation: OperationDescriptor,
    plain: Arc<Route>,
    /// As it was imported, or else with query parameters.
    own: Option<Arc<Route>>,
}

impl Routed {
    /// Looks at its schema.
    #[must_use]
    pub fn new(operation: OperationDescriptor) -> Self {
        let own = match operation.request {
            Some(_) => Route::imported(&operation),
            None => Route::flat(&operation),
        };
        Self {
            plain: Arc::new(Route::plain(&operation)),
            own: own.map(Arc::new),
            operation,
        }
    }
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
    pub fn new(operations: Vec<Arc<Routed>>, revision: u64) -> Self {
        let mut taken: HashSet<(Method, String)> = HashSet::new();
        let mut spelling: HashMap<String, String> = HashMap::new();
        let is_imported = |each: &Routed| each.operation.request.is_some();
        for each in &operations {
            let plain = &each.plain;
            spelling.insert(plain.shape(), plain.path.clone());
            taken.insert((plain.method.clone(), plain.shape()));
            if let Some(flat) = each.own.as_ref().filter(|_| !is_imported(each)) {
                taken.insert((flat.method.clone(), flat.shape()));
            }
        }
        taken.insert((Method::GET, DOCUMENT.to_owned()));
        let mut by_length: HashMap<usize, Vec<usize>> = HashMap::new();
        let routes: Vec<Arc<Route>> = operations
            .iter()
            .enumerate()
            .map(|(index, each)| {
                let own = each.own.as_ref().filter(|route| {
                    if !is_imported(each) {
                        return true;
                    }
                    let shape = route.shape();
                    let is_spelt = spelling
                        .entry(shape.clone())
                        .or_insert_with(|| route.path.clone());
                    *is_spelt == route.path && taken.insert((route.method.clone(), shape))
                });
                let route = Arc::clone(own.unwrap_or(&each.plain));
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
        let shown = self.described().filter(|each| each.is_for(identity));
        shown
            .map(OperationDescriptor::id)
            .filter(|id| is_served(id))
            .collect()
    }

    fn described(&self) -> impl Iterator<Item = &OperationDescriptor> {
        self.operations.iter().map(|each| &each.operation)
    }

    /// The schema of an operation's input.
    pub(super) fn input(&self, id: &str) -> Option<Value> {
        let operation = self.described().find(|each| each.id() == id)?;
        OperationDescriptor::schema(operation.input.as_deref())
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
            let (Some(route), Some(Routed { operation, .. })) = (
                self.ways.get(*index),
                self.operations.get(*index).map(|each| &**each),
            ) else {
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
        let all = self.described().zip(&self.ways);
        all.map(|(operation, way)| (operation, &way.method, way.path.as_str()))
    }

    /// The document about those operations that are shown.
    #[must_use]
    pub fn document(
        &self,
        about: &About,
        is_shown: impl Fn(&OperationDescriptor) -> bool,
    ) -> String {
        let operations = self.described().zip(self.ways.iter().map(|way| &**way));
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
            .described()
            .map(|operation| operation.is_for(identity) && is_served(&operation.id()))
            .collect();
        if let Some(document) = locked(&self.documents).get(&shown) {
            return document.clone();
        }
        let operations = self.described().zip(&self.ways).zip(&shown);
        let operations = operations
            .filter(|(_, is_shown)| **is_shown)
            .map(|((operation, way), _)| (operation, &**way));
        let document = Bytes::from(document::of(operations, about));
        let mut documents = locked(&self.documents);
        if documents.len() >= KEPT_DOCUMENTS {
            documents.clear();
        }
        documents.insert(shown, document.clone());
        document
    }
}

impl description_cache::FromDescription for Routes {
    type Item = Routed;
    const KIND: &'static str = r#""http""#;

    fn item(text: &str) -> Result<Routed, serde_json::Error> {
        serde_json::from_str(text).map(Routed::new)
    }

    fn of(items: &[Arc<Routed>], revision: u64) -> Self {
        Self::new(items.to_vec(), revision)
    }

    fn revision(&self) -> u64 {
        self.revision
    }
}

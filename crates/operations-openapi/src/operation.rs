//! An operation of a document, finished or in the making.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::bounds::{OPERATION_COST, PARAMETER_COST};
use super::document::{At, Document};
use super::graph::Graph;
use super::keywords::is_schema;
use super::recipe::{InputRecipe, Source, build_output};
use super::report::{Problem, Reason};
use super::security::Security;
use super::version::Version;
use operations_core::error::CallError;
use operations_core::spec::OperationType;
use operations_http::message::{HttpOperation, Keep};
use operations_schema::work::Budget;

/// An operation that was read from a document. It keeps the document alive, because its schemas are
/// made from it when they are asked for.
#[derive(Debug, Clone)]
pub struct ImportedOperation {
    /// The name, which no other operation of the import has.
    pub name: String,
    /// The namespace, where it has its own.
    pub namespace: Option<String>,
    /// The version of the document.
    pub version: String,
    /// What calling it means.
    pub operation_type: OperationType,
    /// The `operationId`, if the document has one.
    pub operation_id: Option<String>,
    /// A line about it.
    pub summary: Option<String>,
    /// What it does: the description, else the summary, else method and path.
    pub description: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// Whether the document advises against it.
    pub deprecated: bool,
    /// What calling it takes: the request, the servers (its own, else those of its path, else those of
    /// the document) and the kind of response.
    pub http: Arc<HttpOperation>,
    /// The credentials that it asks for.
    pub security: Security,
    /// Where in the document it is, as a JSON Pointer.
    pub pointer: String,
    pub(super) input: InputRecipe,
    pub(super) output: Source,
    pub(super) document: Document,
}

impl ImportedOperation {
    /// The schema of the input: a property per parameter, and `body`.
    ///
    /// # Errors
    ///
    /// `VALIDATION_ERROR` when the schema would be too large.
    pub fn input_schema(&self) -> Result<Value, CallError> {
        self.input
            .build(&self.document, self.keep())
            .map_err(|error| self.name_in(error))
    }

    /// The names of the input's properties and what is said about them, and the same of the objects in
    /// them: a schema as JSON, but not all of it.
    #[must_use]
    pub fn input_outline(&self) -> String {
        self.input.outline(&self.document)
    }

    /// The schema of the output; one that allows everything when the document says nothing.
    ///
    /// # Errors
    ///
    /// `VALIDATION_ERROR` when the schema would be too large.
    pub fn output_schema(&self) -> Result<Value, CallError> {
        build_output(&self.output, &self.document, self.keep()).map_err(|error| self.name_in(error))
    }

    fn keep(&self) -> Option<Keep> {
        Some(self.http.int64.as_ref()?.keep)
    }

    fn name_in(&self, error: CallError) -> CallError {
        CallError::new(error.code, format!("{} ({})", error.message, self.name))
            .with_details(json!({ "operation": self.name, "pointer": self.pointer }))
    }

    /// What an adapter remembers of the operation: method, path and summary, at least.
    fn meta(&self) -> Map<String, Value> {
        let mut meta = Map::new();
        let mut put = |key: &str, value: Value| meta.insert(key.to_owned(), value);
        put("method", self.http.request.method.as_str().into());
        put("path", self.http.request.path.as_str().into());
        put(
            "summary",
            self.summary.as_deref().unwrap_or_default().into(),
        );
        if let Some(id) = &self.operation_id {
            put("operationId", id.as_str().into());
        }
        if self.deprecated {
            put("deprecated", true.into());
        }
        if !self.security.is_empty() {
            put("security", json!(&*self.security));
        }
        meta
    }

    /// What a spec holds besides its namespace and its schemas.
    #[must_use]
    pub fn head(&self) -> OperationHead<'_> {
        OperationHead {
            namespace: self.namespace.as_deref(),
            is_served: self.http.is_served,
            name: &self.name,
            version: &self.version,
            operation_type: self.operation_type,
            title: self.summary.as_deref(),
            description: &self.description,
            tags: &self.tags,
            meta: self.meta(),
        }
    }
}

/// What a spec holds besides its namespace and its schemas.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationHead<'i> {
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'i str>,
    /// Whether it is an operation of a server of ours.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_served: bool,
    name: &'i str,
    version: &'i str,
    #[serde(rename = "type")]
    operation_type: OperationType,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'i str>,
    description: &'i str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    tags: &'i [String],
    /// What an adapter remembers.
    #[serde(rename = "_meta")]
    pub meta: Map<String, Value>,
}

/// Problems that are kept per operation; more of the same do not help.
const MAX_PROBLEMS: usize = 20;

/// An operation in the making: what is wrong with it, and the schemas that it uses.
pub(super) struct Draft<'g, 'd> {
    pub(super) version: Version,
    pub(super) problems: Vec<Problem>,
    pub(super) schemas: Vec<usize>,
    /// Whether the import has reached its limit.
    pub(super) over: bool,
    document: &'d Document,
    pointer: String,
    graph: &'g mut Graph<'d>,
    budget: &'g mut Budget,
}

impl<'g, 'd> Draft<'g, 'd> {
    pub(super) fn new(
        document: &'d Document,
        pointer: &str,
        graph: &'g mut Graph<'d>,
        budget: &'g mut Budget,
    ) -> Self {
        let over = budget
            .spend((OPERATION_COST + pointer.len()) as u64)
            .is_err();
        Self {
            version: document.version(),
            problems: Vec::new(),
            schemas: Vec::new(),
            over,
            document,
            pointer: pointer.to_owned(),
            graph,
            budget,
        }
    }

    /// Notes something that could not be understood.
    pub(super) fn degrade(&mut self, code: Reason, at: &At<'_>, reason: impl Into<String>) {
        let pointer = self.document.locate(at);
        self.note(Problem::new(code, &pointer, reason));
    }

    /// The same, about the operation itself.
    pub(super) fn degrade_here(&mut self, code: Reason, reason: impl Into<String>) {
        self.note(Problem::new(code, &self.pointer, reason));
    }

    fn note(&mut self, problem: Problem) {
        if self.problems.len() < MAX_PROBLEMS {
            self.charge(problem.pointer.len() + problem.reason.len());
            self.problems.push(problem);
        }
    }

    /// Notes that the operation uses a schema of the document.
    pub(super) fn uses(&mut self, at: At<'d>) {
        self.charge(at.pointer.len());
        let id = self.graph.add(at);
        self.schemas.push(id);
    }

    /// Where a schema is to be taken from. One that is not a schema is noted, and anything goes.
    pub(super) fn source_of(&mut self, schema: Option<At<'d>>, otherwise: &str) -> Source {
        match schema {
            Some(schema) if is_schema(schema.value) => {
                self.uses(schema.clone());
                Source::at(&schema)
            }
            Some(other) => {
                self.degrade(Reason::Schema, &other, otherwise);
                Source::Unknown
            }
            None => Source::Unknown,
        }
    }

    /// Counts what the operation keeps.
    pub(super) fn charge(&mut self, cost: usize) {
        self.over |= self.budget.spend(cost as u64).is_err();
    }

    /// Counts a parameter; false when there is no room for it.
    pub(super) fn charge_parameter(&mut self) -> bool {
        self.charge(PARAMETER_COST);
        !self.over
    }
}

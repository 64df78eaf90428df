//! From a document to its operations.

use std::collections::HashMap;
use std::sync::Arc;

use super::assemble::{Assembled, Assembly, Spot};
use super::bounds::import_budget;
use super::choices::{Candidate, Chooser, ImportChoices};
use super::document::{At, Document};
use super::graph::Graph;
use super::names::{Names, own_name};
use super::operation::{Draft, ImportedOperation};
use super::origin::{Origin, is_alias};
use super::path_item::{Keyed, PathItem};
use super::recipe::build_output;
use super::report::{Problem, Reason, ReportEntry, Status};
use super::security::{self, Security};
use super::servers;
use super::survey::tags_of;
use super::tree::Tree;
use super::version::Version;
use operations_http::message::{HttpOperation, Int64, LazySchema, Server};
use operations_schema::work::Budget;

/// What came of a document.
#[derive(Debug, Clone)]
pub struct Import {
    /// The operations, in the document's order.
    pub operations: Vec<ImportedOperation>,
    /// What became of each operation of the document, those that are missing included.
    pub report: Vec<ReportEntry>,
}

/// Reads the operations of a document. What cannot be read is in the report.
#[must_use]
pub fn import(document: &Document, choices: &ImportChoices) -> Import {
    let mut importer = Importer::new(document, choices);
    let paths = document.start().get("paths");
    for (path, at) in paths.iter().flat_map(At::entries) {
        if path.starts_with("x-") {
            continue;
        }
        match PathItem::read(document, path, at.clone()) {
            Ok(item) => importer.path(&item),
            Err(problem) => importer.skip(None, None, path, &at.pointer, problem),
        }
    }
    importer.finish()
}

struct Importer<'d, 'c> {
    document: &'d Document,
    chooser: Chooser<'c>,
    version: String,
    base_path: String,
    servers: Arc<[Server]>,
    security: Security,
    /// By namespace, where operations have their own.
    names: HashMap<Option<String>, Names>,
    graph: Graph<'d>,
    budget: Budget,
    operations: Vec<ImportedOperation>,
    report: Vec<ReportEntry>,
    /// For each entry of the report, the schemas that the operation uses.
    schemas: Vec<Vec<usize>>,
}

impl<'d, 'c> Importer<'d, 'c> {
    fn new(document: &'d Document, choices: &'c ImportChoices) -> Self {
        let start = document.start();
        let info_version = start.get("info").and_then(|info| info.get("version"));
        let version = match info_version.map(|at| at.value) {
            Some(Tree::String(text)) if !text.trim().is_empty() => text.trim().to_owned(),
            Some(Tree::Number(number)) => number.to_string(),
            _ => "1.0.0".to_owned(),
        };
        let base_path = match (document.version(), start.string("basePath")) {
            (Version::Swagger2, Some(base)) => base_path(base),
            _ => String::new(),
        };
        Self {
            document,
            chooser: Chooser::new(choices),
            version,
            base_path,
            servers: servers::of_document(document),
            security: security::of_list(document, &start).unwrap_or_else(|| Arc::from([])),
            names: HashMap::new(),
            graph: Graph::new(document),
            budget: import_budget(document),
            operations: Vec::new(),
            report: Vec::new(),
            schemas: Vec::new(),
        }
    }

    fn path(&mut self, item: &PathItem<'d>) {
        for keyed in item.operations() {
            let misuse = keyed.misuse();
            let is_wanted = keyed.is_one_of(&self.chooser.methods);
            let Keyed {
                method,
                pointer,
                at,
                ..
            } = keyed;
            let (code, reason) = if let Some(misuse) = misuse {
                (Reason::Malformed, misuse.to_owned())
            } else if is_wanted {
                match self.document.follow(at) {
                    Ok(operation) if operation.value.is_object() => {
                        self.operation(&Spot {
                            item,
                            operation,
                            method,
                            pointer,
                        });
                        continue;
                    }
                    Ok(_) => (
                        Reason::Malformed,
                        "the operation is not an object".to_owned(),
                    ),
                    Err(reason) => (Reason::Reference, reason),
                }
            } else {
                (Reason::Filtered, "the method was not asked for".to_owned())
            };
            let problem = Problem::new(code, &pointer, reason);
            self.skip(None, Some(method), item.path, &pointer, problem);
        }
    }

    fn operation(&mut self, spot: &Spot<'_, 'd>) {
        if is_alias(&spot.operation) {
            return;
        }
        let operation_id = spot.operation.string("operationId");
        let path = spot.item.path;
        let tags = tags_of(&spot.operation);
        let origin = Origin::of(&spot.operation);
        let own = origin.as_ref().map_or_else(
            || own_name(operation_id, &spot.method, path),
            |origin| origin.name.to_owned(),
        );
        let namespace = self.chooser.namespace_of(origin.as_ref());
        let answer = self.chooser.answer(&spot.method, path);
        let renamed = answer.and_then(|answer| answer.name.as_deref());
        let wanted = renamed.filter(|name| !name.is_empty()).unwrap_or(&own);
        let names = self.names.entry(namespace.clone());
        let names = names.or_insert_with(|| Names::new(self.chooser.max_name_length()));
        let name = names.take(wanted, &spot.method, path);
        let candidate = Candidate {
            name: &name,
            operation_id,
            method: &spot.method,
            path,
            tags: &tags,
        };
        if let Some(reason) = self.chooser.leaves_out(&candidate, answer) {
            return self.skip_named(name, spot, Reason::Filtered, reason);
        }
        let prefer_json = self.chooser.prefers_json(answer);
        let mut draft = Draft::new(
            self.document,
            &spot.pointer,
            &mut self.graph,
            &mut self.budget,
        );
        let assembled = Assembly {
            document: self.document,
            base_path: &self.base_path,
            spot,
            prefer_json,
        }
        .run(&mut draft);
        draft.charge(tags.iter().map(|tag| tag.len() + 24).sum());
        let security = security::of_list(self.document, &spot.operation)
            .unwrap_or_else(|| Arc::clone(&self.security));
        draft.charge(security::size(&security));
        let (problems, schemas, over) = (draft.problems, draft.schemas, draft.over);
        if over {
            let reason =
                "the import has grown too large; this operation and what follows it are left out";
            return self.skip_named(name, spot, Reason::Limit, reason);
        }
        let servers = servers::of_list(spot.operation.get("servers").as_ref())
            .or_else(|| servers::of_list(spot.item.get("servers").as_ref()));
        let int64 = self.int64(&assembled);
        self.operations.push(ImportedOperation {
            name: name.clone(),
            version: self.version.clone(),
            operation_type: assembled.operation_type,
            operation_id: operation_id.map(str::to_owned),
            description: assembled.description,
            summary: assembled.summary,
            tags: tags.into_iter().map(str::to_owned).collect(),
            deprecated: spot.operation.flag("deprecated"),
            http: Arc::new(HttpOperation {
                name: name.clone(),
                request: assembled.request,
                servers: servers.unwrap_or_else(|| Arc::clone(&self.servers)),
                response: assembled.response,
                int64,
                is_served: origin.is_some(),
                namespace: namespace.clone(),
            }),
            namespace,
            security,
            pointer: spot.pointer.clone(),
            input: assembled.input,
            output: assembled.output,
            document: self.document.clone(),
        });
        let status = if problems.is_empty() {
            Status::Imported
        } else {
            Status::Degraded
        };
        self.report.push(ReportEntry {
            status,
            name: Some(name),
            method: Some(spot.method.clone()),
            path: path.to_owned(),
            pointer: spot.pointer.clone(),
            problems,
        });
        self.schemas.push(schemas);
    }

    /// Where large integers are kept, if they are to be.
    fn int64(&self, assembled: &Assembled) -> Option<Arc<Int64>> {
        let keep = self.chooser.int64()?;
        let (input, output) = (assembled.input.clone(), assembled.output.clone());
        let (for_input, for_output) = (self.document.clone(), self.document.clone());
        Some(Arc::new(Int64 {
            keep,
            input: LazySchema::of(move || input.build(&for_input, None).unwrap_or_default()),
            output: LazySchema::of(move || {
                build_output(&output, &for_output, None).unwrap_or_default()
            }),
        }))
    }

    fn skip_named(&mut self, name: String, spot: &Spot<'_, 'd>, code: Reason, reason: &str) {
        let problem = Problem::new(code, &spot.pointer, reason);
        let method = Some(spot.method.clone());
        self.skip(Some(name), method, spot.item.path, &spot.pointer, problem);
    }

    fn skip(
        &mut self,
        name: Option<String>,
        method: Option<String>,
        path: &str,
        pointer: &str,
        problem: Problem,
    ) {
        self.report.push(ReportEntry {
            status: Status::Skipped,
            name,
            method,
            path: path.to_owned(),
            pointer: pointer.to_owned(),
            problems: vec![problem],
        });
        self.schemas.push(Vec::new());
    }

    /// Adds what is wrong with the schemas, which is known only when all of them have been seen.
    fn finish(mut self) -> Import {
        let problems = self.graph.problems();
        for (entry, schemas) in self.report.iter_mut().zip(self.schemas) {
            let found = schemas
                .into_iter()
                .find_map(|id| problems.get(id)?.as_deref().cloned());
            if let Some(problem) = found {
                entry.problems.push(problem);
                entry.status = Status::Degraded;
            }
        }
        self.operations.shrink_to_fit();
        Import {
            operations: self.operations,
            report: self.report,
        }
    }
}

/// A base path with a slash before it and none behind it.
fn base_path(base: &str) -> String {
    let base = base.trim().trim_matches('/');
    if base.is_empty() {
        String::new()
    } else {
        format!("/{base}")
    }
}

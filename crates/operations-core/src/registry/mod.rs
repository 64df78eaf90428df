//! Operations, and the way to call them without the host: look-up, access, input, handler, envelope, normalise, check,
//! over JSON. The facade has the same pipeline for calls that begin in JavaScript (`facade/registry/`).
//!
//! The registry of the host is the one that users fill. This one is made when that one is first served, and follows it.

mod body_stream;
mod handler;
mod operation;
mod output;
mod reports;
mod served;
mod target;
mod warnings;
mod watched;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, RwLock};

use indexmap::IndexMap;
use operations_schema::{Program, ValueError};
use serde_json::{Value, json};
use tokio::sync::watch;

pub use body_stream::{BodyStream, BodyStreamSlot};
pub use handler::{APPROVAL, Call, Context, Envelope, Handler, Outcome, Produced};
pub use operation::{HostOnly, Made, Operation, OutputMode, Schema, Work};
pub use reports::Reports;
pub use served::{Answer, Served};
pub use target::Target;
pub use watched::Wants;

use crate::limits::{Limited, Limiter};
use crate::lock::{reading, writing};
use crate::log::Logger;
use crate::trace;
use warnings::Warnings;

/// How many errors are reported about one value. `facade/schema/compiled.ts` has the same number.
const MAX_ERRORS: usize = 1000;

/// What is wrong with a value: line by line, and as JSON.
fn format_errors(errors: &[ValueError]) -> (String, Value) {
    let lines: Vec<String> = errors
        .iter()
        .map(|error| format!("  - {}: {}", shown(&error.path), error.message))
        .collect();
    let errors = errors
        .iter()
        .map(|error| json!({ "path": error.path, "message": error.message }))
        .collect();
    (lines.join("\n"), errors)
}

/// The path of the whole value is empty, which reads as a slip.
pub(crate) fn shown(path: &str) -> &str {
    if path.is_empty() {
        "(whole value)"
    } else {
        path
    }
}

/// Operations by id, in the order of registration.
#[derive(Debug)]
pub struct Registry {
    operations: RwLock<IndexMap<String, Arc<Operation>>>,
    output: OutputMode,
    warnings: Warnings,
    /// Formats that the host checks with functions of its users.
    host_formats: RwLock<HashSet<String>>,
    /// The limits of operations that have some, by id.
    limits: RwLock<HashMap<String, Limited>>,
    /// A counter of changes, for caches of what was here.
    revision: watch::Sender<u64>,
    /// What the host observes of calls ([`Wants`]), and where its reports wait.
    wants: AtomicU8,
    /// Whether an operation trades the tokens of callers for those of its service.
    wants_caller_tokens: AtomicBool,
    reports: RwLock<Option<Arc<Reports>>>,
}

/// Who is to do a call.
#[derive(Debug)]
pub enum Route {
    /// The host: the call is handed to it as it came.
    Host,
    /// This registry.
    Here(Box<Served>),
}

impl Registry {
    /// An empty registry.
    #[must_use]
    pub fn new(output: OutputMode, logger: Logger) -> Self {
        Self {
            operations: RwLock::default(),
            output,
            warnings: Warnings::new(logger),
            host_formats: RwLock::default(),
            limits: RwLock::default(),
            revision: watch::Sender::default(),
            wants: AtomicU8::default(),
            wants_caller_tokens: AtomicBool::default(),
            reports: RwLock::default(),
        }
    }

    /// Handlers get the tokens of callers from now on.
    pub fn want_caller_tokens(&self) {
        self.wants_caller_tokens.store(true, Ordering::Relaxed);
    }

    /// Whether a handler needs the tokens of callers. Otherwise they go nowhere.
    #[must_use]
    pub fn wants_caller_tokens(&self) -> bool {
        self.wants_caller_tokens.load(Ordering::Relaxed)
    }

    /// Reports calls that run natively from now on.
    pub fn report(&self, wants: Wants, reports: &Arc<Reports>) {
        *writing(&self.reports) = Some(Arc::clone(reports));
        self.wants.store(wants.bits(), Ordering::Release);
    }

    /// Who gets reports about a call that begins now, and which.
    fn reporting(&self) -> Option<(Wants, Arc<Reports>)> {
        let wants = Wants::from_bits(self.wants.load(Ordering::Acquire));
        if wants == Wants::default() {
            return None;
        }
        reading(&self.reports)
            .as_ref()
            .map(|reports| (wants, Arc::clone(reports)))
    }

    /// How often something has changed, for those who keep what they made of it, or wait for a change.
    #[must_use]
    pub fn revision(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    fn touch(&self) {
        self.revision.send_modify(|revision| *revision += 1);
    }

    /// Takes an operation in, in place of the one with the same id.
    pub fn set(&self, operation: Operation) {
        let id = operation.spec.id();
        // A panic cannot leave the map half changed: each use is a single operation on it. What was replaced is dropped when
        // the lock is free: it may call back.
        let _replaced = writing(&self.operations).insert(id, Arc::new(operation));
        self.touch();
    }

    /// Forgets an operation. Running calls go on.
    pub fn remove(&self, id: &str) {
        let removed = writing(&self.operations).shift_remove(id);
        if removed.is_some() {
            self.limit(id, None);
            self.touch();
        }
    }

    /// An operation.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<Arc<Operation>> {
        let operations = reading(&self.operations);
        operations.get(id).map(Arc::clone)
    }

    /// Every operation, in the order of registration.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<Operation>> {
        let operations = reading(&self.operations);
        operations.values().map(Arc::clone).collect()
    }

    /// Sets the limits of an operation. Those of calls that are done here hold here; the host sees to those of its own calls.
    pub fn limit(&self, id: &str, limited: Option<Limited>) {
        let _replaced = match limited {
            Some(limited) => writing(&self.limits).insert(id.to_owned(), limited),
            None => writing(&self.limits).remove(id),
        };
    }

    /// Every set of limits that operations go through, once.
    #[must_use]
    pub fn limiters(&self) -> Vec<Arc<Limiter>> {
        let limits = reading(&self.limits);
        let all = limits.values().flat_map(Limited::limiters);
        let unique: IndexMap<*const Limiter, &Arc<Limiter>> =
            all.map(|each| (Arc::as_ptr(each), each)).collect();
        unique.into_values().map(Arc::clone).collect()
    }

    /// Only the host can check these formats.
    pub fn set_host_formats(&self, names: HashSet<String>) {
        *writing(&self.host_formats) = names;
    }

    fn needs_host(&self, program: Option<&Arc<Program>>) -> bool {
        let host_formats = reading(&self.host_formats);
        !host_formats.is_empty()
            && program.is_some_and(|program| {
                let formats = program.formats().iter();
                formats
                    .into_iter()
                    .any(|format| host_formats.contains(&*format.name))
            })
    }

    /// Whether calls of this operation may be done here. A quick look; [`Registry::route`] has the last word.
    #[must_use]
    pub fn is_native(&self, id: &str) -> bool {
        self.get(id)
            .is_some_and(|operation| matches!(operation.work, Work::Native(_)))
    }

    /// Finds out who is to do a call. What is not known here is the host's to explain. This may compile schemas, so it
    /// is no work for a thread that others wait for.
    #[must_use]
    pub fn route(self: &Arc<Self>, call: Call) -> Route {
        self.served(call)
            .map_or(Route::Host, |served| Route::Here(Box::new(served)))
    }

    fn served(self: &Arc<Self>, call: Call) -> Option<Served> {
        let operation = self.get(&call.operation_id)?;
        let Work::Native(handler) = &operation.work else {
            return None;
        };
        if !handler.takes(&call.context) {
            return None;
        }
        let handler = Arc::clone(handler);
        let input = operation.input.program().ok()?;
        let output = operation.output.program().ok()?;
        if self.needs_host(input.as_ref()) || self.needs_host(output.as_ref()) {
            return None;
        }
        let reporting = self.reporting();
        if let Some((wants, _)) = &reporting
            && wants.has(Wants::SAMPLING)
            && !trace::has_parent(call.context.trace.as_deref())
        {
            return None;
        }
        if let Some((wants, reports)) = &reporting
            && wants.decisions()
            && !reports.takes_decisions()
        {
            return None;
        }
        let limited = reading(&self.limits).get(&call.operation_id).cloned();
        Some(Served {
            reporting,
            registry: Arc::clone(self),
            limited,
            operation,
            handler,
            input,
            output,
            call,
        })
    }
}

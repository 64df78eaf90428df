//! A call that the host observes: what is recorded during the call, and reported when it has ended.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use operations_schema::json::{Json, Object, push_string};

use super::handler::{Context, Produced};
use super::reports::{Kind, Reports};
use super::target::Target;
use crate::access::AccessControl;
use crate::clock;
use crate::envelope::EnvelopeParts;
use crate::error::{CallError, InfrastructureErrorCode};
use crate::spec::OperationType;
use crate::trace::Spans;

/// Details of an error that are longer than this are left out of reports, in bytes.
const MOST_DETAILS: usize = 64 * 1024;

/// What the host observes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wants(u8);

impl Wants {
    /// Calls that have ended.
    pub const CALLS: Self = Self(1);
    /// Callers that were refused.
    pub const DENIALS: Self = Self(2);
    /// Callers that were let in.
    pub const GRANTS: Self = Self(4);
    /// What spans are made of.
    pub const SPANS: Self = Self(8);
    /// The trace is handed on, with the span of the call that goes on as its parent.
    pub const TRACES: Self = Self(16);
    /// Calls that bring no trace go to the host: only it can ask whether to record a new one.
    pub const SAMPLING: Self = Self(32);

    /// As the host says it.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// As one number.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether one of these is wanted.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether decisions about access are.
    #[must_use]
    pub const fn decisions(self) -> bool {
        self.has(Self(Self::DENIALS.0 | Self::GRANTS.0))
    }
}

/// A call from its beginning to its end. One that is dropped before that was ended by its caller.
pub(super) struct Watched {
    reports: Arc<Reports>,
    wants: Wants,
    operation_id: String,
    is_stream: bool,
    request_id: Option<String>,
    parent_request_id: Option<String>,
    identity_id: Option<String>,
    trace: Option<String>,
    via: Option<String>,
    spans: Option<Spans>,
    started_at: f64,
    began: Instant,
    /// To whom the handler has sent its request.
    target: Option<Target>,
    /// When the handler began and ended, in milliseconds from the beginning.
    worked: Option<(f64, Option<f64>)>,
    last: Option<Said>,
    events: u64,
    is_over: bool,
}

/// What an envelope says about where it came from.
struct Said {
    /// JSON.
    source: Option<String>,
    status: Option<u16>,
    is_tool_error: bool,
    has_data: bool,
}

impl Watched {
    /// From now on.
    pub(super) fn new(
        reports: Arc<Reports>,
        wants: Wants,
        operation_id: &str,
        kind: OperationType,
        context: &Context,
    ) -> Self {
        let trace = context.trace.clone();
        Self {
            reports,
            wants,
            operation_id: operation_id.to_owned(),
            is_stream: kind == OperationType::Subscription,
            request_id: context.request_id.clone(),
            parent_request_id: context.parent_request_id.clone(),
            identity_id: context
                .identity
                .as_ref()
                .map(|identity| identity.id.clone()),
            spans: wants
                .has(Wants::SPANS)
                .then(|| Spans::within(trace.as_deref())),
            trace,
            via: context.via.clone(),
            started_at: clock::now(),
            began: Instant::now(),
            target: None,
            worked: None,
            last: None,
            events: 0,
            is_over: false,
        }
    }

    fn elapsed(&self) -> f64 {
        self.began.elapsed().as_secs_f64() * 1_000.0
    }

    /// The rules have decided about the caller.
    pub(super) fn decided(&self, rules: &AccessControl, decision: &Result<(), CallError>) {
        let wanted = match decision {
            Ok(()) => Wants::GRANTS,
            Err(_) => Wants(Wants::GRANTS.0 | Wants::DENIALS.0),
        };
        if !self.wants.has(wanted) {
            return;
        }
        let mut report = Members::new();
        report.string("operationId", Some(&self.operation_id));
        report.string("identityId", self.identity_id.as_deref());
        report.string("requestId", self.request_id.as_deref());
        report.json("at", &clock::now().floor().to_string());
        match decision {
            Ok(()) => report.string("rule", Some(&rules.met())),
            Err(error) => report.error(error),
        }
        self.reports.push(Kind::Decision, report.end());
    }

    /// The handler begins. Gives it the trace that its work goes on with.
    pub(super) fn works(&mut self, context: &mut Context) {
        self.worked = Some((self.elapsed(), None));
        self.target = self.spans.as_ref().map(|_| Target::default());
        context.target.clone_from(&self.target);
        let spans = self.spans.as_ref();
        let spans = spans.filter(|_| self.wants.has(Wants::TRACES));
        context.trace = spans.and_then(Spans::handed_on);
    }

    /// The handler has ended.
    pub(super) fn has_worked(&mut self) {
        let now = self.elapsed();
        if let Some((_, end)) = &mut self.worked {
            *end = Some(now);
        }
    }

    /// The handler has given this.
    pub(super) fn gave(&mut self, produced: &Produced) {
        self.events += 1;
        self.last = Some(Said::of(produced));
    }

    /// Reports it.
    pub(super) fn end(&mut self, error: Option<&CallError>) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        if self.wants.has(Wants(Wants::CALLS.0 | Wants::SPANS.0)) {
            let report = self.report(error);
            self.reports.push(Kind::Call, report);
        }
    }

    fn report(&self, error: Option<&CallError>) -> String {
        let mut report = Members::new();
        report.string("operationId", Some(&self.operation_id));
        report.json(
            "kind",
            if self.is_stream {
                r#""subscription""#
            } else {
                r#""call""#
            },
        );
        report.json("startedAt", &self.started_at.to_string());
        report.json("duration", &self.elapsed().to_string());
        if self.is_stream {
            report.json("events", &self.events.to_string());
        }
        report.string("requestId", self.request_id.as_deref());
        report.string("parentRequestId", self.parent_request_id.as_deref());
        report.string("identityId", self.identity_id.as_deref());
        match (error, &self.last) {
            (Some(error), _) => report.error(error),
            (None, Some(said)) => {
                if let Some(source) = &said.source {
                    report.json("source", source);
                }
                if said.is_tool_error {
                    report.json("isToolError", "true");
                }
            }
            (None, None) => {}
        }
        let mut text = report.end();
        if let Some(spans) = &self.spans {
            text.push(',');
            text.push_str(&self.about_spans(spans));
        }
        text
    }

    /// What spans need beside the report.
    fn about_spans(&self, spans: &Spans) -> String {
        let mut about = Members::new();
        about.string("traceId", Some(&spans.trace_id));
        about.string("incoming", Some(&spans.incoming));
        about.string("outgoing", Some(&spans.outgoing));
        if let Some(trace) = &self.trace {
            about.json("trace", trace);
        }
        if let Some(via) = &self.via {
            about.json("via", via);
        }
        if let Some((began, ended)) = self.worked {
            let ended = ended.unwrap_or_else(|| self.elapsed());
            about.json("worked", &format!("[{began},{ended}]"));
        }
        about.string("target", self.target.as_ref().and_then(Target::get));
        if let Some(said) = &self.last {
            if let Some(status) = said.status {
                about.json("statusCode", &status.to_string());
            }
            about.json("hasData", if said.has_data { "true" } else { "false" });
        }
        about.end()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        self.has_worked();
        if std::thread::panicking() {
            let error = CallError::unknown("The call ended in a panic");
            self.end(Some(&error));
        } else if self.is_stream {
            // A consumer that leaves is no error.
            self.end(None);
        } else {
            let message = format!("Operation {} was aborted", self.operation_id);
            self.end(Some(&CallError::new(
                InfrastructureErrorCode::Aborted,
                message,
            )));
        }
    }
}

impl Said {
    fn of(produced: &Produced) -> Self {
        match produced {
            Produced::Envelope(envelope) => Self::in_meta(&envelope.meta, envelope.data.is_some()),
            Produced::Bytes(_, meta) => Self::in_meta(meta, true),
            Produced::Value(None) => Self::local(false),
            Produced::Value(Some(document)) => {
                let root = document.root();
                match (EnvelopeParts::of(root), root.get("meta")) {
                    (Some(_), Some(meta)) => {
                        Self::in_meta(Json::text(meta), root.get("data").is_some())
                    }
                    _ => Self::local(true),
                }
            }
        }
    }

    fn local(has_data: bool) -> Self {
        Self {
            source: Some(r#""local""#.to_owned()),
            status: None,
            is_tool_error: false,
            has_data,
        }
    }

    fn in_meta(meta: &str, has_data: bool) -> Self {
        let meta = Object::read(meta).ok();
        let get = |name| meta.as_ref().and_then(|meta| meta.get(name));
        Self {
            source: get("source").map(ToOwned::to_owned),
            status: get("statusCode").and_then(|status| status.parse().ok()),
            is_tool_error: get("source") == Some(r#""mcp""#) && get("isError") == Some("true"),
            has_data,
        }
    }
}

/// A JSON object that is being written.
struct Members(String);

impl Members {
    fn new() -> Self {
        Self(String::with_capacity(256))
    }

    fn name(&mut self, name: &str) {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        // Writing to a string does not fail.
        let _ = write!(self.0, "\"{name}\":");
    }

    fn json(&mut self, name: &str, value: &str) {
        self.name(name);
        self.0.push_str(value);
    }

    fn string(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.name(name);
            push_string(&mut self.0, value);
        }
    }

    fn error(&mut self, error: &CallError) {
        let written = serde_json::to_string(error).ok();
        let written = written.filter(|text| text.len() <= MOST_DETAILS);
        let text = written.or_else(|| {
            let bare = CallError::new(error.code.clone(), error.message.clone());
            serde_json::to_string(&bare).ok()
        });
        self.json("error", text.as_deref().unwrap_or("null"));
    }

    fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

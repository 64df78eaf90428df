//! One log line for each request (`accessLog`), in the category `["operations", "requests"]`.

use std::time::Instant;

use http::Response;
use http::request::Parts;
use operations_core::log::{Level, Logger};
use serde_json::{Value, json};

use crate::body::Body;
use crate::door;
use crate::service::Shared;

/// The longest path that is written. In characters.
const LONGEST_PATH: usize = 1024;

/// Put into the extensions of an answer: the id of the caller.
#[derive(Debug, Clone)]
pub(crate) struct CallerId(pub(crate) String);

/// The line of a request. It is written when the request is answered, or dropped without an answer. What clients send beside
/// the path is left out, because it may hold secrets.
#[derive(Debug)]
pub(crate) struct AccessLine {
    logger: Logger,
    method: String,
    path: String,
    request_id: String,
    began: Instant,
    status: Option<u16>,
    caller: Option<String>,
}

impl AccessLine {
    /// A request begins.
    #[must_use]
    pub(crate) fn new(shared: &Shared, head: &Parts, request_id: &str) -> Self {
        let path = head.uri.path();
        let http = shared.options.doors.http.as_ref();
        let path = http
            .and_then(|door| door::http::without_token(&door.path, path))
            .unwrap_or_else(|| path.chars().take(LONGEST_PATH).collect());
        Self {
            logger: shared.logger.clone(),
            method: head.method.to_string(),
            path,
            request_id: request_id.to_owned(),
            began: Instant::now(),
            status: None,
            caller: None,
        }
    }

    /// The request has this answer.
    pub(crate) fn answered(&mut self, answer: &Response<Body>) {
        self.status = Some(answer.status().as_u16());
        self.caller = answer.extensions().get().map(|CallerId(id)| id.clone());
    }
}

impl Drop for AccessLine {
    fn drop(&mut self) {
        let took = self.began.elapsed().as_secs_f64() * 1_000.0;
        let status = self
            .status
            .map_or_else(|| "closed".to_owned(), |status| status.to_string());
        let message = format!("{} {} {status} {took:.1} ms", self.method, self.path);
        let properties: [(&str, Value); 6] = [
            ("method", json!(self.method)),
            ("path", json!(self.path)),
            ("status", json!(self.status)),
            ("durationMs", json!(took)),
            ("requestId", json!(self.request_id)),
            ("identityId", json!(self.caller)),
        ];
        self.logger
            .log(Level::Info, "requests", message, properties);
    }
}

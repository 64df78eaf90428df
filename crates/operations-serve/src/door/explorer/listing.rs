//! What the page asks: which operations the caller may call, what one of them takes and gives, and how the server is doing.

use std::sync::Arc;
use std::time::Duration;

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use operations_core::access::{CallInput, enforce_access};
use operations_core::error::{CallError, InfrastructureErrorCode};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::body::{self, Body};
use crate::door::http::{OperationDescriptor, problem, secure};
use crate::failure::{self, Outcome};
use crate::identity::Caller;
use crate::options::ExplorerDoor;
use crate::ready;
use crate::service::Shared;

const STATUS: &str = "/status.json";
const OPERATIONS: &str = "/operations.json";
const OPERATION: &str = "/operation.json";
/// What is asked, below the door.
pub(super) const NAMES: [&str; 3] = [STATUS, OPERATIONS, OPERATION];

/// A list has the beginnings of descriptions, to search and to show in a line. In characters.
const BEGINNING: usize = 240;

/// How long JavaScript may take to report the states of sources.
const SOURCES: Duration = Duration::from_secs(1);

/// The caller, and what the page asks for.
#[derive(Debug)]
pub(super) struct PageRequest {
    pub(super) caller: Arc<Caller>,
    pub(super) query: String,
    pub(super) request_id: Arc<str>,
}

pub(super) async fn answer(
    shared: &Arc<Shared>,
    door: &ExplorerDoor,
    request: &PageRequest,
    name: &str,
) -> Response<Body> {
    let answered = match name {
        STATUS => Ok(status(shared, door, request).await),
        OPERATIONS => operations(shared, request).await,
        _ => match operation(shared, request).await {
            Ok(Some(operation)) => Ok(operation),
            Ok(None) => return problem::not_found(&request.request_id),
            Err(error) => Err(error),
        },
    };
    match answered {
        Ok(value) => written(&value),
        Err(error) => failed(shared, error, request),
    }
}

/// Where the HTTP door is, who asks, what was counted, and how the sources are.
async fn status(shared: &Shared, door: &ExplorerDoor, request: &PageRequest) -> Value {
    let http = shared.options.doors.http.as_ref();
    let is_operator = shared.may_read_metrics(&request.caller);
    let sources = if is_operator {
        timeout(SOURCES, ready::sources(shared)).await.ok()
    } else {
        None
    };
    json!({
        "title": http.and_then(|http| http.info.get("title")),
        "api": http.map(|http| relative(&door.path, &http.path)),
        "caller": request.caller.identity.as_ref().map(|identity| &identity.id),
        "revision": shared.calls.revision(),
        "stats": is_operator.then(|| shared.counts()),
        "sources": sources.and_then(Result::ok).unwrap_or_default(),
    })
}

/// What the caller may call, in a few words each.
async fn operations(shared: &Shared, request: &PageRequest) -> Result<Value, CallError> {
    let revision = shared.calls.revision();
    let routes = shared.http.current(shared).await?;
    let shown = routes
        .operations()
        .map(|(described, ..)| described)
        .filter(|described| is_shown(shared, request, described))
        .map(|described| {
            let description: String = described.description.chars().take(BEGINNING).collect();
            json!({
                "namespace": described.namespace,
                "name": described.name,
                "type": described.operation_type,
                "title": described.title,
                "description": description,
                "tags": described.tags,
                "deprecated": described.deprecated,
            })
        });
    Ok(json!({ "revision": revision, "operations": shown.collect::<Vec<_>>() }))
}

/// Everything about one of them; `None` if there is no such operation.
///
/// # Errors
///
/// `ACCESS_DENIED` with what is missing, as for a call, if the caller may not call it.
async fn operation(shared: &Shared, request: &PageRequest) -> Result<Option<Value>, CallError> {
    let Some((namespace, name)) = named(&request.query) else {
        return Ok(None);
    };
    let routes = shared.http.current(shared).await?;
    let found = routes.operations().find(|(described, ..)| {
        described.namespace == namespace
            && described.name == name
            && shared.calls.operation(&described.id()).is_some()
    });
    if let Some((described, ..)) = &found {
        let identity = request.caller.identity.as_ref();
        enforce_access(&described.access, identity, &described.id(), CallInput::Any)?;
    }
    Ok(found.map(|(described, method, path)| {
        let errors = described.errors.iter().map(|error| {
            json!({
                "code": error.code,
                "description": error.description,
                "httpStatus": error.http_status,
            })
        });
        json!({
            "namespace": described.namespace,
            "name": described.name,
            "type": described.operation_type,
            "title": described.title,
            "description": described.description,
            "tags": described.tags,
            "deprecated": described.deprecated,
            "isOpen": described.is_open(),
            "method": method.as_str(),
            "path": path,
            "input": described.input,
            "output": described.output,
            "errors": errors.collect::<Vec<_>>(),
        })
    }))
}

fn is_shown(shared: &Shared, request: &PageRequest, described: &OperationDescriptor) -> bool {
    described.is_for(request.caller.identity.as_ref())
        && shared.calls.operation(&described.id()).is_some()
}

/// `namespace` and `name` of a query.
fn named(query: &str) -> Option<(String, String)> {
    let value = |wanted: &str| {
        query.split('&').find_map(|pair| {
            let (name, value) = pair.split_once('=')?;
            let decoded = percent_decode_str(value).decode_utf8().ok()?;
            (name == wanted).then(|| decoded.into_owned())
        })
    };
    Some((value("namespace")?, value("name")?))
}

/// A path as it is reached from a page in the folder `from`.
fn relative(from: &str, to: &str) -> String {
    let up = "../".repeat(from.matches('/').count());
    format!("{up}{}", to.trim_start_matches('/'))
}

fn written(value: &Value) -> Response<Body> {
    let mut response = Response::new(body::full(value.to_string()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    secure(&mut response);
    response
}

fn failed(shared: &Shared, error: CallError, request: &PageRequest) -> Response<Body> {
    let request_id = &request.request_id;
    if !error.is(InfrastructureErrorCode::AccessDenied) {
        shared.log_failure(request_id, &error);
    }
    let status = match failure::outcome(&error, None, request.caller.identity.is_some()) {
        Outcome::Answer(status) => status,
        Outcome::Closed => StatusCode::INTERNAL_SERVER_ERROR,
    };
    problem::of(&failure::masked(error, false), status, request_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_api_is_found_from_the_folder_of_the_page() {
        assert_eq!(relative("", "/api"), "api");
        assert_eq!(relative("/explorer", "/api/v1"), "../api/v1");
        assert_eq!(relative("/a/b", "/api"), "../../api");
    }

    #[test]
    fn a_query_names_an_operation() {
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(named("namespace=a.b&name=c%20d"), pair("a.b", "c d"));
        assert_eq!(named("name=c&namespace=%26"), pair("&", "c"));
        for odd in ["", "name=c", "namespace=%FF&name=c", "namespace&name"] {
            assert_eq!(named(odd), None, "{odd}");
        }
    }
}

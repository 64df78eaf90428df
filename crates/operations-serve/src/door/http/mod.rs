//! Plain HTTP. How an operation is called is decided in [`route`]; `POST <door>/<namespace>/<name>` with the input as JSON works
//! for each. The data comes back as the body.

mod answer;
mod approvals;
mod descriptor;
mod document;
mod download;
mod events;
mod multipart;
pub mod problem;
pub(crate) mod request;
mod route;
mod routes;
mod schemas;
mod text;

use std::sync::Arc;

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Response, StatusCode};
use operations_core::error::{CallError, InfrastructureErrorCode};
use operations_core::nearest::nearest_id;
use operations_core::registry::Operation;
use serde_json::json;

pub(super) use self::answer::secure;
pub use self::answer::success;
pub use self::descriptor::OperationDescriptor;
pub use self::document::{About, Version};
use self::request::Part;
use self::routes::{DOCUMENT, Found};
pub use self::routes::{Routed, Routes};
use crate::body::{self, Body};
use crate::call::NewCall;
use crate::failure::{self, Outcome};
use crate::options::HttpDoor;
use crate::service::{Answered, Exchange, Shared};

/// Answers a request. `path` is what is left of its path.
pub(crate) async fn serve(
    shared: &Arc<Shared>,
    door: &HttpDoor,
    exchange: Exchange,
    path: &str,
) -> Answered {
    if let Some(token) = download::token(path) {
        return download::serve(shared, exchange, token).await;
    }
    if let Some(id) = approvals::id(path) {
        return approvals::serve(shared, exchange, id).await;
    }
    let by_name = named(shared, path);
    if let Some(operation) = by_name
        .clone()
        .filter(|_| exchange.head.method == Method::POST)
    {
        let route = format!("/{}/{}", operation.spec.namespace, operation.spec.name);
        return call(shared, door, exchange, operation, Part::Input, &route).await;
    }
    let request_id = Arc::clone(&exchange.request_id);
    let routes = match shared.http.current(shared).await {
        Ok(routes) => routes,
        Err(error) => {
            shared.log_failure(&request_id, &error);
            let status = match failure::outcome(&error, None, true) {
                Outcome::Answer(status) => status,
                Outcome::Closed => StatusCode::INTERNAL_SERVER_ERROR,
            };
            return Ok(problem::of(
                &failure::masked(error, false),
                status,
                &request_id,
            ));
        }
    };
    let is_served = |id: &str| shared.calls.operation(id).is_some();
    if path == DOCUMENT && exchange.head.method == Method::GET {
        let identity = exchange.caller.identity.as_ref();
        return Ok(shown(routes.document_for(
            identity,
            &door.about(),
            is_served,
        )));
    }
    match routes.find(&exchange.head.method, path, is_served) {
        Found::Route(described, route, variables) => {
            let id = described.id();
            let Some(operation) = shared.calls.operation(&id) else {
                return Ok(not_found(&id, None, &request_id));
            };
            let query = exchange.head.uri.query().unwrap_or_default();
            let members = match route.members(&variables, query, &exchange.head.headers) {
                Ok(members) => members,
                Err(unread) => return Ok(problem::unreadable(&id, &unread, &request_id)),
            };
            let part = Part::of(&route.body, members);
            call(shared, door, exchange, operation, part, &route.path).await
        }
        Found::OtherMethods(mut methods) => {
            methods.extend(by_name.map(|_| Method::POST));
            Ok(problem::wrong_method_of(&methods, &request_id))
        }
        Found::Nothing if by_name.is_some() => Ok(problem::wrong_method("POST", &request_id)),
        Found::Nothing => Ok(match request::named(path) {
            Some((namespace, name)) => {
                let id = format!("{namespace}.{name}");
                let known = routes.ids_for(exchange.caller.identity.as_ref(), is_served);
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                not_found(&id, nearest_id(&id, &known), &request_id)
            }
            None => problem::not_found(&request_id),
        }),
    }
}

/// The path of a download without its token, which is all that one needs to read the file.
pub(crate) fn without_token(door: &str, path: &str) -> Option<String> {
    let token = download::token(path.strip_prefix(door)?)?;
    Some(path.strip_suffix(token)?.to_owned() + "***")
}

/// The operation that a path names.
fn named(shared: &Shared, path: &str) -> Option<Arc<Operation>> {
    let (namespace, name) = request::named(path)?;
    let operation = shared.calls.operation(&format!("{namespace}.{name}"))?;
    (operation.spec.namespace == namespace).then_some(operation)
}

/// `nearest` is one that the caller may call.
fn not_found(id: &str, nearest: Option<&str>, request_id: &str) -> Response<Body> {
    let (message, details) = match nearest {
        None => (
            format!("Operation not found: {id}"),
            json!({ "operationId": id }),
        ),
        Some(nearest) => (
            format!("Operation not found: {id}. Did you mean {nearest}?"),
            json!({ "operationId": id, "nearest": nearest }),
        ),
    };
    let error =
        CallError::new(InfrastructureErrorCode::OperationNotFound, message).with_details(details);
    problem::of_call(&error, StatusCode::NOT_FOUND, id, request_id)
}

/// The document, with what this caller may call.
fn shown(document: bytes::Bytes) -> Response<Body> {
    let mut response = Response::new(body::full(document));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    secure(&mut response);
    response
}

/// Calls an operation with what a request has for it. `route` is where, below the door.
async fn call(
    shared: &Arc<Shared>,
    door: &HttpDoor,
    exchange: Exchange,
    operation: Arc<Operation>,
    part: Part,
    route: &str,
) -> Answered {
    let id = operation.spec.id();
    let request_id = exchange.request_id.clone();
    let wants_envelope = request::accepts_envelope(&exchange.head.headers);
    let metadata = request::metadata(&exchange.head.headers, &shared.options.request_headers);
    let trace = request::trace(&exchange.head.headers);
    let route = format!("{}{route}", door.path);
    let is_tls = shared.options.tls.is_some();
    let via = request::via(&exchange.head, &route, is_tls, wants_envelope);
    let caller = exchange.caller.clone();
    let deadline = exchange.deadline;
    let held = Some(Arc::clone(&exchange.held));
    let last_event_id = request::last_event_id(&exchange.head.headers);
    let input = match request::input(shared, exchange, &id, part).await {
        Ok(input) => input,
        Err(refusal) => return Ok(*refusal),
    };
    let has_identity = caller.identity.is_some();
    let mut call = NewCall {
        operation,
        input,
        caller,
        request_id: request_id.clone(),
        deadline,
        metadata: Some(metadata),
        trace,
        via: Some(via),
        channel: None,
        takes_files: true,
        // In an envelope it is a text.
        takes_pieces: !wants_envelope,
        parent_request_id: None,
        held,
    };
    let spec = &call.operation.clone().spec;
    let answered = if call.is_subscription() {
        // A stream has no end that could be waited for; its client ends it.
        call.deadline = None;
        events::stream(shared, door, call, wants_envelope, last_event_id).await
    } else {
        let caller = Arc::clone(&call.caller);
        match shared.calls.call(call).await {
            Err(error) => Err(error),
            Ok(done) => {
                let context = answer::RequestContext {
                    caller: &caller,
                    wants_envelope,
                    request_id: &request_id,
                };
                Ok(answer::of(shared, &door.path, done, context).await)
            }
        }
    };
    let error = match answered {
        Ok(answer) => return Ok(answer),
        Err(error) => error,
    };
    match failure::outcome(&error, Some(spec), has_identity) {
        Outcome::Closed => Err(crate::service::Closed),
        Outcome::Answer(status) => {
            shared.log_masked(&request_id, &error, door.expose_errors);
            let error = failure::masked(error, door.expose_errors);
            let requested =
                approvals::requested(&error, &door.path).filter(|answer| answer.status() == status);
            Ok(requested.unwrap_or_else(|| problem::of_call(&error, status, &id, &request_id)))
        }
    }
}

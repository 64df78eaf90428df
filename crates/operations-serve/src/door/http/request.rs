//! What a request asks for.

use std::borrow::Cow;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, Response};
use operations_core::error::CallError;
use operations_core::json;
use operations_core::registry::APPROVAL;
use operations_core::trace;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::multipart::{self, Refused};
use super::problem;
use super::route::Takes;
use crate::body::{self, Body, Unread};
use crate::service::{Exchange, Shared};

/// The media type of envelopes.
pub(super) const ENVELOPE: &str = "application/vnd.alkdev.envelope+json";

/// How far an input stands below the outermost value of what carries it to JavaScript.
pub(crate) const LEVELS_ABOVE_INPUT: usize = 3;

/// Namespace and name in a path.
pub(super) fn named(path: &str) -> Option<(String, String)> {
    let (namespace, name) = path.strip_prefix('/')?.split_once('/')?;
    if name.contains('/') {
        return None;
    }
    let decoded = |text: &str| {
        let text = percent_decode_str(text).decode_utf8().ok();
        text.filter(|text| !text.is_empty()).map(Cow::into_owned)
    };
    Some((decoded(namespace)?, decoded(name)?))
}

/// Whether the client wants envelopes and not only data.
pub(super) fn accepts_envelope(headers: &HeaderMap) -> bool {
    headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|range| essence(range).eq_ignore_ascii_case(ENVELOPE))
}

/// A media type without its parameters.
fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

/// What handlers learn of a request, as JSON.
pub(crate) fn metadata(headers: &HeaderMap, allowed: &[String]) -> String {
    let mut shown = Map::new();
    for name in allowed {
        let values: Vec<&str> = headers
            .get_all(name.as_str())
            .iter()
            .filter_map(|value| value.to_str().ok())
            .collect();
        if !values.is_empty() {
            shown.insert(name.clone(), Value::String(values.join(", ")));
        }
    }
    let mut metadata = Map::new();
    metadata.insert("headers".to_owned(), Value::Object(shown));
    if let Some(id) = last_event_id(headers) {
        metadata.insert("lastEventId".to_owned(), Value::String(id));
    }
    if let Some(id) = headers.get("approval").and_then(|id| id.to_str().ok()) {
        metadata.insert(APPROVAL.to_owned(), Value::String(id.to_owned()));
    }
    Value::Object(metadata).to_string()
}

/// The trace that a request belongs to, as JSON.
pub(crate) fn trace(headers: &HeaderMap) -> Option<String> {
    trace::carried(|name| {
        let values: Vec<&str> = headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .collect();
        (!values.is_empty()).then(|| values.join(","))
    })
}

/// How a call came, as JSON. `route` is its path with the names of parameters in it.
pub(super) fn via(head: &Parts, route: &str, is_tls: bool, wants_envelope: bool) -> String {
    let scheme = if is_tls { "https" } else { "http" };
    serde_json::json!({
        "door": "http",
        "method": head.method.as_str(),
        "path": head.uri.path(),
        "route": route,
        "scheme": head.uri.scheme_str().unwrap_or(scheme),
        "wantsEnvelope": wants_envelope,
    })
    .to_string()
}

/// The last event that a client has of a stream.
pub(super) fn last_event_id(headers: &HeaderMap) -> Option<String> {
    let value = headers.get("last-event-id")?;
    String::from_utf8(value.as_bytes().to_vec()).ok()
}

/// What the body of a request is to the input of its call.
#[derive(Debug)]
pub(super) enum Part {
    /// All of it.
    Input,
    /// A property, if it has a name, beside members that were found elsewhere.
    Members(Vec<(String, Value)>, Option<String>),
}

impl Part {
    pub(super) fn of(body: &Takes, members: Vec<(String, Value)>) -> Self {
        match body {
            Takes::Input => Self::Input,
            Takes::Nothing => Self::Members(members, None),
            Takes::Property { name, .. } => Self::Members(members, Some(name.clone())),
        }
    }
}

/// The input of a call.
pub(super) async fn input(
    shared: &Shared,
    exchange: Exchange,
    id: &str,
    part: Part,
) -> Result<Option<String>, Box<Response<Body>>> {
    match part {
        Part::Input => body(shared, exchange, id, None).await,
        Part::Members(members, None) => Ok(Some(object(members, None))),
        Part::Members(members, Some(name)) => {
            let body = body(shared, exchange, id, Some(&name)).await?;
            let body = body.map(|text| (name, text));
            Ok(Some(object(members, body)))
        }
    }
}

/// A JSON object of these members, the last of which is JSON text.
fn object(members: Vec<(String, Value)>, last: Option<(String, String)>) -> String {
    let mut text = String::from("{");
    let mut add = |name: &str, value: &str| {
        if text.len() > 1 {
            text.push(',');
        }
        json::push_string(&mut text, name);
        text.push(':');
        text.push_str(value);
    };
    for (name, value) in members {
        add(&name, &value.to_string());
    }
    if let Some((name, value)) = last {
        add(&name, &value);
    }
    text.push('}');
    text
}

/// The body as JSON; `None` without a body. `property` is what it is to the input, if it is not all of it.
async fn body(
    shared: &Shared,
    exchange: Exchange,
    id: &str,
    property: Option<&str>,
) -> Result<Option<String>, Box<Response<Body>>> {
    let levels_above = LEVELS_ABOVE_INPUT + usize::from(property.is_some());
    let Exchange {
        head,
        body,
        request_id,
        held,
        ..
    } = exchange;
    let (most, within) = (
        shared.options.max_body_bytes,
        shared.options.request_timeout,
    );
    let bytes = body::read(body, most, within)
        .await
        .map_err(|why| problem::unread(why, most, &request_id))?;
    if bytes.is_empty() {
        return Ok(None);
    }
    if let Some(boundary) = multipart::boundary(&head.headers) {
        // Whether a page of another site sent it was checked before (`origin_check`).
        let routes = shared.http.current(shared).await;
        let root = routes.as_ref().ok().and_then(|routes| routes.input(id));
        let anything = Value::Bool(true);
        let root = root.as_ref().unwrap_or(&anything);
        let schema = property.map_or(Some(root), |name| root.get("properties")?.get(name));
        let schemas = (root, schema.unwrap_or(&anything));
        let object = multipart::object(bytes, boundary, schemas, levels_above, &held).await;
        return object.map(Some).map_err(|refused| {
            Box::new(match refused {
                Refused::Unreadable(part) => {
                    let part = part.below(property);
                    problem::unreadable(id, &part, &request_id)
                }
                Refused::Exhausted => problem::unread(Unread::Exhausted, most, &request_id),
            })
        });
    }
    // A page may send a text without asking; only with this type does its browser ask us first.
    if !is_json(&head.headers) {
        return Err(problem::wrong_type(&request_id).into());
    }
    let text = String::from_utf8(bytes.into())
        .map_err(|_| json::Malformed::Encoding)
        .and_then(|text| json::check_below(levels_above, &text).map(|()| text));
    text.map(Some).map_err(|why| {
        let message = format!("The input of operation {id} cannot be read: {why}");
        let error =
            CallError::invalid(message).with_details(serde_json::json!({ "operationId": id }));
        problem::malformed(&error, &request_id).into()
    })
}

pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(CONTENT_TYPE);
    given
        .and_then(|value| value.to_str().ok())
        .map(|value| essence(value).to_ascii_lowercase())
        .is_some_and(|media_type| {
            media_type == "application/json"
                || (media_type.starts_with("application/") && media_type.ends_with("+json"))
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_path_names_an_operation() {
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(named("/demo/greet"), pair("demo", "greet"));
        assert_eq!(named("/a%2Fb/c%20d.e"), pair("a/b", "c d.e"));
        for odd in ["", "/", "/a", "/a/", "//b", "/a/b/c", "/a/b/", "/a/%FF"] {
            assert_eq!(named(odd), None, "{odd}");
        }
    }

    #[test]
    fn envelopes_are_for_those_who_ask_for_them() {
        for (accept, wanted) in [
            ("application/vnd.alkdev.envelope+json", true),
            (
                "text/event-stream, Application/vnd.alkdev.envelope+JSON;q=1",
                true,
            ),
            ("application/json", false),
            ("*/*", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(accepts_envelope(&headers), wanted, "{accept}");
        }
    }

    #[test]
    fn handlers_see_the_headers_that_they_may() {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("secret"));
        headers.append("accept-language", HeaderValue::from_static("de"));
        headers.append("accept-language", HeaderValue::from_static("en"));
        headers.insert("last-event-id", HeaderValue::from_static("7"));
        let allowed = ["accept-language".to_owned(), "user-agent".to_owned()];
        assert_eq!(
            metadata(&headers, &allowed),
            r#"{"headers":{"accept-language":"de, en"},"lastEventId":"7"}"#
        );
    }
}

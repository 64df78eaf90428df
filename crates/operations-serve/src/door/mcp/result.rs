//! What became of a call, as the result of a tool.

use std::borrow::Cow;

use http::StatusCode;
use operations_core::envelope::ResponseEnvelope;
use operations_core::error::{CallError, InfrastructureErrorCode as Code};
use operations_core::json::{Object, push_string};
use operations_core::registry::APPROVAL;
use operations_core::spec::OperationSpec;
use serde_json::{Map, Value, json};

use super::catalog::Output;
use super::message::{DENIED, INTERNAL_ERROR, INVALID_PARAMS, Refusal};
use super::protocol_version::ProtocolVersion;
use super::request::SERVER_KEY;
use crate::binary::binary;
use crate::failure::{self, Outcome};
use crate::service::Shared;
use crate::upstream::AllowedHeaders;

/// How the members of `_meta` begin that are this package's.
const OWN_KEYS: &str = "alkdev.operations/";
/// What the `_meta` of a result has about where it came from.
pub(super) const META_KEY: &str = "alkdev.operations/meta";
/// What the `_meta` of a result has about why it failed.
const ERROR_KEY: &str = "alkdev.operations/error";

/// A result before it is sent: the members of an object, but for its `_meta`.
#[derive(Debug, PartialEq)]
pub(super) struct Draft {
    pub(super) text: String,
    pub(super) meta: Map<String, Value>,
}

impl Draft {
    /// The result as JSON. `server` is what the stateless protocol has in all results.
    pub(super) fn finished(mut self, server: Option<&Value>) -> String {
        let mut text = String::with_capacity(self.text.len() + 160);
        text.push('{');
        text.push_str(&self.text);
        if let Some(server) = server {
            text.push_str(",\"resultType\":\"complete\"");
            self.meta.insert(SERVER_KEY.to_owned(), server.clone());
        }
        if !self.meta.is_empty() {
            text.push_str(",\"_meta\":");
            text.push_str(&Value::Object(self.meta).to_string());
        }
        text.push('}');
        text
    }
}

/// The result for an envelope.
pub(super) fn of_envelope(
    envelope: &ResponseEnvelope,
    id: &str,
    output: Output,
    protocol: ProtocolVersion,
    allowed_headers: &AllowedHeaders,
) -> Option<Draft> {
    let meta = Object::read(envelope.meta()?).ok()?;
    let data = envelope.data();
    let source = meta.string("source").unwrap_or_default();
    let mut about = Map::new();
    let mut text = String::with_capacity(2 * envelope.text().len());
    if source == "mcp" {
        text.push_str("\"content\":");
        text.push_str(meta.get("content").unwrap_or("[]"));
        let is_error = meta.get("isError") == Some("true");
        if is_error {
            text.push_str(",\"isError\":true");
        }
        if meta.get("structuredContent").is_some() && !is_error {
            push_structured(&mut text, data?, output, protocol);
        }
        let given = meta
            .get("_meta")
            .and_then(|text| serde_json::from_str(text).ok());
        if let Some(Value::Object(mut given)) = given {
            // Only we may say this: a client takes it for what the operation itself said.
            given.retain(|name, _| !name.starts_with(OWN_KEYS));
            about = given;
        }
    } else {
        match data {
            // Nothing at all is what an operation without a result gives.
            None => text.push_str("\"content\":[]"),
            Some(data) => {
                if let Some(block) = binary_block(data, &meta, id) {
                    text.push_str("\"content\":[");
                    text.push_str(&block.to_string());
                    text.push(']');
                } else {
                    text.push_str("\"content\":[{\"type\":\"text\",\"text\":");
                    push_string(&mut text, data);
                    text.push_str("}]");
                    push_structured(&mut text, data, output, protocol);
                }
            }
        }
    }
    if let Some(shown) = shown_meta(&source, &meta, allowed_headers) {
        about.insert(META_KEY.to_owned(), shown);
    }
    Some(Draft { text, meta: about })
}

fn push_structured(text: &mut String, data: &str, output: Output, protocol: ProtocolVersion) {
    let is_wrapped = protocol == ProtocolVersion::Handshake
        && match output {
            Output::Object => false,
            Output::Other => true,
            Output::Undeclared => !data.starts_with('{'),
        };
    text.push_str(",\"structuredContent\":");
    if is_wrapped {
        text.push_str("{\"result\":");
    }
    text.push_str(data);
    if is_wrapped {
        text.push('}');
    }
}

/// What clients learn of where a result came from.
fn shown_meta(source: &str, meta: &Object<'_>, allowed_headers: &AllowedHeaders) -> Option<Value> {
    let mut shown = Map::new();
    let mut copy = |name: &str| {
        let value = meta
            .get(name)
            .and_then(|text| serde_json::from_str(text).ok());
        if let Some(value) = value {
            shown.insert(name.to_owned(), value);
        }
    };
    copy("notes");
    if source == "http" {
        copy("statusCode");
        copy("contentType");
        if let Some(headers) = meta.object("headers") {
            let headers = allowed_headers.of(&headers);
            shown.insert("headers".to_owned(), Value::Object(headers));
        }
    }
    if shown.is_empty() {
        return None;
    }
    shown.insert("source".to_owned(), json!(source));
    Some(Value::Object(shown))
}

/// Binary data as a block of content.
fn binary_block(data: &str, meta: &Object<'_>, id: &str) -> Option<Value> {
    let encoded = binary(data)?.base64;
    let media_type = meta.string("contentType").unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    let kind = match media_type.split('/').next() {
        Some("image") => "image",
        Some("audio") => "audio",
        _ => {
            let media_type = if media_type.is_empty() {
                "application/octet-stream"
            } else {
                media_type
            };
            let resource = json!({ "uri": format!("operation:{id}"), "mimeType": media_type, "blob": encoded });
            return Some(json!({ "type": "resource", "resource": resource }));
        }
    };
    Some(json!({ "type": kind, "mimeType": media_type, "data": encoded }))
}

/// What a client gets for a failed call.
#[derive(Debug, PartialEq)]
pub(super) enum Failed {
    /// A result that says so.
    Result(Draft),
    /// An error of the protocol.
    Refused(Refusal),
    /// The caller may not. Over HTTP there is a status for that; elsewhere it is a result.
    Denied(Refusal, Draft),
    /// Nothing: the call was ended.
    Silence,
}

/// The error as clients may see it. A message that says nothing names the request, so that the operator finds it in the log.
pub(super) fn masked(shared: &Shared, error: CallError, request_id: &str) -> CallError {
    let exposes = shared.options.doors.mcp_exposes_errors();
    shared.log_masked(request_id, &error, exposes);
    if !failure::is_masked(&error, exposes) {
        return failure::without_refused_output(error);
    }
    let mut error = failure::masked(error, exposes);
    error.message = format!("{} (request {request_id})", failure::MASKED);
    error
}

/// What becomes of a failure.
pub(super) fn of_error(error: CallError, spec: &OperationSpec, has_identity: bool) -> Failed {
    let id = spec.id();
    let is_declared = spec.errors.iter().any(|known| known.code == error.code);
    let status = match failure::outcome(&error, Some(spec), has_identity) {
        Outcome::Closed => return Failed::Silence,
        Outcome::Answer(status) => status,
    };
    if !is_declared && error.is(Code::OperationNotFound) {
        return Failed::Refused(Refusal::new(INVALID_PARAMS, error.message));
    }
    let may_have_run = failure::may_have_run(&error, &id);
    // Another token would not change the decision of a person: nothing sends the client for one.
    let is_denied = !is_declared
        && error.is(Code::AccessDenied)
        && !failure::is_not_approved(&error)
        && matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let draft = error_result(&error, may_have_run);
    if !is_denied {
        return Failed::Result(draft);
    }
    let mut refusal = Refusal::new(DENIED, error.message).with_status(status);
    refusal.data = error.details;
    Failed::Denied(refusal, draft)
}

/// The same where there is no result that could report a failure.
pub(super) fn refusal_of_error(
    error: CallError,
    spec: &OperationSpec,
    has_identity: bool,
) -> Failed {
    let status = match failure::outcome(&error, Some(spec), has_identity) {
        Outcome::Closed => return Failed::Silence,
        Outcome::Answer(status) => status,
    };
    let may_have_run = failure::may_have_run(&error, &spec.id());
    if failure::is_not_approved(&error) || failure::approval(&error).is_some() {
        let mut refusal = Refusal::new(DENIED, error.message);
        refusal.data = Some(json!({ "code": error.code, "details": error.details }));
        return Failed::Refused(refusal);
    }
    if error.is(Code::AccessDenied)
        && matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
    {
        let mut refusal = Refusal::new(DENIED, error.message).with_status(status);
        refusal.data = error.details;
        return Failed::Refused(refusal);
    }
    let is_callers = error.is(Code::ValidationError) && status == StatusCode::BAD_REQUEST
        || error.is(Code::OperationNotFound);
    let code = if is_callers {
        INVALID_PARAMS
    } else {
        INTERNAL_ERROR
    };
    let mut data = json!({ "code": error.code, "mayHaveRun": may_have_run });
    if let (Some(details), Some(data)) = (error.details, data.as_object_mut()) {
        data.insert("details".to_owned(), details);
    }
    Failed::Refused(Refusal::new(code, error.message).with_data(data))
}

/// A failure in words that a model can read, and as data for others.
fn error_result(error: &CallError, may_have_run: bool) -> Draft {
    let mut text = String::from("\"content\":[{\"type\":\"text\",\"text\":");
    match failure::refused(error) {
        None => match failure::approval_id(error) {
            Some(id) if !failure::is_not_approved(error) => {
                push_string(&mut text, &until_approved(error, id));
            }
            _ => push_string(&mut text, &with_upstream_body(error)),
        },
        Some(refused) => push_string(&mut text, &in_words(error, refused.retry_after)),
    }
    text.push_str("}],\"isError\":true");
    let mut about =
        json!({ "code": error.code, "message": error.message, "mayHaveRun": may_have_run });
    if let (Some(details), Some(about)) = (&error.details, about.as_object_mut()) {
        about.insert("details".to_owned(), details.clone());
    }
    let mut meta = Map::from_iter([(ERROR_KEY.to_owned(), about)]);
    if let Some(id) = failure::approval_id(error) {
        meta.insert(APPROVAL.to_owned(), id.into());
    }
    Draft { text, meta }
}

/// What a model can do about a call that a person has to approve.
fn until_approved(error: &CallError, id: &str) -> String {
    format!(
        "{}. Say that you wait for approval {id}, and do not look for a way around it. When it is granted, call this tool \
         again with the same arguments and with {{\"{APPROVAL}\":\"{id}\"}} in _meta",
        error.message
    )
}

/// The message, and what the upstream server said: often how to do better.
fn with_upstream_body(error: &CallError) -> Cow<'_, str> {
    let details = error.details.as_ref();
    let body = details
        .filter(|details| details.get("statusCode").is_some() && error.is(Code::ExecutionError))
        .and_then(|details| details.get("body"));
    match body {
        None => Cow::Borrowed(error.message.as_str()),
        Some(Value::String(body)) => format!("{}\n{body}", error.message).into(),
        Some(body) => format!("{}\n{body}", error.message).into(),
    }
}

/// What a model can do about a call that was not made.
fn in_words(error: &CallError, seconds: u64) -> String {
    let unit = if seconds == 1 { "second" } else { "seconds" };
    format!(
        "{}. Nothing was done. Wait {seconds} {unit} before you call this tool again with the same arguments, or go on with \
         something that does not need it",
        error.message
    )
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::expect_used,
        clippy::indexing_slicing,
        reason = "tests: a failure should stop them"
    )]

    use super::*;

    fn result(envelope: &Value, output: Output, protocol: ProtocolVersion) -> Value {
        let allowed = AllowedHeaders::new(&["etag".to_owned()]);
        let members = of_envelope(
            &envelope.to_string().into(),
            "a.b",
            output,
            protocol,
            &allowed,
        );
        let text = members.expect("an envelope").finished(None);
        serde_json::from_str(&text).expect("JSON")
    }

    fn local(data: &Value) -> Value {
        json!({ "data": data, "meta": { "source": "local", "operationId": "a.b" } })
    }

    #[test]
    fn data_is_there_twice() {
        let found = result(
            &local(&json!({ "a": 1 })),
            Output::Object,
            ProtocolVersion::Handshake,
        );
        assert_eq!(
            found,
            json!({ "content": [{ "type": "text", "text": "{\"a\":1}" }], "structuredContent": { "a": 1 } })
        );
        for (data, output, protocol, structured) in [
            (
                json!([1]),
                Output::Other,
                ProtocolVersion::Handshake,
                json!({ "result": [1] }),
            ),
            (
                json!([1]),
                Output::Other,
                ProtocolVersion::Stateless,
                json!([1]),
            ),
            (
                json!({}),
                Output::Other,
                ProtocolVersion::Handshake,
                json!({ "result": {} }),
            ),
            (
                json!("x"),
                Output::Undeclared,
                ProtocolVersion::Handshake,
                json!({ "result": "x" }),
            ),
            (
                json!({}),
                Output::Undeclared,
                ProtocolVersion::Handshake,
                json!({}),
            ),
            (
                json!(null),
                Output::Undeclared,
                ProtocolVersion::Stateless,
                json!(null),
            ),
        ] {
            let found = result(&local(&data), output, protocol);
            assert_eq!(found["structuredContent"], structured, "{data} {output:?}");
            assert_eq!(found["content"][0]["text"], data.to_string());
        }
        let nothing = result(
            &json!({ "meta": {} }),
            Output::Object,
            ProtocolVersion::Handshake,
        );
        assert_eq!(nothing, json!({ "content": [] }));
    }

    #[test]
    fn http_meta_is_shown_as_far_as_it_may() {
        let envelope = json!({ "data": 1, "meta": {
            "source": "http", "statusCode": 201, "contentType": "application/json",
            "headers": { "etag": "\"1\"", "set-cookie": "secret" }, "url": "https://internal",
        } });
        let found = result(&envelope, Output::Undeclared, ProtocolVersion::Stateless);
        assert_eq!(
            found["_meta"][META_KEY],
            json!({
                "source": "http", "statusCode": 201, "contentType": "application/json",
                "headers": { "etag": "\"1\"" },
            })
        );
    }

    #[test]
    fn what_an_mcp_server_said_stays_as_it_was() {
        let content = json!([{ "type": "text", "text": "no such file" }]);
        let meta = json!({ "source": "mcp", "isError": true, "content": content, "_meta": { "x": 1, "alkdev.operations/error": { "code": "FORGED" } } });
        let found = result(
            &json!({ "data": content, "meta": meta }),
            Output::Undeclared,
            ProtocolVersion::Handshake,
        );
        assert_eq!(
            found,
            json!({ "content": content, "isError": true, "_meta": { "x": 1 } })
        );
        let meta = json!({ "source": "mcp", "isError": false, "content": content, "structuredContent": { "a": "1" } });
        let found = result(
            &json!({ "data": { "a": 1 }, "meta": meta }),
            Output::Object,
            ProtocolVersion::Handshake,
        );
        assert_eq!(
            found,
            json!({ "content": content, "structuredContent": { "a": 1 } })
        );
    }

    #[test]
    fn bytes_are_a_block_of_their_own() {
        let envelope = |media_type: &str| json!({ "data": { "$bytes": "AAEC" }, "meta": { "source": "http", "statusCode": 200, "contentType": media_type } });
        let found = result(
            &envelope("image/png"),
            Output::Undeclared,
            ProtocolVersion::Handshake,
        );
        assert_eq!(
            found["content"],
            json!([{ "type": "image", "mimeType": "image/png", "data": "AAEC" }])
        );
        assert_eq!(found.get("structuredContent"), None);
        let found = result(
            &envelope("application/pdf"),
            Output::Undeclared,
            ProtocolVersion::Stateless,
        );
        assert_eq!(found["content"][0]["resource"]["blob"], "AAEC");
    }

    fn spec() -> OperationSpec {
        serde_json::from_value(json!({
            "namespace": "a", "name": "b", "type": "query", "description": "",
            "accessControl": { "requiredScopes": [] }, "errors": [{ "code": "GONE" }],
        }))
        .expect("a spec")
    }

    fn failed(code: &'static str, has_identity: bool) -> Failed {
        of_error(CallError::new(code, "the reason"), &spec(), has_identity)
    }

    #[test]
    fn failures_are_results_so_that_a_model_can_correct_itself() {
        for (code, text) in [
            ("VALIDATION_ERROR", "the reason"),
            ("EXECUTION_ERROR", "the reason"),
            ("TIMEOUT", "the reason"),
            ("GONE", "the reason"),
        ] {
            let Failed::Result(draft) = failed(code, true) else {
                unreachable!("{code} is a result");
            };
            let server = json!({ "name": "s" });
            let found: Value = serde_json::from_str(&draft.finished(Some(&server))).expect("JSON");
            assert_eq!(found["_meta"][SERVER_KEY], server);
            assert_eq!(found["resultType"], "complete");
            assert_eq!(found["isError"], true);
            assert_eq!(found["content"][0]["text"], text);
            assert_eq!(found["_meta"][ERROR_KEY]["code"], code);
        }
    }

    #[test]
    fn some_failures_are_not_results() {
        assert_eq!(failed("ABORTED", true), Failed::Silence);
        assert!(matches!(
            failed("OPERATION_NOT_FOUND", true),
            Failed::Refused(Refusal {
                code: INVALID_PARAMS,
                ..
            })
        ));
        for (has_identity, status) in [(false, 401), (true, 403)] {
            let Failed::Denied(refusal, _) = failed("ACCESS_DENIED", has_identity) else {
                unreachable!("it is denied");
            };
            assert_eq!(refusal.status.as_u16(), status);
        }
    }
}

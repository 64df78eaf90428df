//! Resources: operations that are read at an address.

use std::sync::Arc;

use bytes::Bytes;
use operations_core::envelope::ResponseEnvelope;
use operations_core::error::CallError;
use operations_core::json::Object;
use operations_core::spec::OperationSpec;
use serde_json::{Value, json};

use super::catalog::Catalog;
use super::interactive_call::{self, Ended};
use super::message::{INTERNAL_ERROR, INVALID_PARAMS, Refusal};
use super::protocol_version::ProtocolVersion;
use super::request::{Reply, RequestContext};
use super::result::{self, Failed};
use crate::binary::{Binary, binary};
use crate::identity::Caller;
use crate::service::Shared;

/// What the handshake protocol says of an address where nothing is.
const NOT_FOUND: i64 = -32002;

pub(super) async fn read(
    shared: &Arc<Shared>,
    catalog: &Catalog,
    context: &RequestContext,
    params: &Object<'_>,
) -> Reply {
    let uri = match uri_of(params) {
        Ok(uri) => uri,
        Err(refusal) => return Reply::Refused(refusal),
    };
    let found = catalog.resource(&uri).and_then(|(resource, variables)| {
        let operation = shared.calls.operation(&resource.listed.id)?;
        Some((resource, variables, operation))
    });
    let Some((resource, variables, operation)) = found else {
        return Reply::Refused(not_found(&uri, context.protocol));
    };
    let variables = variables
        .into_iter()
        .map(|(name, value)| (name, Value::String(value)));
    let input = resource.arguments.input(variables).to_string();
    let new = context.call(&operation, Some(input));
    let envelope = match interactive_call::call(shared, context, &uri, new, params).await {
        Ok(Ended::Done(Ok(envelope))) => envelope,
        Ok(Ended::Done(Err(error))) => return refused(shared, context, error, &operation.spec),
        Ok(Ended::NeedsInput(result)) => return Reply::Result(result.into()),
        Err(refusal) => return Reply::Refused(refusal),
    };
    let Some(contents) = contents(&envelope, &uri, resource.mime_type.as_deref()) else {
        return unusable(shared, context, &operation.spec);
    };
    let caching = match context.protocol {
        ProtocolVersion::Handshake => "",
        ProtocolVersion::Stateless => r#","ttlMs":0,"cacheScope":"private""#,
    };
    let result = format!(r#"{{"contents":{contents}{caching}{}}}"#, context.about());
    Reply::Result(result.into())
}

fn uri_of(params: &Object<'_>) -> Result<String, Refusal> {
    let uri = params.string("uri");
    uri.ok_or_else(|| Refusal::new(INVALID_PARAMS, "\"uri\" must be a string"))
}

pub(super) fn not_found(uri: &str, protocol: ProtocolVersion) -> Refusal {
    let code = match protocol {
        ProtocolVersion::Handshake => NOT_FOUND,
        ProtocolVersion::Stateless => INVALID_PARAMS,
    };
    Refusal::new(code, "Resource not found").with_data(json!({ "uri": uri }))
}

/// What is at an address, as JSON.
fn contents(envelope: &ResponseEnvelope, uri: &str, declared: Option<&str>) -> Option<String> {
    let data = envelope.data()?;
    let meta = envelope.meta_members();
    // An operation that knows what it gives says so itself.
    let own = Object::read(data)
        .ok()
        .and_then(|data| data.get("contents"));
    if let Some(own) = own.filter(|own| own.starts_with('[')) {
        return Some(own.to_owned());
    }
    let sent = meta.string("contentType");
    let sent = sent.as_deref().and_then(|sent| sent.split(';').next());
    let mime_type = |usual| declared.or(sent).unwrap_or(usual).trim();
    let content = if let Some(Binary { base64, .. }) = binary(data) {
        json!({ "uri": uri, "mimeType": mime_type("application/octet-stream"), "blob": base64 })
    } else if let Ok(text) = serde_json::from_str::<String>(data) {
        json!({ "uri": uri, "mimeType": mime_type("text/plain"), "text": text })
    } else {
        json!({ "uri": uri, "mimeType": mime_type("application/json"), "text": data })
    };
    Some(format!("[{content}]"))
}

/// From now on the client of a session is notified when a resource changes.
pub(super) fn watch(
    shared: &Shared,
    catalog: &Catalog,
    context: &RequestContext,
    params: &Object<'_>,
) -> Result<Bytes, Refusal> {
    let uri = uri_of(params)?;
    if !is_readable(shared, catalog, &context.caller, &uri) {
        return Err(not_found(&uri, context.protocol));
    }
    if uri.len() > LONGEST_WATCHED {
        let message = "The address is too long to be watched";
        return Err(Refusal::new(INVALID_PARAMS, message));
    }
    if let Some(session) = &context.session {
        let sessions = &shared.mcp.sessions;
        if !sessions.watch(session, context.caller.id(), &uri) {
            let message = "Too many resources are watched already";
            return Err(Refusal::new(INVALID_PARAMS, message));
        }
    }
    Ok(Bytes::from_static(b"{}"))
}

/// The longest address that is remembered for a session.
const LONGEST_WATCHED: usize = 2_048;

/// Whether there is something that the caller may read.
pub(super) fn is_readable(shared: &Shared, catalog: &Catalog, caller: &Caller, uri: &str) -> bool {
    catalog.resource(uri).is_some_and(|(resource, _)| {
        shared.calls.operation(&resource.listed.id).is_some()
            && resource.listed.is_for(caller.identity.as_ref())
    })
}

pub(super) fn unwatch(
    shared: &Shared,
    context: &RequestContext,
    params: &Object<'_>,
) -> Result<Bytes, Refusal> {
    let uri = uri_of(params)?;
    if let Some(session) = &context.session {
        let sessions = &shared.mcp.sessions;
        sessions.unwatch(session, context.caller.id(), &uri);
    }
    Ok(Bytes::from_static(b"{}"))
}

/// What becomes of a failure where only an error of the protocol can report it.
pub(super) fn refused(
    shared: &Shared,
    context: &RequestContext,
    error: CallError,
    spec: &OperationSpec,
) -> Reply {
    let error = result::masked(shared, error, &context.request_id);
    let has_identity = context.caller.identity.is_some();
    match result::refusal_of_error(error, spec, has_identity) {
        Failed::Refused(refusal) => Reply::Refused(refusal),
        Failed::Silence => Reply::Silence,
        Failed::Result(_) | Failed::Denied(..) => {
            Reply::Refused(Refusal::new(INTERNAL_ERROR, "The operation failed"))
        }
    }
}

/// What an operation gave is nothing that could be sent.
pub(super) fn unusable(shared: &Shared, context: &RequestContext, spec: &OperationSpec) -> Reply {
    let message = format!("{} gave nothing that could be sent", spec.id());
    let error = CallError::new("UNKNOWN_ERROR", message);
    refused(shared, context, error, spec)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests: a failure should stop them")]

    use super::*;

    fn of(data: &Value, meta: &Value, declared: Option<&str>) -> Value {
        let envelope = json!({ "data": data, "meta": meta }).to_string();
        let text = contents(&envelope.into(), "a://b", declared).expect("contents");
        serde_json::from_str(&text).expect("JSON")
    }

    #[test]
    fn data_becomes_contents() {
        let local = json!({ "source": "local" });
        let content = |mime_type: &str, name: &str, value: &str| json!([{ "uri": "a://b", "mimeType": mime_type, name: value }]);
        assert_eq!(
            of(&json!("x"), &local, None),
            content("text/plain", "text", "x")
        );
        assert_eq!(
            of(&json!({ "a": 1 }), &local, None),
            content("application/json", "text", "{\"a\":1}")
        );
        assert_eq!(
            of(&json!({ "$bytes": "AAAA" }), &local, Some("image/png")),
            content("image/png", "blob", "AAAA")
        );
        let http = json!({ "source": "http", "contentType": "text/csv; charset=utf-8" });
        assert_eq!(
            of(&json!("x"), &http, None),
            content("text/csv", "text", "x")
        );
        let own = json!([{ "uri": "c://d", "text": "y" }]);
        assert_eq!(of(&json!({ "contents": own }), &local, None), own);
    }
}

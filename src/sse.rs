//! Server-sent events in a text, for the facade.

use napi::bindgen_prelude::Env;
use napi_derive::napi;
use operations_core::error::{CallError, InfrastructureErrorCode};
use operations_http::sse::{DEFAULT_EVENT_TYPE, parse_frames};

use crate::border::runtime::Runtime;

/// The finished events of a text, as JSON: how many UTF-16 units at its end are not read, then data,
/// type and id of each event in turn. A type that is the usual one and an id that is that of the
/// event before are null, so that a long id crosses once and not with each event.
#[napi(js_name = "parseSSEFrames")]
pub(crate) fn parse_sse_frames(env: Env, runtime: &Runtime, text: String) -> napi::Result<String> {
    runtime.bridge.run(&env, || {
        let frames = parse_frames(&text);
        let unread = frames.remaining.encode_utf16().count();
        let mut parts: Vec<Option<&str>> = Vec::with_capacity(frames.events.len() * 3);
        let mut last_id = "";
        for frame in &frames.events {
            let event_type = &*frame.event_type;
            let id = &*frame.last_event_id;
            // Where it is the same object, a long id need not be compared.
            let is_same_id = std::ptr::eq(id, last_id) || id == last_id;
            parts.push(Some(&frame.data));
            parts.push((event_type != DEFAULT_EVENT_TYPE).then_some(event_type));
            parts.push((!is_same_id).then_some(id));
            last_id = id;
        }
        serde_json::to_string(&(unread, parts)).map_err(|error| {
            CallError::new(
                InfrastructureErrorCode::UnknownError,
                format!("The events cannot be written as JSON: {error}"),
            )
        })
    })
}

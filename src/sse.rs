//! Server-sent events in a text, for the facade.

use napi::bindgen_prelude::Env;
use napi_derive::napi;
use operations_http::sse::parse_frames;

use crate::interop::runtime::Runtime;

/// The finished events of a text, as JSON (`Frames::to_json`).
#[napi(js_name = "parseSSEFrames", catch_unwind)]
pub(crate) fn parse_sse_frames(env: Env, runtime: &Runtime, text: String) -> napi::Result<String> {
    let frames = || Ok(parse_frames(&text).to_json());
    runtime.bridge.run(&env, frames)
}

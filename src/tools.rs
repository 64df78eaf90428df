//! Tools for models: schemas in a target's dialect, names, and texts that fit.

use std::sync::Arc;

use napi::bindgen_prelude::Env;
use napi_derive::napi;
use operations_core::call::check_input;
use operations_core::error::CallError;
use operations_tools::{Projection, Target, arguments, names, preview, project_schema, redact};
use serde_json::{Value, json};

use crate::interop::bridge::Bridge;
use crate::interop::runtime::Runtime;

/// A schema in the dialect of a target, and the way back.
#[napi]
pub struct ToolProjection {
    bridge: Arc<Bridge>,
    projection: Projection,
}

#[napi]
impl ToolProjection {
    /// Projects a schema, which is JSON. Throws when no value that the target can express fits it.
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, runtime: &Runtime, schema: String, target: String) -> napi::Result<Self> {
        let bridge = Arc::clone(&runtime.bridge);
        let projection = bridge.run(&env, || {
            let target = target_of(&target)?;
            project_schema(&parsed(&schema)?, target).map_err(|unusable| {
                let message = format!(
                    "The schema cannot be used for {}: {} (at {})",
                    target.as_str(),
                    unusable.reason,
                    or_root(&unusable.path)
                );
                let details = json!({ "path": unusable.path, "reason": unusable.reason });
                CallError::invalid(message).with_details(details)
            })
        })?;
        Ok(Self { bridge, projection })
    }

    /// The projected schema, as JSON.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn schema(&self) -> String {
        self.projection.schema.to_string()
    }

    /// What was lost: a JSON list of kinds, paths and messages.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn losses(&self) -> String {
        json!(self.projection.losses).to_string()
    }

    /// Whether `restore` ever changes anything.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn restores(&self) -> bool {
        self.projection.restores()
    }

    /// Whether the original takes no value at all; what is restored is then null.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn takes_nothing(&self) -> bool {
        self.projection.takes_nothing()
    }

    /// A JSON value in the shape of the projection, in the shape of the original.
    #[napi(catch_unwind)]
    pub fn restore(&self, env: Env, value: String) -> napi::Result<String> {
        self.bridge.run(&env, || {
            Ok(self.projection.restore(parsed(&value)?).to_string())
        })
    }

    /// A model's arguments as it wrote them, in the shape of the original.
    #[napi(catch_unwind)]
    pub fn read_arguments(&self, env: Env, text: String) -> napi::Result<String> {
        self.bridge.run(&env, || {
            let value = arguments::read_arguments(&text).map_err(CallError::invalid)?;
            check_input("called by this tool", &arguments::json_text(&text))?;
            Ok(self.projection.restore(value).to_string())
        })
    }
}

/// A name for each operation: from its id, or from the name that was chosen for it.
#[napi(catch_unwind)]
pub(crate) fn tool_names(
    env: Env,
    runtime: &Runtime,
    ids: Vec<String>,
    chosen: Vec<Option<String>>,
    target: String,
) -> napi::Result<Vec<String>> {
    runtime.bridge.run(&env, || {
        let rules = target_of(&target)?.rules();
        let chosen = chosen.iter().map(Option::as_deref);
        let named: Vec<_> = ids.iter().map(String::as_str).zip(chosen).collect();
        Ok(names::tool_names(&named, rules))
    })
}

/// The longest description that a target takes, in characters.
#[napi(catch_unwind)]
pub(crate) fn tool_description_limit(
    env: Env,
    runtime: &Runtime,
    target: String,
) -> napi::Result<Option<u32>> {
    runtime.bridge.run(&env, || {
        let limit = target_of(&target)?.rules().description;
        Ok(limit.and_then(|limit| u32::try_from(limit).ok()))
    })
}

/// A text within a number of bytes; nothing if it is.
#[napi(catch_unwind)]
#[must_use]
pub(crate) fn shortened_text(text: String, is_json: bool, max: u32) -> Option<String> {
    preview::shortened(&text, is_json, max as usize)
}

/// A message without stack lines and without what looks like a secret.
#[napi(catch_unwind)]
#[must_use]
pub(crate) fn message_for_model(message: String) -> String {
    redact::for_a_model(&message)
}

fn target_of(name: &str) -> Result<Target, CallError> {
    Target::from_name(name).ok_or_else(|| {
        let known = Target::ALL.map(|target| format!("\"{}\"", target.as_str()));
        let message = format!(
            "target must be one of {}, not {}",
            known.join(", "),
            json!(name)
        );
        CallError::invalid(message)
    })
}

fn parsed(text: &str) -> Result<Value, CallError> {
    serde_json::from_str(text)
        .map_err(|error| CallError::invalid(format!("The JSON cannot be read: {error}")))
}

fn or_root(path: &str) -> &str {
    if path.is_empty() { "the root" } else { path }
}

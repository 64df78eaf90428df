//! What is served, as peers are told of it: whole specs, without the rules who may call them.

use operations_core::access::{AccessControl, Identity, enforce_access};
use operations_core::error::CallError;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::described::Described;

/// An operation as the host describes it (`facade/call/described.ts`).
#[derive(Debug, Deserialize)]
struct Listed {
    id: String,
    access: AccessControl,
    /// What others see of it.
    spec: Box<RawValue>,
}

/// The operations of a registry, at one time.
#[derive(Debug)]
pub(super) struct List {
    revision: u64,
    operations: Vec<Listed>,
}

impl List {
    /// Those that somebody may call, each as JSON.
    pub(super) fn shown_to(
        &self,
        identity: Option<&Identity>,
        is_shown: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let may = |listed: &&Listed| {
            enforce_access(&listed.access, identity, &listed.id).is_ok() && is_shown(&listed.id)
        };
        let shown = self.operations.iter().filter(may);
        shown.map(|listed| listed.spec.get().to_owned()).collect()
    }
}

impl Described for List {
    const QUESTION: &'static str = r#"{"describe":"hub"}"#;

    fn read(text: &str, revision: u64) -> Result<Self, CallError> {
        let operations = serde_json::from_str(text).map_err(|error| {
            CallError::unknown(format!("The list of operations cannot be read: {error}"))
        })?;
        Ok(Self {
            revision,
            operations,
        })
    }

    fn revision(&self) -> u64 {
        self.revision
    }
}

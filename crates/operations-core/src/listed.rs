//! How operations are listed for others, on every transport: whole specs, without the rules who may call them.

use serde::Deserialize;
use serde_json::Value;

use crate::access::{AccessControl, CallInput, Identity, enforce_access};
use crate::error::CallError;

/// An operation as the host describes it (`facade/call/described.ts`).
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Listed {
    /// `namespace.name`.
    pub id: String,
    access: AccessControl,
    /// What others see of it.
    pub spec: Value,
}

impl Listed {
    /// Reads a list of them, which is JSON.
    ///
    /// # Errors
    ///
    /// When it is not one.
    pub fn read(text: &str) -> Result<Vec<Self>, CallError> {
        serde_json::from_str(text).map_err(|error| {
            CallError::unknown(format!("The list of operations cannot be read: {error}"))
        })
    }

    /// Whether an identity sees it: if it may call it.
    #[must_use]
    pub fn is_shown_to(&self, identity: Option<&Identity>) -> bool {
        enforce_access(&self.access, identity, &self.id, CallInput::Any).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_may_not_call_it_do_not_see_it() {
        let text = r#"[
            {"id":"a.open","access":{"requiredScopes":[]},"spec":{"name":"open"}},
            {"id":"a.secret","access":{"requiredScopes":["admin"]},"spec":{"name":"secret"}}
        ]"#;
        let listed = Listed::read(text).unwrap();
        let shown = |identity: Option<&Identity>| -> Vec<&str> {
            let shown = listed.iter().filter(|each| each.is_shown_to(identity));
            shown.map(|each| each.id.as_str()).collect()
        };
        let admin = Identity {
            id: "root".to_owned(),
            scopes: vec!["admin".to_owned()],
            ..Identity::default()
        };
        assert_eq!(shown(None), ["a.open"]);
        assert_eq!(shown(Some(&Identity::default())), ["a.open"]);
        assert_eq!(shown(Some(&admin)), ["a.open", "a.secret"]);
        assert!(Listed::read("{}").is_err());
    }
}

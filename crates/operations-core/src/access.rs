//! Who may call an operation.
//!
//! The rules fail closed: what cannot be decided here is denied, with a message that says why.

mod condition;

use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value, json};

use crate::error::{CallError, InfrastructureErrorCode};
pub use condition::{CallInput, Condition, Conditions};

/// What an operation demands of its caller.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccessControl {
    /// Scopes of which the caller needs every one.
    pub required_scopes: Vec<String>,
    /// Scopes of which the caller needs one, when there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_scopes_any: Option<Vec<String>>,
    /// The kind of resource that the caller must hold; goes together with the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<String>,
    /// What the caller must be allowed to do with such a resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_action: Option<String>,
    /// The name of a function of the application, which only a registry can call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_auth: Option<String>,
    /// What the call must be like.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Conditions>,
    /// Rules that must hold as well, because they cannot be merged with these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<AccessControl>,
}

impl AccessControl {
    /// Callers need every one of these scopes.
    #[must_use]
    pub fn scopes<S: Into<String>>(scopes: impl IntoIterator<Item = S>) -> Self {
        Self {
            required_scopes: scopes.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Callers need one of these scopes.
    #[must_use]
    pub fn any_scope<S: Into<String>>(scopes: impl IntoIterator<Item = S>) -> Self {
        Self {
            required_scopes_any: Some(scopes.into_iter().map(Into::into).collect()),
            ..Self::default()
        }
    }

    /// The rules that a caller meets who may call, for records: the same words as in `facade/registry/audit.ts`.
    #[must_use]
    pub fn met(&self) -> String {
        let mut met: Vec<&str> = Vec::new();
        for rules in [self].into_iter().chain(&self.also) {
            let any_of = rules.required_scopes_any.as_deref().unwrap_or_default();
            let of_these = [
                (!rules.required_scopes.is_empty(), "requiredScopes"),
                (!any_of.is_empty(), "requiredScopesAny"),
                (rules.resource_type.is_some(), "resource"),
                (rules.when.is_some(), "when"),
            ];
            for (is_met, rule) in of_these {
                if is_met && !met.contains(&rule) {
                    met.push(rule);
                }
            }
        }
        if met.is_empty() {
            "open".to_owned()
        } else {
            met.join(", ")
        }
    }
}

/// Who calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// Who it is.
    pub id: String,
    /// What they may do in general.
    pub scopes: Vec<String>,
    /// What they may do with which resource: `type:id` to actions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<Map<String, Value>>,
    /// What else is known of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Map<String, Value>>,
}

impl Identity {
    /// A caller with these scopes.
    pub fn new<S: Into<String>>(
        id: impl Into<String>,
        scopes: impl IntoIterator<Item = S>,
    ) -> Self {
        Self {
            id: id.into(),
            scopes: scopes.into_iter().map(Into::into).collect(),
            resources: None,
            claims: None,
        }
    }
}

/// Whether a text is an [`Identity`], without making one of it. A list is not one, although `serde` would take it for the fields
/// in their order: JavaScript would find neither an id nor scopes in it.
#[must_use]
pub fn is_identity(text: &str) -> bool {
    /// A string.
    struct Text;

    struct AnyText;

    impl Visitor<'_> for AnyText {
        type Value = Text;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string")
        }

        fn visit_str<E>(self, _: &str) -> Result<Text, E> {
            Ok(Text)
        }
    }

    impl<'de> Deserialize<'de> for Text {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_str(AnyText)
        }
    }

    /// The fields of an identity.
    #[derive(Deserialize)]
    struct Shape {
        #[serde(rename = "id")]
        _id: Text,
        #[serde(rename = "scopes")]
        _scopes: Vec<Text>,
        #[serde(rename = "resources")]
        _resources: Option<Map<String, Value>>,
        #[serde(rename = "claims")]
        _claims: Option<Map<String, Value>>,
    }

    text.starts_with('{') && serde_json::from_str::<Shape>(text).is_ok()
}

/// Why a caller was refused. It names what was missing, never what the caller holds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Denial {
    /// There are requirements and no identity to check them against.
    #[error("identity required")]
    IdentityRequired,
    /// Some of the scopes that are all needed are missing.
    #[error("missing required scopes: {}", .0.join(", "))]
    MissingScopes(Vec<String>),
    /// None of the alternative scopes is there.
    #[error("at least one of these scopes is required: {}", .0.join(", "))]
    MissingAnyScope(Vec<String>),
    /// No resource of the kind allows the action.
    #[error("action \"{action}\" on a resource of type \"{resource_type}\" is required")]
    MissingResource {
        /// The kind of resource.
        resource_type: String,
        /// The action.
        action: String,
    },
    /// The rule names a kind of resource without an action, or the other way round.
    #[error("resourceType and resourceAction must be declared together")]
    IncompleteResourceRule,
    /// The call is not what it must be like: the paths that were looked at.
    #[error("the call does not meet the condition on {}", .0.join(", "))]
    UnmetCondition(Vec<String>),
    /// The rule names a function that cannot be called here.
    #[error("customAuth \"{0}\" is not registered here")]
    CustomAuthUnavailable(String),
}

impl Denial {
    /// The same facts for a program to read.
    fn details(&self, operation_id: &str) -> Value {
        let mut details = json!({ "operationId": operation_id });
        let (key, value) = match self {
            Self::IdentityRequired => ("identityRequired", json!(true)),
            Self::MissingScopes(scopes) => ("missingScopes", json!(scopes)),
            Self::MissingAnyScope(scopes) => ("requiredScopesAny", json!(scopes)),
            Self::MissingResource {
                resource_type,
                action,
            } => (
                "resource",
                json!({ "resourceType": resource_type, "resourceAction": action }),
            ),
            Self::IncompleteResourceRule => ("incompleteResourceRule", json!(true)),
            Self::UnmetCondition(paths) => ("condition", json!(paths)),
            Self::CustomAuthUnavailable(name) => ("customAuth", json!(name)),
        };
        if let Some(object) = details.as_object_mut() {
            object.insert(key.to_owned(), value);
        }
        details
    }

    /// The error that the caller gets.
    fn into_error(self, operation_id: &str) -> CallError {
        CallError::new(
            InfrastructureErrorCode::AccessDenied,
            format!("Access denied to operation {operation_id}: {self}"),
        )
        .with_details(self.details(operation_id))
    }
}

/// The first requirement that is not met. The same rules, in the same order, as in `facade/access.ts`.
fn decide(
    rules: &AccessControl,
    identity: Option<&Identity>,
    input: CallInput<'_>,
) -> Result<(), Denial> {
    let any_of = rules.required_scopes_any.as_deref().unwrap_or_default();
    let resource = match (&rules.resource_type, &rules.resource_action) {
        (None, None) => None,
        (Some(kind), Some(action)) => Some((kind, action)),
        _ => return Err(Denial::IncompleteResourceRule),
    };
    let open = rules.required_scopes.is_empty() && any_of.is_empty() && resource.is_none();
    if !open {
        let identity = identity.ok_or(Denial::IdentityRequired)?;
        let missing: Vec<String> = rules
            .required_scopes
            .iter()
            .filter(|scope| !identity.scopes.contains(scope))
            .cloned()
            .collect();
        if !missing.is_empty() {
            return Err(Denial::MissingScopes(missing));
        }
        if !any_of.is_empty() && !any_of.iter().any(|scope| identity.scopes.contains(scope)) {
            return Err(Denial::MissingAnyScope(any_of.to_vec()));
        }
        if let Some((kind, action)) = resource
            && !holds_resource(identity, kind, action)
        {
            return Err(Denial::MissingResource {
                resource_type: kind.clone(),
                action: action.clone(),
            });
        }
    }
    let unmet = rules.when.as_ref();
    if let Some(paths) = unmet.and_then(|conditions| conditions.unmet(input, identity)) {
        return Err(Denial::UnmetCondition(paths));
    }
    if let Some(name) = &rules.custom_auth {
        return Err(Denial::CustomAuthUnavailable(name.clone()));
    }
    rules
        .also
        .iter()
        .try_for_each(|more| decide(more, identity, input))
}

fn holds_resource(identity: &Identity, kind: &str, action: &str) -> bool {
    identity.resources.iter().flatten().any(|(key, actions)| {
        key.strip_prefix(kind)
            .is_some_and(|rest| rest.starts_with(':'))
            && actions
                .as_array()
                .is_some_and(|list| list.iter().any(|held| held.as_str() == Some(action)))
    })
}

/// Lets the caller pass, or says what was missing. Lists have no call yet: they ask for [`CallInput::Any`].
///
/// # Errors
///
/// `ACCESS_DENIED`, unless every requirement is met.
pub fn enforce_access(
    rules: &AccessControl,
    identity: Option<&Identity>,
    operation_id: &str,
    input: CallInput<'_>,
) -> Result<(), CallError> {
    decide(rules, identity, input).map_err(|denial| denial.into_error(operation_id))
}

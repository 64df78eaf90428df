//! The tables in `cases/` are run here and, by `__test__/shared-cases.test.mjs`, against the
//! JavaScript functions of the same names. A rule that changes on one side only fails the other.

use std::fs;
use std::path::Path;

use operations_core::access::{AccessControl, CallInput, Conditions, Identity, enforce_access};
use operations_core::call::CallEvent;
use operations_core::envelope::EnvelopeParts;
use operations_core::error::InfrastructureErrorCode;
use operations_core::json::{Document, Object};
use operations_core::nearest::nearest_id;
use operations_core::trace;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

fn cases<T: DeserializeOwned>(file: &str) -> Vec<T> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cases")
        .join(file);
    let cases: Vec<T> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert!(!cases.is_empty(), "{file} holds no case");
    cases
}

#[derive(Deserialize)]
struct EnvelopeCase {
    name: String,
    value: Value,
    envelope: bool,
}

#[test]
fn envelopes_are_recognised() {
    for case in cases::<EnvelopeCase>("envelopes.json") {
        assert_eq!(
            EnvelopeParts::of(Document::from(&case.value).root()).is_some(),
            case.envelope,
            "{}",
            case.name
        );
    }
}

#[derive(Deserialize)]
struct ConditionCase {
    name: String,
    when: Conditions,
    identity: Option<Identity>,
    input: Option<Value>,
    #[serde(default)]
    listed: bool,
    allowed: bool,
}

#[test]
fn conditions_are_decided() {
    for case in cases::<ConditionCase>("conditions.json") {
        let rules = AccessControl {
            when: Some(case.when),
            ..AccessControl::default()
        };
        let input = case.input.as_ref().map(ToString::to_string);
        let given = if case.listed {
            CallInput::Any
        } else {
            CallInput::Json(input.as_deref())
        };
        let outcome = enforce_access(&rules, case.identity.as_ref(), "ns.op", given);
        assert_eq!(outcome.is_ok(), case.allowed, "{}", case.name);
        if let Err(error) = outcome {
            assert!(error.message.contains("does not meet the condition on"));
        }
    }
}

#[derive(Deserialize)]
struct AccessCase {
    name: String,
    rules: AccessControl,
    identity: Option<Identity>,
    allowed: bool,
    message: Option<String>,
    #[serde(default)]
    details: Map<String, Value>,
}

#[test]
fn access_is_decided() {
    for case in cases::<AccessCase>("access.json") {
        let identity = case.identity.as_ref();
        let outcome = enforce_access(&case.rules, identity, "ns.op", CallInput::Any);
        assert_eq!(outcome.is_ok(), case.allowed, "{}", case.name);
        if let Err(error) = outcome {
            assert!(error.is(InfrastructureErrorCode::AccessDenied));
            assert!(error.message.contains("ns.op"), "{}", error.message);
            assert!(
                error.message.contains(case.message.as_deref().unwrap()),
                "{}: {}",
                case.name,
                error.message
            );
            let mut expected = case.details.clone();
            expected.insert("operationId".to_owned(), "ns.op".into());
            assert_eq!(
                error.details,
                Some(Value::Object(expected)),
                "{}",
                case.name
            );
            assert!(
                !format!("{error:?}").contains("secret-scope"),
                "{}",
                case.name
            );
        }
    }
}

#[derive(Deserialize)]
struct TraceCase {
    name: String,
    trace: Value,
    kept: Option<Value>,
}

#[test]
fn only_a_well_formed_trace_is_handed_on() {
    for case in cases::<TraceCase>("traces.json") {
        let text = case.trace.to_string();
        let kept = trace::carried_in(&Object::read(&text).unwrap());
        let kept = kept.map(|kept| serde_json::from_str::<Value>(&kept).unwrap());
        assert_eq!(kept, case.kept, "{}", case.name);
        let fields = trace::fields(&text).into_iter();
        let fields: Map<String, Value> = fields
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect();
        let expected = case.kept.unwrap_or_else(|| Value::Object(Map::new()));
        assert_eq!(Value::Object(fields), expected, "{}", case.name);
    }
}

#[derive(Deserialize)]
struct NearestCase {
    wanted: String,
    names: Vec<String>,
    nearest: Option<String>,
}

#[test]
fn the_nearest_name_is_found() {
    for case in cases::<NearestCase>("nearest.json") {
        let names: Vec<&str> = case.names.iter().map(String::as_str).collect();
        let found = nearest_id(&case.wanted, &names);
        assert_eq!(found, case.nearest.as_deref(), "{}", case.wanted);
    }
}

#[derive(Deserialize)]
struct InternalCase {
    name: String,
    payload: Value,
    internal: bool,
    sent: Option<bool>,
}

#[test]
fn errors_that_were_not_meant_for_callers_are_known() {
    for case in cases::<InternalCase>("internal.json") {
        let text = case.payload.to_string();
        let error = CallEvent::read_error(&Object::read(&text).unwrap()).unwrap();
        assert_eq!(error.is_internal, case.internal, "{}", case.name);
        let sent: Value = serde_json::to_value(&error).unwrap();
        let sent = sent.get("isInternal").and_then(Value::as_bool);
        assert_eq!(sent, case.sent, "{}", case.name);
    }
}

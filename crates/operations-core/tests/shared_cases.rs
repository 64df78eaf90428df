//! The tables in `cases/` are run here and, by `__test__/shared-cases.test.mjs`, against the
//! JavaScript functions of the same names. A rule that changes on one side only fails the other.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail loudly")]

use std::fs;
use std::path::Path;

use operations_core::access::{AccessControl, Identity, check_access, enforce_access};
use operations_core::envelope::{ResponseEnvelope, is_response_envelope};
use operations_core::error::{InfrastructureErrorCode, code_for_message};
use operations_core::spec::ErrorDefinition;
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
            is_response_envelope(&case.value),
            case.envelope,
            "{}",
            case.name
        );
    }
}

#[test]
fn what_is_recognised_can_be_read_and_written_unchanged() {
    for case in cases::<EnvelopeCase>("envelopes.json") {
        if !case.envelope || case.name.contains("more fields") {
            continue;
        }
        let envelope: ResponseEnvelope = serde_json::from_value(case.value.clone()).unwrap();
        let mut back = serde_json::to_value(&envelope).unwrap();
        // Whole numbers are read as f64, which serde writes with a fraction: compare as numbers.
        normalise_numbers(&mut back);
        let mut sent = case.value;
        normalise_numbers(&mut sent);
        assert_eq!(back, sent, "{}", case.name);
    }
}

fn normalise_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => *value = Value::from(number.as_f64().unwrap()),
        Value::Array(items) => items.iter_mut().for_each(normalise_numbers),
        Value::Object(entries) => entries.values_mut().for_each(normalise_numbers),
        _ => {}
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
        assert_eq!(
            check_access(&case.rules, identity),
            case.allowed,
            "{}",
            case.name
        );
        let outcome = enforce_access(&case.rules, identity, "ns.op", false);
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
        assert!(enforce_access(&case.rules, identity, "ns.op", true).is_ok());
    }
}

#[derive(Deserialize)]
struct CodeCase {
    message: String,
    declared: Vec<String>,
    code: String,
}

#[test]
fn declared_codes_are_found_in_messages() {
    for case in cases::<CodeCase>("error-codes.json") {
        let declared: Vec<ErrorDefinition> = case
            .declared
            .iter()
            .map(|code| ErrorDefinition {
                code: code.clone(),
                description: None,
                schema: None,
                http_status: None,
            })
            .collect();
        assert_eq!(
            code_for_message(&case.message, &declared),
            case.code,
            "{:?}",
            case.message
        );
    }
}

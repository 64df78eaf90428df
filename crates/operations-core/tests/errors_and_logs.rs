//! Panics become errors, log lines reach their logger. A binary of its own: it makes the panics of its process quiet.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may fail loudly, and one must panic"
)]

use std::sync::{Arc, Mutex};

use operations_core::error::{CallError, InfrastructureErrorCode};
use operations_core::log::{Level, Logger};
use operations_core::panic::{guard, install_quiet_hook};
use serde_json::json;

#[test]
fn a_panic_becomes_an_unknown_error_and_asks_for_a_report() {
    install_quiet_hook();
    let caught = guard::<()>(|| panic!("index {} out of range", 7)).unwrap_err();
    assert!(caught.is(InfrastructureErrorCode::UnknownError));
    assert!(caught.message.contains("index 7 out of range"));
    assert!(caught.message.contains("report"));
    let details = caught.details.unwrap();
    assert_eq!(details["panic"], "index 7 out of range");
    let location = details["location"].as_str().unwrap();
    assert!(location.contains("errors_and_logs.rs:"), "{location}");
}

#[test]
fn a_panic_with_a_payload_of_its_own_is_caught_too() {
    let caught = guard::<()>(|| std::panic::panic_any(42_u8)).unwrap_err();
    assert!(caught.is(InfrastructureErrorCode::UnknownError));
    assert!(caught.message.contains("without a message"));
}

#[test]
fn an_error_passes_the_guard_untouched() {
    let error = CallError::new("MY_CODE", "mine").with_details(json!([1]));
    assert_eq!(guard::<()>(|| Err(error.clone())).unwrap_err(), error);
    assert_eq!(guard(|| Ok(3)), Ok(3));
}

#[test]
fn errors_travel_as_json() {
    let error = CallError::new(InfrastructureErrorCode::Timeout, "too late");
    let text = serde_json::to_string(&error).unwrap();
    assert_eq!(text, r#"{"code":"TIMEOUT","message":"too late"}"#);
    assert_eq!(serde_json::from_str::<CallError>(&text).unwrap(), error);
}

#[test]
fn log_lines_reach_the_sink_from_any_thread() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let logger = {
        let lines = Arc::clone(&lines);
        Logger::new(move |record| lines.lock().unwrap().push(record))
    };
    std::thread::spawn({
        let logger = logger.clone();
        move || {
            logger.log(
                Level::Warning,
                "mcp",
                "server is slow",
                [("server", json!("files"))],
            );
        }
    })
    .join()
    .unwrap();
    let lines = lines.lock().unwrap();
    let line = lines.first().unwrap();
    assert_eq!((line.level.as_str(), line.module), ("warning", "mcp"));
    assert_eq!(line.properties.get("server"), Some(&json!("files")));
    Logger::silent().log(Level::Error, "mcp", "this is not logged", []);
}

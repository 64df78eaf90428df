//! Events from peers that mean harm, or are broken: none ends the process, and what is believed can be believed.
//! `OPERATIONS_SEED` repeats a run.

use std::time::{SystemTime, UNIX_EPOCH};

use operations_core::call::{CallEvent, EventType};
use operations_core::json::Object;
use serde_json::Value;

const EVENTS: usize = 60_000;

/// Values that have broken something somewhere.
const ODD: [&str; 16] = [
    "null",
    "true",
    "0",
    "-1",
    "1e999",
    "\"\"",
    "\"\\ud800\"",
    "[]",
    "[[[]]]",
    "{}",
    r#"{"toString":1,"valueOf":1}"#,
    r#"{"__proto__":{"trusted":true}}"#,
    r#"{"requestId":{}}"#,
    r#"{"payload":{"payload":{}}}"#,
    r#"{"data":1,"meta":{"source":"local"}}"#,
    "1 2",
];

struct Random(u64);

impl Random {
    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// An event most of whose fields are right.
fn event(random: &mut Random) -> String {
    let kind = EventType::ALL[random.below(5)].as_str();
    let mut fields = Vec::new();
    for (name, right) in [
        ("requestId", r#""r""#),
        ("operationId", r#""a.b""#),
        ("input", "{}"),
        ("code", r#""BROKEN""#),
        ("message", r#""text""#),
        (
            "output",
            r#"{"data":1,"meta":{"source":"local","operationId":"a.b","timestamp":1}}"#,
        ),
        ("identity", r#"{"id":"u","scopes":["s"]}"#),
        ("metadata", "{}"),
        ("deadline", "5"),
        ("details", "{}"),
    ] {
        match random.below(10) {
            0 => {}
            1 => fields.push(format!("\"{name}\":{}", ODD[random.below(ODD.len())])),
            _ => fields.push(format!("\"{name}\":{right}")),
        }
    }
    let mut text = format!(
        r#"{{"type":"{kind}","id":"","payload":{{{}}}}}"#,
        fields.join(",")
    );
    // One in five is cut or has a byte replaced.
    if random.below(5) == 0 {
        let at = random.below(text.len());
        if text.is_char_boundary(at) {
            if random.below(2) == 0 {
                text.truncate(at);
            } else {
                text.insert(at, char::from(b" \"{}[],:\\0"[random.below(10)]));
            }
        }
    }
    text
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_panics() {
    let seed = std::env::var("OPERATIONS_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            now.as_secs()
        });
    println!("OPERATIONS_SEED={seed}, {EVENTS} events");
    let mut random = Random(seed);
    let (mut believed, mut refused) = (0, 0);
    for _ in 0..EVENTS {
        let text = event(&mut random);
        let channel = (random.below(2) == 0).then(|| EventType::ALL[random.below(5)]);
        let read = Object::read(&text).map(|message| CallEvent::read(channel, &message));
        let Ok(Ok(event)) = read else {
            refused += 1;
            continue;
        };
        believed += 1;
        assert!(!event.request_id().is_empty() || text.contains(r#""requestId":"""#));
        let payload = serde_json::from_str::<Value>(&text)
            .ok()
            .map(|whole| whole["payload"].clone());
        match &event {
            CallEvent::Error { error, .. } => {
                if let Some(payload) = payload {
                    assert_eq!(payload["code"].as_str(), Some(&*error.code), "{text}");
                    assert_eq!(payload["message"].as_str(), Some(&*error.message), "{text}");
                }
            }
            CallEvent::Requested(request) => {
                if let Some(identity) = request.identity {
                    let identity: Value = serde_json::from_str(identity).expect("JSON");
                    assert!(
                        identity["id"].is_string() && identity["scopes"].is_array(),
                        "{text}"
                    );
                }
                assert!(request.deadline.is_none_or(f64::is_finite), "{text}");
            }
            _ => {}
        }
    }
    assert!(believed > 1000 && refused > 1000, "{believed} {refused}");
}

//! Requests at random, made of parts that mean something here: whatever comes, there is an answer, and it is never that something
//! went wrong in the server. `OPERATIONS_SEED` repeats a run, `OPERATIONS_CASES` makes it longer.
#![allow(clippy::print_stdout, reason = "a run says how to repeat it")]

use std::env;
use std::time::{SystemTime, UNIX_EPOCH};

use operations_serve::embedded::{Embedded, Incoming};
use serde_json::{Value, json};

use crate::support::served;

/// A small generator, whose numbers can be had again.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).unwrap()
    }

    fn pick<'t>(&mut self, list: &[&'t str]) -> &'t str {
        list[self.below(list.len())]
    }
}

const METHODS: [&str; 7] = ["GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "QUERY"];
const PATHS: [&str; 16] = [
    "/api",
    "/t",
    "/native",
    "/flat",
    "/items",
    "/stream",
    "/openapi.json",
    "/",
    "//",
    "/%2e%2e",
    "/%FF",
    "/x%2Fy",
    "/{gives}",
    "/mcp",
    "/health",
    "/é",
];
const QUERIES: [&str; 12] = [
    "gives=1",
    "gives=a&gives=b",
    "n=007",
    "n=1e999",
    "n=9007199254740993",
    "&&=",
    "%",
    "%zz=%",
    "__proto__=1",
    "gives=%FF",
    "+=+",
    "a",
];
const HEADERS: [(&str, &str); 14] = [
    ("host", "localhost"),
    ("host", "evil.example"),
    ("content-type", "application/json"),
    ("content-type", "text/plain"),
    ("accept", "application/vnd.alkdev.envelope+json"),
    ("accept", "text/event-stream"),
    ("origin", "null"),
    ("origin", "http://localhost"),
    ("authorization", "Bearer s"),
    ("authorization", "Basic \u{e9}"),
    ("prefer", "wait=1"),
    (
        "traceparent",
        "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    ),
    ("last-event-id", "99999999999999999999"),
    ("mcp-protocol-version", "2026-07-28"),
];
const BODIES: [&str; 12] = [
    "",
    "{}",
    "[",
    "\"\u{fffd}\"",
    "{\"gives\":1}",
    "{\"fail\":\"GONE\"}",
    "{\"fail\":\"ODD\",\"details\":[]}",
    "[{\"gives\":1},{\"fail\":\"GONE\"}]",
    "null",
    "1e999",
    "{\"a\":1,\"a\":2}",
    "[[[[[[[[[[[[",
];

fn setting(name: &str) -> Option<u64> {
    env::var(name).ok()?.parse().ok()
}

#[tokio::test]
async fn whatever_comes_is_answered() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let seed = setting("OPERATIONS_SEED").unwrap_or(u64::from(now.subsec_nanos()));
    let cases = setting("OPERATIONS_CASES").unwrap_or(5_000);
    println!("OPERATIONS_SEED={seed}, {cases} cases");
    let tokens = json!([["s", { "id": "a", "scopes": ["admin"] }]]);
    let served = served(&json!({
        "identity": { "tokens": tokens, "anonymous": true },
        "doors": { "http": { "path": "/api" }, "mcp": { "path": "/mcp", "name": "t", "version": "1" } },
    }));
    let embedded = Embedded::new(served.service.clone());
    let mut random = Random(seed);
    for case in 0..cases {
        let mut target: String = (0..random.below(5)).map(|_| random.pick(&PATHS)).collect();
        if random.below(4) > 0 {
            target.insert_str(0, "/api");
        }
        if random.below(2) > 0 {
            target.push('?');
            let queries: Vec<&str> = (0..random.below(4))
                .map(|_| random.pick(&QUERIES))
                .collect();
            target.push_str(&queries.join("&"));
        }
        let headers: Vec<_> = (0..random.below(6))
            .map(|_| HEADERS[random.below(14)])
            .collect();
        let head = json!({
            "method": random.pick(&METHODS), "target": target, "host": "localhost", "headers": headers,
        });
        let body = random.pick(&BODIES);
        let exchange = embedded.exchange();
        let sent = exchange
            .send(&head.to_string(), Incoming::Whole(body.into()))
            .await;
        let answer: Value = match sent {
            Ok(answer) => serde_json::from_str(&answer).unwrap(),
            // What is no request is not one for the service.
            Err(error) => {
                assert!(
                    error.message.starts_with("The request cannot be used"),
                    "{error:?}"
                );
                continue;
            }
        };
        let status = answer["status"].as_u64().unwrap();
        let about = format!("OPERATIONS_SEED={seed}, case {case}: {head} {body} {answer}");
        // Handlers here fail with a code of their own, which is a 500 by the rules.
        assert!(
            (200..500).contains(&status) || body.contains("ODD"),
            "{about}"
        );
        if let Some(whole) = exchange.whole().filter(|_| status >= 400) {
            let problem: Value = serde_json::from_slice(&whole).expect(&about);
            assert!(
                problem.get("code").is_some() || problem.get("error").is_some(),
                "{about}"
            );
        }
    }
    // Nothing of it is left.
    embedded.close(std::time::Duration::from_secs(5)).await;
    assert_eq!(served.service.shared().stats.to_json()["running"], 0);
    assert_eq!(served.js.pending(), 0);
}

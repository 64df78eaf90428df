//! The reader of messages, held against the one of `serde_json`: both find the same members of a call event and
//! of an MCP message. `cargo test --release -p operations-schema --test it raw_value -- --ignored --nocapture`
//! prints what each takes; decision 15 has the figures.
#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs)]

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use operations_schema::json::Object;
use serde::Deserialize;
use serde_json::value::RawValue;

/// What a struct for both sorts of messages looks like.
#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

const NAMES: [&str; 3] = ["id", "payload", "result"];

/// The members that a transport looks at: kind, then those of `NAMES`.
type Found<'a> = (Option<Cow<'a, str>>, [Option<&'a str>; 3]);

fn with_object(text: &str) -> Found<'_> {
    let object = Object::read(text).unwrap();
    (
        object.string("type").map(Cow::Owned),
        NAMES.map(|name| object.get(name)),
    )
}

fn with_struct(text: &str) -> Found<'_> {
    let message: Message<'_> = serde_json::from_str(text).unwrap();
    let members = [message.id, message.payload, message.result];
    (message.kind, members.map(|value| value.map(RawValue::get)))
}

fn with_map(text: &str) -> Found<'_> {
    let map: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_str(text).unwrap();
    let kind = map.get("type").map(|value| value.get());
    let kind = kind.map(|text| serde_json::from_str(text).unwrap());
    (
        kind,
        NAMES.map(|name| map.get(name).map(|value| value.get())),
    )
}

fn items(count: usize) -> String {
    let mut out = String::from("[");
    for number in 0..count {
        let comma = if number == 0 { "" } else { "," };
        write!(
            out,
            r#"{comma}{{"id":{number},"name":"item \"{number}\"","price":{number}.25,"tags":["a","b"],"text":"some words about it"}}"#
        )
        .unwrap();
    }
    out.push(']');
    out
}

fn messages() -> Vec<(String, String)> {
    let mut out = Vec::new();
    for count in [1, 50, 2000] {
        let items = items(count);
        out.push((
            format!("call event, {count} items"),
            format!(
                r#"{{"type":"call.requested","id":"0f8fad5b","payload":{{"operationId":"shop.list","input":{items}}}}}"#
            ),
        ));
        out.push((
            format!("MCP message, {count} items"),
            format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"structuredContent":{items}}}}}"#),
        ));
    }
    out
}

#[test]
fn all_find_the_same_members() {
    for (name, text) in messages() {
        let found = with_object(&text);
        assert!(found.1.iter().any(Option::is_some), "{name}");
        assert_eq!(found, with_struct(&text), "{name}");
        assert_eq!(found, with_map(&text), "{name}");
    }
}

#[test]
#[ignore = "a measurement"]
fn what_each_takes() {
    type Reader = for<'a> fn(&'a str) -> Found<'a>;
    const READERS: [(&str, Reader); 3] = [
        ("Object", with_object),
        ("struct of RawValue", with_struct),
        ("map of RawValue", with_map),
    ];
    for (name, text) in messages() {
        let expected = with_object(&text);
        let times = 40_000_000 / (text.len() + 2000);
        let mut best = [f64::MAX; READERS.len()];
        // In turn, so that whatever else the machine does is everybody's trouble.
        for _ in 0..9 {
            for ((_, read), best) in READERS.iter().zip(&mut best) {
                let start = Instant::now();
                for _ in 0..times {
                    black_box(read(black_box(&text)));
                }
                *best = best.min(start.elapsed().as_secs_f64() * 1e9 / times as f64);
                assert_eq!(read(&text), expected);
            }
        }
        eprintln!("{name}, {} bytes", text.len());
        for ((reader, _), nanoseconds) in READERS.iter().zip(best) {
            let ratio = nanoseconds / best[0];
            eprintln!("  {reader:20} {nanoseconds:10.0} ns  {ratio:.2}");
        }
    }
}

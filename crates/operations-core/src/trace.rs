//! The trace that a call belongs to, as it travels (W3C Trace Context and Baggage): `traceparent`, `tracestate` and `baggage`,
//! in the headers of HTTP and NATS, in the `_meta` of MCP, and in the events of the call protocol. Nothing here believes
//! what is in it: it is text that is handed on.

use serde_json::{Map, Value};

use crate::json::Object;

/// The fields, and the longest value of each that is handed on, in bytes. What is longer was not meant to be handed on.
pub const FIELDS: [(&str, usize); 3] = [
    ("traceparent", 256),
    ("tracestate", 2_048),
    ("baggage", 8_192),
];

/// The fields that `find` has, as a JSON object; nothing if there are none.
pub fn carried(find: impl Fn(&str) -> Option<String>) -> Option<String> {
    let found: Map<String, Value> = FIELDS
        .into_iter()
        .filter_map(|(name, most)| {
            let value = find(name).filter(|value| value.len() <= most)?;
            Some((name.to_owned(), Value::String(value)))
        })
        .collect();
    (!found.is_empty()).then(|| Value::Object(found).to_string())
}

/// The fields of an object that has others too.
#[must_use]
pub fn carried_in(object: &Object<'_>) -> Option<String> {
    carried(|name| object.string(name))
}

/// The fields of what [`carried`] wrote, or of what somebody else says to be that.
#[must_use]
pub fn fields(trace: &str) -> Vec<(&'static str, String)> {
    let Ok(object) = Object::read(trace) else {
        return Vec::new();
    };
    FIELDS
        .into_iter()
        .filter_map(|(name, most)| {
            let value = object.string(name).filter(|value| value.len() <= most)?;
            Some((name, value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_three_fields_travel() {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let all = format!(r#"{{"traceparent":"{parent}","progressToken":1,"baggage":"a=b"}}"#);
        let carried = carried_in(&Object::read(&all).unwrap()).unwrap();
        assert_eq!(
            carried,
            format!(r#"{{"traceparent":"{parent}","baggage":"a=b"}}"#)
        );
        assert_eq!(
            fields(&carried),
            [
                ("traceparent", parent.to_owned()),
                ("baggage", "a=b".to_owned())
            ]
        );
    }

    #[test]
    fn what_is_too_long_or_no_text_does_not() {
        let long = "x".repeat(8_193);
        assert_eq!(
            carried(|name| (name == "baggage").then(|| long.clone())),
            None
        );
        assert_eq!(carried(|_| None), None);
        assert_eq!(fields(r#"{"traceparent":7}"#), []);
        assert_eq!(fields("["), []);
    }
}

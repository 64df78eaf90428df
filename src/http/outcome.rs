//! How responses cross into JavaScript.

use operations_http::message::{Decoded, ResponseHead, charset, media};
use operations_http::{Fetched, Reply};
use serde_json::json;

use crate::completions::Outcome;

/// What an envelope says about a response, as JSON.
pub(super) fn meta_text(head: &ResponseHead) -> String {
    json!({
        "statusCode": head.status,
        "headers": head.headers,
        "contentType": head.content_type,
        "source": "http",
    })
    .to_string()
}

/// A response as a result.
pub(super) fn reply_outcome(reply: Reply) -> Outcome {
    let about = meta_text(&reply.head);
    match reply.body {
        Decoded::Empty => Outcome::Empty(about),
        Decoded::Json(text) => Outcome::Json(about, text),
        Decoded::Text(text) => Outcome::Text(about, text),
        Decoded::Bytes(bytes) => Outcome::Bytes(about, bytes),
    }
}

/// The text of something that is no operation, whatever type it has.
pub(super) fn fetched_outcome(fetched: Fetched) -> Outcome {
    let about = json!({ "url": fetched.url }).to_string();
    let head = fetched.reply.head;
    let text = match fetched.reply.body {
        Decoded::Empty => String::new(),
        Decoded::Json(text) | Decoded::Text(text) => text,
        Decoded::Bytes(bytes) => {
            let label = media::parameter(&head.content_type, "charset");
            charset::decode(&bytes, label.as_deref())
        }
    };
    Outcome::Text(about, text)
}

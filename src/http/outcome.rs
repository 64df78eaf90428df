//! How results cross into JavaScript.

use napi::bindgen_prelude::{Either, Env};
use operations_core::mailbox::{Attachment, Item};
use operations_http::machine::Output;
use operations_http::message::Decoded;
use operations_http::{Failure, Fetched, Reply, StreamItem, StreamKind};
use serde_json::json;

use crate::interop::mailbox::{JsBatch, to_js};

/// Beyond it, the JSON of a body is parsed by itself (docs/decisions/0006-http-client.md).
const LARGE_BODY: usize = 4096;

/// A response, as an envelope, without `data` if the body is empty, and with what `facade/openapi/outcome.ts` takes off it.
pub(super) fn reply_item(id: u32, reply: Result<Reply, Failure>) -> Item {
    let reply = match reply {
        Ok(reply) => reply,
        Err(failure) => return failed_item(id, failure),
    };
    let mut meta = reply.head.meta_text();
    if let Some(spill) = &reply.spill {
        spill.push_to(&mut meta, &reply.head.content_type);
    }
    let mut more = String::new();
    if reply.head.is_undeclared {
        more.push_str(r#","isUndeclared":true"#);
    }
    if !reply.bigints.is_empty() {
        more.push_str(r#","bigints":"#);
        more.push_str(&json!(reply.bigints).to_string());
    }
    let with = |data: &str| Item::done(id, &format!(r#"{{"data":{data},"meta":{meta}{more}}}"#));
    match reply.body {
        Decoded::Empty => Item::done(id, &format!(r#"{{"meta":{meta}}}"#)),
        Decoded::Json(text) if text.len() > LARGE_BODY => with("null").with(Attachment::Json(text)),
        Decoded::Json(text) => with(&text),
        Decoded::Document(document) => with(document.text()),
        Decoded::Text(text) => with("null").with(Attachment::Text(text)),
        Decoded::Bytes(bytes) => with("null").with(Attachment::Bytes(bytes)),
    }
}

/// The text of a document, as `data`, and where it came from.
pub(super) fn fetched_item(id: u32, fetched: Result<Fetched, Failure>) -> Item {
    match fetched {
        Ok(Fetched { text, url }) => {
            Item::done(id, &json!({ "url": url }).to_string()).with(Attachment::Text(text))
        }
        Err(failure) => failed_item(id, failure),
    }
}

fn failed_item(id: u32, Failure { error, body }: Failure) -> Item {
    let item = Item::failed(id, &error);
    match body {
        Some(bytes) => item.with(Attachment::Bytes(bytes)),
        None => item,
    }
}

/// What `take` of a stream answers instead of a batch (`TAKEN` in `facade/openapi/stream.ts`).
mod code {
    /// Nothing yet.
    pub(super) const WAIT: u32 = 0;
    pub(super) const END: u32 = 1;
    /// `head` describes the events that follow.
    pub(super) const EVENTS: u32 = 2;
    /// `head` describes the lines that follow.
    pub(super) const LINES: u32 = 3;
    /// `failure` says why.
    pub(super) const FAILED: u32 = 4;
}

/// What a stream says next, and what belongs to the last number that was taken.
#[derive(Default)]
pub(super) struct Taken {
    head: String,
    failure: Option<Failure>,
}

impl Taken {
    pub(super) fn answer(&mut self, output: Option<Output>) -> Either<String, u32> {
        Either::B(match output {
            None => code::WAIT,
            Some(Output::Item(StreamItem::Batch(text))) => return Either::A(text),
            Some(Output::Item(StreamItem::Head(head, kind))) => {
                self.head = head.meta_text();
                match kind {
                    StreamKind::Events => code::EVENTS,
                    StreamKind::Lines => code::LINES,
                }
            }
            Some(Output::Failed(failure)) => {
                self.failure = Some(failure);
                code::FAILED
            }
            Some(Output::End | Output::Reply(_)) => code::END,
        })
    }

    /// What an envelope says about the response, as JSON.
    pub(super) fn head(&mut self) -> String {
        std::mem::take(&mut self.head)
    }

    /// Why the stream has failed.
    pub(super) fn failure<'env>(&mut self, env: &'env Env) -> napi::Result<Option<JsBatch<'env>>> {
        let failure = self.failure.take();
        failure
            .map(|failure| to_js(env, failed_item(0, failure).into_batch()))
            .transpose()
    }
}

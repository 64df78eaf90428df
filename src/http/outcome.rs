//! How results cross into JavaScript.

use napi::bindgen_prelude::{Array, Either, Env};
use operations_http::machine::Output;
use operations_http::message::Decoded;
use operations_http::{Failure, Fetched, Reply, StreamItem, StreamKind};
use serde_json::json;

use crate::completions::Outcome;

/// A response as a result.
pub(super) fn reply_outcome(reply: Reply) -> Outcome {
    let about = reply.head.meta_text();
    match reply.body {
        Decoded::Empty => Outcome::Empty(about),
        Decoded::Json(text) => Outcome::Json(about, text),
        Decoded::Text(text) => Outcome::Text(about, text),
        Decoded::Bytes(bytes) => Outcome::Bytes(about, bytes),
    }
}

/// The text of a document as a result.
pub(super) fn fetched_outcome(fetched: Fetched) -> Outcome {
    let about = json!({ "url": fetched.url }).to_string();
    Outcome::Text(about, fetched.text)
}

/// A failure as a result.
pub(super) fn failed_outcome(failure: Failure) -> Outcome {
    Outcome::Failed(*failure.error, failure.body)
}

/// What `take` of a stream answers instead of a batch (`TAKEN` in `facade/openapi/stream.ts`).
mod code {
    /// Nothing yet.
    pub(super) const WAIT: u32 = 0;
    pub(super) const END: u32 = 1;
    /// `head` tells about the events that follow.
    pub(super) const EVENTS: u32 = 2;
    /// `head` tells about the lines that follow.
    pub(super) const LINES: u32 = 3;
    /// `failure` tells why.
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

    /// Why the stream has failed: kind, text and body, as results have them.
    pub(super) fn failure<'env>(&mut self, env: &'env Env) -> napi::Result<Array<'env>> {
        let mut array = env.create_array(0)?;
        if let Some(failure) = self.failure.take() {
            failed_outcome(failure).write(env, &mut array, 0)?;
        }
        Ok(array)
    }
}

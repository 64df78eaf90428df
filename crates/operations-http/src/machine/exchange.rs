//! What a machine takes and gives.

use std::sync::Arc;
use std::time::Duration;

use operations_core::error::CallError;
use operations_spill::Spilled;

use super::feed::StreamKind;
use super::retry::{Reconnect, RetryPolicy};
use crate::message::{Failure, Int64, Reply, ResponseHead};
use crate::sse::Limits;

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Send [`super::Machine::outgoing`]. A response that is still open is not wanted any more.
    Send,
    /// Read a piece of the response.
    Read,
    /// Nothing, until [`super::Machine::deadline`].
    Sleep,
    /// [`super::Machine::take`] what is ready.
    Deliver,
    /// Nothing more.
    Done,
}

/// What has happened.
#[derive(Debug)]
pub enum Input<'a> {
    /// The head of a response has come. Where the size of its body is known, it is `announced`.
    Head {
        /// The head.
        head: ResponseHead,
        /// Bytes of the body, after decompression.
        announced: Option<u64>,
    },
    /// A piece of its body.
    Chunk(&'a [u8]),
    /// The end of its body.
    End,
    /// The end of a body that is in a file ([`super::Machine::spilling`]).
    Spilled(Spilled),
    /// The network failed: there is no response, or no more of it.
    Failed(NetworkError),
    /// The request could not even be tried, and never can.
    Refused(CallError),
    /// [`super::Machine::deadline`] has passed.
    Tick,
    /// The caller has gone.
    Cancel,
}

/// Why the network failed.
#[derive(Debug, Clone, Default)]
pub struct NetworkError {
    /// Whether it is certain that the server has seen nothing of the request.
    pub never_connected: bool,
    /// The reason, in words.
    pub why: String,
    /// A word that programs know from Node, such as `ECONNREFUSED`.
    pub code: Option<String>,
}

/// What came of it.
#[derive(Debug)]
pub enum Output {
    /// The answer to a call, which is over with it.
    Reply(Reply),
    /// Something of a stream.
    Item(StreamItem),
    /// It has failed, and is over with that.
    Failed(Failure),
    /// The stream is over.
    End,
}

/// What a stream consists of, on its way to the consumer.
#[derive(Debug)]
pub enum StreamItem {
    /// A response begins: what follows came with it.
    Head(ResponseHead, StreamKind),
    /// Members of the stream as one JSON text, in the notation of `machine/feed.rs`.
    Batch(String),
}

/// What the configuration of a service says about all its calls and streams.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// For a call as a whole; for a stream, for the head of its response.
    pub timeout: Option<Duration>,
    /// The largest body that is read as a whole.
    pub max_response_bytes: usize,
    /// Which failures are worth another try.
    pub retry: RetryPolicy,
    /// What one event, or one line, may cost.
    pub event_limits: Limits,
    /// Whether and how a stream is opened again.
    pub reconnect: Option<Reconnect>,
}

/// What errors say about the operation that was called.
#[derive(Debug, Clone)]
pub struct About {
    /// Its id.
    pub operation_id: String,
    /// As the document writes it.
    pub path: String,
    /// The types that the document declares for its responses.
    pub types: Vec<String>,
    /// The statuses of errors that it declares ([`crate::message::RELAYED_STATUSES`]).
    pub statuses: Vec<u16>,
    /// What becomes of integers that a JavaScript number cannot hold.
    pub int64: Option<Arc<Int64>>,
    /// Whether the server is one of ours.
    pub is_served: bool,
}

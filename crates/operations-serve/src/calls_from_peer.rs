//! Calls that come over a connection of two peers, done as those of any other door.

use std::sync::Arc;

use futures::StreamExt;
use operations_core::error::CallError;
use operations_core::registry::Operation;
use operations_websocket::{Answered, Incoming};

use crate::call::{Calls, NewCall};
use crate::identity::Caller;

/// Does a call of this operation. `deadline` is when it must be done, whatever the other end says, in Unix milliseconds; a subscription ends
/// with its client.
///
/// # Errors
///
/// As the operation has it.
pub async fn call(
    calls: &Calls,
    operation: Arc<Operation>,
    incoming: Incoming,
    caller: Arc<Caller>,
    deadline: Option<f64>,
) -> Result<Answered, CallError> {
    let mut new = NewCall {
        operation,
        input: incoming.input,
        caller,
        request_id: incoming.request_id.into(),
        deadline: incoming.deadline,
        metadata: incoming.metadata,
        // A file of this machine is of no use to a peer.
        takes_files: false,
        takes_pieces: false,
        channel: None,
        parent_request_id: incoming.parent_request_id,
        trace: incoming.trace,
        via: None,
        held: incoming.held,
    };
    let headers = calls.headers.clone();
    if new.is_subscription() {
        let events = calls.subscribe(new).await?;
        let events =
            events.map(move |event| event.map(|event| headers.in_envelope(event).into_text()));
        return Ok(Answered::Many(events.boxed()));
    }
    new.deadline = match (new.deadline, deadline) {
        (Some(theirs), Some(ours)) => Some(theirs.min(ours)),
        (theirs, ours) => theirs.or(ours),
    };
    let envelope = calls.call(new).await?.envelope;
    Ok(Answered::One(headers.in_envelope(envelope).into_text()))
}

//! Calls and subscriptions from Rust. Dropping one ends it.

use std::borrow::Cow;
use std::sync::Arc;

use operations_core::byte_budget::{Held, Share};
use operations_core::call::submission::NewRequest;
use operations_core::call::{Kind, RequestedEvent};
use operations_core::error::CallError;
use tokio::sync::{mpsc, oneshot};
use uuid::Uuid;

use super::Peer;
use super::requests::To;
use crate::errors;

/// A response or an event for a caller in Rust.
pub type CallResult = Result<String, CallError>;

/// A call that begins here.
#[derive(Debug, Clone, Default)]
pub struct Outbound {
    /// What is called.
    pub operation_id: String,
    /// Its input, as JSON; `None` for `undefined`.
    pub input: Option<String>,
    /// Who calls, as JSON.
    pub identity: Option<String>,
    /// Whatever the caller adds, as JSON: an object.
    pub metadata: Option<String>,
    /// The call that makes this one.
    pub parent_request_id: Option<String>,
    /// Unix milliseconds.
    pub deadline: Option<f64>,
    /// The trace that it belongs to, as JSON: an object.
    pub trace: Option<String>,
    /// Counts the events that wait for the subscriber.
    pub bytes: Option<Arc<Share>>,
}

impl Outbound {
    fn request(&self, kind: Kind) -> NewRequest {
        let id = Uuid::new_v4().to_string();
        let event = RequestedEvent {
            request_id: id.clone(),
            operation_id: self.operation_id.clone(),
            input: self.input.as_deref(),
            parent_request_id: self.parent_request_id.clone(),
            deadline: None,
            idle_timeout: None,
            identity: self.identity.as_deref(),
            metadata: self.metadata.as_deref(),
            trace: self.trace.as_deref().map(Cow::Borrowed),
        };
        NewRequest {
            id,
            operation_id: self.operation_id.clone(),
            payload: event.to_json(),
            kind,
        }
    }
}

impl Peer {
    /// Calls an operation that gives one answer. Dropping this ends the call.
    ///
    /// # Errors
    ///
    /// As the other end has it, or the connection.
    pub async fn call(self: &Arc<Self>, outbound: Outbound) -> CallResult {
        let (sender, answer) = oneshot::channel();
        let kind = Kind::Call {
            deadline: outbound.deadline,
        };
        let request = outbound.request(kind);
        let mut calling = Calling {
            peer: Arc::clone(self),
            id: request.id.clone(),
            is_over: false,
        };
        let opened = self.act(|now, state, _| state.request(now, request, To::Call(sender)));
        if let Err(error) = opened {
            calling.is_over = true;
            return Err(error);
        }
        let answer = answer.await;
        calling.is_over = true;
        answer.unwrap_or_else(|_| Err(errors::closed(&outbound.operation_id, true)))
    }

    /// Subscribes to an operation. Dropping what this gives ends the subscription.
    ///
    /// # Errors
    ///
    /// When nothing was sent.
    pub fn subscribe(self: &Arc<Self>, outbound: &Outbound) -> Result<Subscription, CallError> {
        let (sender, events) = mpsc::unbounded_channel();
        let request = outbound.request(Kind::Subscription {
            idle_timeout: None,
            paced: true,
        });
        let calling = Calling {
            peer: Arc::clone(self),
            id: request.id.clone(),
            is_over: false,
        };
        let to = To::Stream(sender, outbound.bytes.clone());
        self.act(|now, state, _| state.request(now, request, to))?;
        Ok(Subscription { events, calling })
    }
}

/// A request of this side. Dropping it ends it.
#[derive(Debug)]
struct Calling {
    peer: Arc<Peer>,
    id: String,
    is_over: bool,
}

impl Drop for Calling {
    fn drop(&mut self) {
        if !self.is_over {
            self.peer.leave(&self.id);
        }
    }
}

/// The events of a subscription.
#[derive(Debug)]
pub struct Subscription {
    events: mpsc::UnboundedReceiver<(CallResult, Option<Held>)>,
    calling: Calling,
}

impl Subscription {
    /// The next event. An error is the last.
    pub async fn next(&mut self) -> Option<CallResult> {
        let next = self.events.recv().await.map(|(result, _)| result);
        match &next {
            Some(Ok(_)) => self.calling.peer.consumed(&self.calling.id, 1),
            Some(Err(_)) | None => self.calling.is_over = true,
        }
        next
    }
}

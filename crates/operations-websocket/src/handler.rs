//! An operation of a peer as a handler of the registry: a call that needs nothing of JavaScript.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt, stream};
use operations_core::call::was_aborted;
use operations_core::error::{CallError, Failure};
use operations_core::json::Document;
use operations_core::registry::{Context, Handler, Outcome, Produced};
use serde_json::json;

use crate::peer::{CallResult, Outbound, Peer, Subscription};

/// One operation of a peer.
#[derive(Debug, Clone)]
pub struct PeerHandler {
    /// Who serves it.
    pub peer: Arc<Peer>,
    /// What it is called there.
    pub operation_id: String,
}

impl PeerHandler {
    fn outbound(&self, input: Option<&Document>, context: &Context) -> Outbound {
        Outbound {
            operation_id: self.operation_id.clone(),
            input: input.map(|input| input.text().to_owned()),
            // The declared fields only: whatever else JavaScript knows of the caller, a token say, is not for peers.
            identity: context.identity.as_ref().map(|it| json!(it).to_string()),
            metadata: context.passed_on.clone(),
            parent_request_id: context.request_id.clone(),
            deadline: context.deadline,
            trace: context.trace.clone(),
            bytes: context.bytes.clone(),
        }
    }
}

impl Handler for PeerHandler {
    fn call(&self, input: Option<Document>, context: Context) -> BoxFuture<'static, Outcome> {
        let outbound = self.outbound(input.as_ref(), &context);
        let peer = Arc::clone(&self.peer);
        async move {
            let id = outbound.operation_id.clone();
            tokio::select! {
                biased;
                () = context.cancel.cancelled() => Err(was_aborted(&id).into()),
                result = peer.call(outbound) => produced(result),
            }
        }
        .boxed()
    }

    fn subscribe(&self, input: Option<Document>, context: Context) -> BoxStream<'static, Outcome> {
        let outbound = self.outbound(input.as_ref(), &context);
        let peer = Arc::clone(&self.peer);
        let id = self.operation_id.clone();
        let begin = Events::New(peer, Box::new(outbound));
        Box::pin(stream::unfold(begin, move |events| {
            let (cancel, id) = (context.cancel.clone(), id.clone());
            async move {
                let mut subscription = match events {
                    Events::Over => return None,
                    Events::Running(subscription) => subscription,
                    Events::New(peer, outbound) => match peer.subscribe(&outbound) {
                        Ok(subscription) => subscription,
                        Err(error) => return Some((Err(error.into()), Events::Over)),
                    },
                };
                let next = tokio::select! {
                    biased;
                    () = cancel.cancelled() => Some(Err(was_aborted(&id))),
                    next = subscription.next() => next,
                };
                match next? {
                    Ok(output) => Some((produced(Ok(output)), Events::Running(subscription))),
                    Err(error) => Some((Err(error.into()), Events::Over)),
                }
            }
        }))
    }
}

enum Events {
    New(Arc<Peer>, Box<Outbound>),
    Running(Subscription),
    Over,
}

/// The registry recognises an envelope.
fn produced(result: CallResult) -> Outcome {
    let output = result?;
    let document = Document::parse(output).map_err(|why| {
        Failure::from(CallError::failed(format!(
            "The answer cannot be read: {why}"
        )))
    })?;
    Ok(Produced::Value(Some(document)))
}

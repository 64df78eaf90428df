//! Calls that are served without JavaScript: what the registry does on Tokio, answered through the same worker as what
//! JavaScript does.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};
use operations_core::call::{CallEvent, EventType, holds_bytes};
use operations_core::envelope::ResponseEnvelope;
use operations_core::error::CallError;
use operations_core::json::Object;
use operations_core::lock::locked;
use operations_core::registry::{Answer, Call, Registry, Route};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::Shared;
use crate::state::CallUpdate;

/// What is served natively, and which calls are running.
#[derive(Debug, Default)]
pub(super) struct Natives {
    served: Mutex<Option<(Arc<Registry>, Handle)>>,
    running: Mutex<HashMap<Arc<str>, Running>>,
}

/// How to reach the work on a call.
#[derive(Debug, Clone, Default)]
struct Running {
    cancel: CancellationToken,
    /// A stream may go on.
    more: Arc<Notify>,
}

impl Natives {
    pub(super) fn serve(&self, registry: Arc<Registry>, runtime: Handle) {
        *locked(&self.served) = Some((registry, runtime));
    }
}

/// Does what the worker asks for.
pub(super) fn take(shared: &Arc<Shared>, update: CallUpdate) {
    let natives = &shared.natives;
    match update {
        CallUpdate::Requested(id, payload) => {
            let Some((registry, runtime)) = locked(&natives.served).clone() else {
                return;
            };
            let running = Running {
                cancel: shared.closed.child_token(),
                more: Arc::default(),
            };
            locked(&natives.running).insert(Arc::clone(&id), running.clone());
            runtime.spawn(serve(Arc::clone(shared), registry, id, payload, running));
        }
        CallUpdate::Aborted(id) => {
            if let Some(running) = locked(&natives.running).get(&id) {
                running.cancel.cancel();
            }
        }
        CallUpdate::MayGoOn(id) => {
            if let Some(running) = locked(&natives.running).get(&id) {
                running.more.notify_one();
            }
        }
    }
}

async fn serve(
    shared: Arc<Shared>,
    registry: Arc<Registry>,
    id: Arc<str>,
    payload: String,
    running: Running,
) {
    let work = work(&shared, &registry, &id, &payload, &running);
    let outcome = AssertUnwindSafe(work).catch_unwind().await;
    locked(&shared.natives.running).remove(&id);
    let outcome = outcome.unwrap_or_else(|panic| Outcome::Failed(CallError::from_panic(&*panic)));
    let is_awaited = !running.cancel.is_cancelled();
    shared.act(|now, state, todo| {
        let worker = &mut state.worker;
        match outcome {
            Outcome::ForHost => return worker.hand_over(now, &id, payload, todo),
            // The caller has its answer already: it cancelled the call, or the deadline passed.
            _ if !is_awaited => {}
            Outcome::Answered(output) => worker.answer(&id, &output, todo),
            Outcome::Completed => worker.complete(&id, todo),
            Outcome::Failed(error) => worker.fail(&id, &error, todo),
        }
        worker.finished(now, &id, todo);
    });
    shared.finished.notify_waiters();
}

/// How work ends.
enum Outcome {
    /// With an envelope.
    Answered(String),
    /// A stream is over.
    Completed,
    Failed(CallError),
    /// It has not begun: only JavaScript can do it.
    ForHost,
}

async fn work(
    shared: &Arc<Shared>,
    registry: &Arc<Registry>,
    id: &str,
    payload: &str,
    running: &Running,
) -> Outcome {
    if holds_bytes(payload) {
        return Outcome::ForHost;
    }
    // It was read when it arrived.
    let Ok(members) = Object::read(payload) else {
        return Outcome::ForHost;
    };
    let Ok(CallEvent::Requested(event)) = CallEvent::read_payload(EventType::Requested, &members)
    else {
        return Outcome::ForHost;
    };
    let mut call = Call::of_event(&event, running.cancel.clone());
    call.context.via = Some(r#"{"door":"nats"}"#.to_owned());
    match registry.route(call) {
        Route::Host => Outcome::ForHost,
        Route::Here(served) => match served.answer() {
            Answer::One(answer) => match answer.await {
                Ok(envelope) => Outcome::Answered(envelope.into_text()),
                Err(error) => Outcome::Failed(error),
            },
            Answer::Many(events) => stream(shared, id, events, running).await,
        },
    }
}

async fn stream(
    shared: &Arc<Shared>,
    id: &str,
    mut events: BoxStream<'static, Result<ResponseEnvelope, CallError>>,
    running: &Running,
) -> Outcome {
    loop {
        let next = tokio::select! {
            biased;
            () = running.cancel.cancelled() => None,
            next = events.next() => next,
        };
        let output = match next {
            None => return Outcome::Completed,
            Some(Err(error)) => return Outcome::Failed(error),
            Some(Ok(output)) => output,
        };
        let sent = shared.act(|_, state, todo| {
            let may_go_on = state.worker.respond(id, output.text(), todo)?;
            Ok((may_go_on, state.worker.is_awaited(id)))
        });
        match sent {
            Err(error) => return Outcome::Failed(error),
            // A call of a subscription wants the first event only.
            Ok((_, false)) => return Outcome::Completed,
            Ok((true, _)) => {}
            Ok((false, _)) => tokio::select! {
                biased;
                () = running.cancel.cancelled() => {}
                () = running.more.notified() => {}
            },
        }
    }
}

//! The state machine of pending requests, for the test that holds it against the facade's own. In test builds only.

use std::sync::Mutex;

use napi_derive::napi;
use operations_core::call::{Answer, Effect, Kind, PendingRequests, Request};
use operations_core::error::CallError;
use operations_core::lock::locked;
use serde_json::{Value, json};

/// `PendingRequests`, step by step. What is to be done after a step is returned as JSON.
#[napi]
pub struct CallMachine {
    requests: Mutex<PendingRequests>,
}

#[napi]
impl CallMachine {
    /// No requests.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub fn new(max_waiting: u32) -> Self {
        Self {
            requests: Mutex::new(PendingRequests::new(max_waiting as usize)),
        }
    }

    /// A request is to be sent. `limit` is a deadline, or for a stream the longest silence.
    #[napi(catch_unwind)]
    pub fn open(
        &self,
        now: f64,
        id: String,
        operation_id: String,
        parent: Option<String>,
        is_stream: bool,
        limit: Option<f64>,
    ) -> String {
        let kind = if is_stream {
            Kind::Subscription {
                idle_timeout: limit,
                paced: false,
            }
        } else {
            Kind::Call { deadline: limit }
        };
        let request = Request {
            id: id.as_str().into(),
            operation_id: operation_id.into(),
            parent: parent.map(Into::into),
            kind,
        };
        self.step(|requests| match requests.open(now, request) {
            Ok(()) => Vec::new(),
            Err(error) => vec![Effect::Fail(id.into(), error)],
        })
    }

    /// An event has arrived.
    #[napi(catch_unwind)]
    pub fn answer(&self, now: f64, id: String, event: String) -> String {
        let answer = match event.as_str() {
            // Its size is not known here: only the number of events is bounded.
            "responded" => Answer::Responded(0),
            "malformed" => Answer::Malformed,
            "completed" => Answer::Completed,
            "aborted" => Answer::Aborted,
            message => Answer::Failed(CallError::new("FAILED", message)),
        };
        self.step(|requests| requests.answer(now, &id, answer))
    }

    /// The consumer of a stream asks for its next event.
    #[napi(catch_unwind)]
    pub fn ask(&self, now: f64, id: String) -> String {
        self.step(|requests| {
            requests.ask(now, &id);
            Vec::new()
        })
    }

    /// A request is ended from here.
    #[napi(catch_unwind)]
    pub fn abort(&self, id: String) -> String {
        self.step(|requests| requests.abort(&id))
    }

    /// The caller's own signal ends a request.
    #[napi(catch_unwind)]
    pub fn cancel(&self, id: String) -> String {
        self.step(|requests| requests.cancel(&id))
    }

    /// The consumer of a stream leaves.
    #[napi(catch_unwind)]
    pub fn leave(&self, id: String) -> String {
        self.step(|requests| requests.leave(&id))
    }

    /// Time has passed.
    #[napi(catch_unwind)]
    pub fn tick(&self, now: f64) -> String {
        self.step(|requests| requests.tick(now))
    }

    /// When there is something to do next.
    #[napi(catch_unwind)]
    pub fn next_due(&self) -> Option<f64> {
        locked(&self.requests).next_due()
    }

    /// How many requests are pending.
    #[napi(catch_unwind)]
    pub fn count(&self) -> u32 {
        let requests = locked(&self.requests);
        u32::try_from(requests.len()).unwrap_or(u32::MAX)
    }

    fn step(&self, step: impl FnOnce(&mut PendingRequests) -> Vec<Effect>) -> String {
        let mut requests = locked(&self.requests);
        let effects: Vec<Value> = step(&mut requests).iter().map(effect_json).collect();
        Value::Array(effects).to_string()
    }
}

fn effect_json(effect: &Effect) -> Value {
    match effect {
        Effect::Resolve(id) => json!(["resolve", &**id]),
        Effect::Deliver(id) => json!(["deliver", &**id]),
        Effect::Fail(id, error) => {
            json!(["fail", &**id, error.code, error.message, error.details])
        }
        Effect::End(id) => json!(["end", &**id]),
        Effect::SendAborted(id) => json!(["abort", &**id]),
    }
}

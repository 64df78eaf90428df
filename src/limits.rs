//! Limits on calls, for the pipeline in JavaScript (`facade/registry/call-gate.ts`). Those of calls that are served here are
//! the same objects.

use std::sync::Arc;

use napi::bindgen_prelude::Env;
use napi_derive::napi;
use operations_core::error::CallError;
use operations_core::limits::{self, Entered, Gate, Limited, Settings, Verdict};
use operations_core::mailbox::{self, Item};
use operations_core::number::whole;
use serde_json::Value;

use crate::interop::bridge::Bridge;
use crate::interop::mailbox::Mailbox;
use crate::interop::runtime::Runtime;

/// What one place in a configuration allows: a registry, an operation, an adapter.
#[napi]
pub struct Limiter {
    inner: Arc<limits::Limiter>,
}

#[napi]
impl Limiter {
    /// `settings` is JSON (`Settings`).
    #[napi(constructor, catch_unwind)]
    pub fn new(env: Env, runtime: &Runtime, settings: String) -> napi::Result<Self> {
        let gate = runtime.gate();
        let settings: Settings = runtime.bridge.run(&env, || {
            serde_json::from_str(&settings)
                .map_err(|error| CallError::unknown(format!("The limits cannot be read: {error}")))
        })?;
        Ok(Self {
            inner: gate.limiter(settings),
        })
    }

    /// What runs and waits, and what was refused, as JSON (`Stats`).
    #[napi(catch_unwind)]
    pub fn stats(&self) -> String {
        serde_json::to_string(&self.inner.stats()).unwrap_or_default()
    }
}

/// The limits of one operation, as calls meet them.
#[napi]
pub struct CallGate {
    bridge: Arc<Bridge>,
    gate: Arc<Gate>,
    operation_id: Arc<str>,
    pub(crate) limited: Limited,
    mailbox: Arc<mailbox::Mailbox>,
}

#[napi]
impl CallGate {
    /// One to three limiters. The decisions about calls that had to wait go to the mailbox, by the number that they came with.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        runtime: &Runtime,
        mailbox: &Mailbox,
        operation_id: String,
        first: &Limiter,
        second: Option<&Limiter>,
        third: Option<&Limiter>,
    ) -> Self {
        let limiters = [Some(first), second, third];
        let limiters = limiters.into_iter().flatten();
        let gate = runtime.gate();
        Self {
            bridge: Arc::clone(&runtime.bridge),
            operation_id: operation_id.into(),
            limited: Limited::by(gate, limiters.map(|each| Arc::clone(&each.inner)).collect()),
            gate: Arc::clone(gate),
            mailbox: Arc::clone(&mailbox.inner),
        }
    }

    /// A call wants to begin: its ticket, negative if it has to wait. Limiters whose bit is set in `covered` do not concern
    /// it. Throws when it is refused.
    #[napi(catch_unwind)]
    pub fn enter(
        &self,
        env: Env,
        call: u32,
        caller: String,
        covered: u32,
        deadline: Option<f64>,
    ) -> napi::Result<f64> {
        let all = self.limited.needs();
        let some: Vec<_>;
        let needs = if covered == 0 {
            all
        } else {
            let numbered = (0..).zip(all);
            some = numbered
                .filter(|(at, _)| covered & (1 << at) == 0)
                .map(|(_, id)| *id)
                .collect();
            &some
        };
        let on_decision = || -> limits::OnDecision {
            let mailbox = Arc::clone(&self.mailbox);
            let operation_id = Arc::clone(&self.operation_id);
            Box::new(move |_, outcome| {
                mailbox.push(match outcome {
                    Ok(()) => Item::done(call, "null"),
                    Err(refusal) => Item::failed(call, &refusal.error(&operation_id)),
                });
            })
        };
        match self.gate.enter(needs, &caller, deadline, on_decision) {
            Ok(Entered::Admitted(ticket)) => Ok(ticket as f64),
            Ok(Entered::Waiting(ticket)) => Ok(-(ticket as f64)),
            Err(refusal) => Err(self.bridge.error(&env, refusal.error(&self.operation_id))),
        }
    }

    /// A call is over, and its source works; or it waits no longer.
    #[napi(catch_unwind)]
    pub fn leave(&self, ticket: f64) {
        self.gate.leave(number(ticket), Verdict::Success);
    }

    /// A call has failed, and may be over. `details` is JSON: what its error says.
    #[napi(catch_unwind)]
    pub fn fail(&self, ticket: f64, code: String, details: Option<String>, is_over: bool) {
        let verdict = verdict(&code, details);
        if is_over {
            self.gate.leave(number(ticket), verdict);
        } else {
            self.gate.judge(number(ticket), verdict);
        }
    }

    /// A stream has had its first event.
    #[napi(catch_unwind)]
    pub fn works(&self, ticket: f64) {
        self.gate.judge(number(ticket), Verdict::Success);
    }

    /// The call has ended; its handler has not.
    #[napi(catch_unwind)]
    pub fn abandon(&self, ticket: f64) {
        self.gate.abandon(number(ticket));
    }
}

fn verdict(code: &str, details: Option<String>) -> Verdict {
    let details: Option<Value> = details.and_then(|json| serde_json::from_str(&json).ok());
    Verdict::of(code, details.as_ref())
}

/// A ticket that we gave, without its sign.
fn number(ticket: f64) -> u64 {
    whole(ticket.abs())
}

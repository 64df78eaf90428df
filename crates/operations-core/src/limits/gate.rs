//! The machine with a clock, and with those who wait.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::time::{Duration, sleep};
use tokio_util::sync::CancellationToken;

use super::{
    AdmissionRequest, Decision, LimiterId, Machine, Refusal, Settings, Stats, Ticket, Verdict,
};
use crate::call::timed_out;
use crate::clock;
use crate::error::{CallError, InfrastructureErrorCode};
use crate::lock::locked;

/// Called with the decision about a call that waited; without any lock held, on any thread.
pub type OnDecision = Box<dyn FnOnce(Ticket, Result<(), Refusal>) + Send>;

/// All limiters of one environment.
pub struct Gate {
    state: Mutex<State>,
    began: Instant,
    runtime: Handle,
}

#[derive(Default)]
struct State {
    machine: Machine,
    waiting: HashMap<Ticket, OnDecision>,
    /// When the pending timer fires.
    timer: Option<f64>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}

/// Whether a call may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entered {
    /// It may.
    Admitted(Ticket),
    /// The callback gets the decision.
    Waiting(Ticket),
}

impl Gate {
    /// A gate without limiters. Its timers run there.
    #[must_use]
    pub fn new(runtime: Handle) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            began: Instant::now(),
            runtime,
        })
    }

    /// A monotonic clock: waiting times and rates do not follow corrections of the time of day.
    fn now(&self) -> f64 {
        self.began.elapsed().as_secs_f64() * 1_000.0
    }

    /// Does something with the machine, hands out the decisions, and sets the timer.
    fn with<T>(self: &Arc<Self>, act: impl FnOnce(&mut State, f64, &mut Vec<Decision>) -> T) -> T {
        let now = self.now();
        let mut decisions = Vec::new();
        let mut state = locked(&self.state);
        let result = act(&mut state, now, &mut decisions);
        let callbacks: Vec<(OnDecision, Ticket, Result<(), Refusal>)> = decisions
            .into_iter()
            .filter_map(|each| {
                let (ticket, outcome) = match each {
                    Decision::Admitted(ticket) => (ticket, Ok(())),
                    Decision::Refused(ticket, refusal) => (ticket, Err(refusal)),
                };
                Some((state.waiting.remove(&ticket)?, ticket, outcome))
            })
            .collect();
        self.set_timer(&mut state, now);
        drop(state);
        for (on_decision, ticket, outcome) in callbacks {
            on_decision(ticket, outcome);
        }
        result
    }

    fn set_timer(self: &Arc<Self>, state: &mut State, now: f64) {
        let Some(next) = state.machine.next_tick(now) else {
            return;
        };
        if state.timer.is_some_and(|timer| timer <= next) {
            return;
        }
        state.timer = Some(next);
        let gate = Arc::clone(self);
        // Timers are of whole milliseconds: one that goes off too early would find nothing to do, and be set again.
        let wait = clock::milliseconds(next - now) + Duration::from_micros(100);
        self.runtime.spawn(async move {
            sleep(wait).await;
            gate.with(|state, now, decisions| {
                if state.timer == Some(next) {
                    state.timer = None;
                }
                state.machine.tick(now, decisions);
            });
        });
    }

    /// Makes a limiter. It is removed when its last holder drops it.
    #[must_use]
    pub fn limiter(self: &Arc<Self>, settings: Settings) -> Arc<Limiter> {
        let timeout = settings.timeout;
        let id = self.with(|state, _, _| state.machine.add(settings));
        Arc::new(Limiter {
            gate: Arc::clone(self),
            id,
            timeout,
        })
    }

    /// A call wants to begin. One that has to wait gets its decision through `on_decision`; `deadline` is in Unix milliseconds.
    ///
    /// # Errors
    ///
    /// When it may neither begin nor wait.
    pub fn enter(
        self: &Arc<Self>,
        needs: &[LimiterId],
        caller: &str,
        deadline: Option<f64>,
        on_decision: impl FnOnce() -> OnDecision,
    ) -> Result<Entered, Refusal> {
        self.with(|state, now, decisions| {
            let deadline = deadline.map(|deadline| now + (deadline - clock::now()));
            let request = AdmissionRequest {
                needs,
                caller,
                deadline,
            };
            let (ticket, is_admitted) = state.machine.enter(now, request, decisions)?;
            if is_admitted {
                return Ok(Entered::Admitted(ticket));
            }
            state.waiting.insert(ticket, on_decision());
            Ok(Entered::Waiting(ticket))
        })
    }

    /// A call is over, or waits no longer.
    pub fn leave(self: &Arc<Self>, ticket: Ticket, verdict: Verdict) {
        self.with(|state, now, decisions| {
            state.waiting.remove(&ticket);
            state.machine.leave(now, ticket, verdict, decisions);
        });
    }

    /// What a call says about its source, before it is over.
    pub fn judge(self: &Arc<Self>, ticket: Ticket, verdict: Verdict) {
        self.with(|state, now, decisions| state.machine.judge(now, ticket, verdict, decisions));
    }

    /// A call has ended, its handler has not.
    pub fn abandon(self: &Arc<Self>, ticket: Ticket) {
        self.with(|state, now, decisions| state.machine.abandon(now, ticket, decisions));
    }
}

/// One limiter of a gate.
#[derive(Debug)]
pub struct Limiter {
    gate: Arc<Gate>,
    id: LimiterId,
    timeout: Option<f64>,
}

impl Limiter {
    /// Its statistics.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let now = self.gate.now();
        let state = locked(&self.gate.state);
        state.machine.stats(now, self.id).unwrap_or_default()
    }
}

impl Drop for Limiter {
    fn drop(&mut self) {
        let id = self.id;
        self.gate
            .with(|state, now, decisions| state.machine.remove(now, id, decisions));
    }
}

/// The limiters that calls of one operation go through.
#[derive(Debug, Clone)]
pub struct Limited {
    gate: Arc<Gate>,
    limiters: Arc<[Arc<Limiter>]>,
    needs: Arc<[LimiterId]>,
    timeout: Option<f64>,
}

impl Limited {
    /// Calls that need a permit of each of these.
    #[must_use]
    pub fn by(gate: &Arc<Gate>, limiters: Vec<Arc<Limiter>>) -> Self {
        Self {
            gate: Arc::clone(gate),
            needs: limiters.iter().map(|limiter| limiter.id).collect(),
            timeout: limiters
                .iter()
                .filter_map(|limiter| limiter.timeout)
                .reduce(f64::min),
            limiters: limiters.into(),
        }
    }

    /// The gate.
    #[must_use]
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// The limiters, in the order in which they were given.
    #[must_use]
    pub fn limiters(&self) -> &[Arc<Limiter>] {
        &self.limiters
    }

    /// Their numbers.
    #[must_use]
    pub fn needs(&self) -> &[LimiterId] {
        &self.needs
    }

    /// How long a call may hold its permits.
    #[must_use]
    pub fn timeout(&self) -> Option<f64> {
        self.timeout
    }

    /// Places, when there are some.
    ///
    /// # Errors
    ///
    /// When the call is refused, is cancelled, or its deadline passes while it waits.
    pub async fn enter(
        &self,
        operation_id: &str,
        caller: &str,
        deadline: Option<f64>,
        cancel: &CancellationToken,
    ) -> Result<Permit, CallError> {
        let (sender, decision) = oneshot::channel();
        let entered = self
            .gate
            .enter(&self.needs, caller, deadline, || {
                Box::new(move |_, outcome| {
                    // If the receiver is gone, the permit was released, or is about to be.
                    let _ = sender.send(outcome);
                })
            })
            .map_err(|refusal| refusal.error(operation_id))?;
        let began = clock::now();
        let ticket = match entered {
            Entered::Admitted(ticket) => return Ok(Permit::new(&self.gate, ticket)),
            Entered::Waiting(ticket) => ticket,
        };
        // From here on it is released if this future is dropped.
        let permit = Permit::new(&self.gate, ticket);
        let too_late = async {
            match deadline {
                Some(deadline) => sleep(clock::until(deadline)).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            outcome = decision => match outcome {
                Ok(Err(refusal)) => Err(refusal.error(operation_id)),
                _ => Ok(permit),
            },
            () = cancel.cancelled() => {
                let message = format!("Operation {operation_id} was aborted before it started");
                let details = serde_json::json!({ "operationId": operation_id });
                Err(CallError::new(InfrastructureErrorCode::Aborted, message).with_details(details))
            }
            () = too_late => {
                let waited = clock::now() - began;
                Err(timed_out(operation_id, deadline.unwrap_or_default(), Some(waited)))
            }
        }
    }
}

/// The permits of a call. They are released when this is dropped.
#[derive(Debug)]
pub struct Permit {
    gate: Arc<Gate>,
    ticket: Ticket,
    verdict: Verdict,
}

impl Permit {
    fn new(gate: &Arc<Gate>, ticket: Ticket) -> Self {
        Self {
            gate: Arc::clone(gate),
            ticket,
            verdict: Verdict::Neutral,
        }
    }

    /// What the call says about its source.
    pub fn judge(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }

    /// The same, at once: the call is not over.
    pub fn judge_now(&mut self, verdict: Verdict) {
        if self.verdict == Verdict::Neutral {
            self.verdict = verdict;
            self.gate.judge(self.ticket, verdict);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.gate.leave(self.ticket, self.verdict);
    }
}

//! The limiters of one environment, and the calls that hold permits or wait for them.
//!
//! A call may need permits of several limiters: of its operation, of its adapter, of its registry. It takes them all at
//! once or waits without holding any, so that calls which wait for one limiter do not keep others from the rest, and no
//! two calls wait for each other.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::breaker::Breaker;
use super::queue::FairQueue;
use super::rate::Window;
use super::stats::Refused;
use super::{DEFAULT_QUEUE, Reason, Refusal, Settings, Stats, Verdict};

/// The number of a limiter.
pub type LimiterId = u32;

/// The number of a call. A later call has a greater one.
pub type Ticket = u64;

/// What a call asks for.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionRequest<'a> {
    /// The limiters that it needs permits of.
    pub needs: &'a [LimiterId],
    /// Who calls: each caller waits in a queue of its own.
    pub caller: &'a str,
    /// When it is too late to begin.
    pub deadline: Option<f64>,
}

/// What becomes of a call that waited.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// It may begin.
    Admitted(Ticket),
    /// It may not.
    Refused(Ticket, Refusal),
}

/// See the module.
#[derive(Debug, Default)]
pub struct Machine {
    limiters: HashMap<LimiterId, Limits>,
    running: HashMap<Ticket, Running>,
    waiting: HashMap<Ticket, Waiting>,
    /// Who has waited long enough, and when: the bits of a positive number are in its order.
    give_up: BTreeSet<(u64, Ticket)>,
    /// Limiters with calls that wait for time to pass.
    throttled: BTreeSet<LimiterId>,
    last_ticket: Ticket,
    last_limiter: LimiterId,
}

#[derive(Debug)]
struct Limits {
    settings: Settings,
    running: usize,
    overrunning: usize,
    queue: FairQueue,
    window: Option<Window>,
    breaker: Option<Breaker>,
    /// How long calls hold their permits, lately.
    typical: Option<f64>,
    admitted: u64,
    refused: Refused,
}

#[derive(Debug)]
struct Running {
    needs: Vec<LimiterId>,
    began: f64,
    is_judged: bool,
    /// Its permit was given back, although its handler runs on.
    runs_on: bool,
}

#[derive(Debug)]
struct Waiting {
    needs: Vec<LimiterId>,
    caller: Arc<str>,
    /// The limiter that it waits at.
    at: LimiterId,
    gives_up: Option<u64>,
}

impl Machine {
    /// Makes a limiter.
    pub fn add(&mut self, settings: Settings) -> LimiterId {
        self.last_limiter += 1;
        let limits = Limits {
            running: 0,
            overrunning: 0,
            queue: FairQueue::default(),
            window: settings.rate.map(Window::new),
            breaker: settings.breaker.map(Breaker::new),
            typical: None,
            admitted: 0,
            refused: Refused::default(),
            settings,
        };
        self.limiters.insert(self.last_limiter, limits);
        self.last_limiter
    }

    /// Forgets a limiter that is not used any more. Calls that still wait there begin.
    pub fn remove(&mut self, now: f64, id: LimiterId, decisions: &mut Vec<Decision>) {
        let Some(limits) = self.limiters.remove(&id) else {
            return;
        };
        self.throttled.remove(&id);
        let mut waited: Vec<Ticket> = limits.queue.all().collect();
        waited.sort_unstable();
        for ticket in waited {
            self.try_again(now, ticket, decisions);
        }
    }

    /// A call wants to begin.
    ///
    /// # Errors
    ///
    /// When it may neither begin nor wait.
    pub fn enter(
        &mut self,
        now: f64,
        request: AdmissionRequest<'_>,
        decisions: &mut Vec<Decision>,
    ) -> Result<(Ticket, bool), Refusal> {
        self.tick(now, decisions);
        let needs: Vec<LimiterId> = request
            .needs
            .iter()
            .copied()
            .filter(|id| self.limiters.contains_key(id))
            .collect();
        for id in &needs {
            if let Some(limits) = self.limiters.get_mut(id) {
                limits.refuse_broken(now)?;
            }
        }
        let Some(at) = self.blocked_at(now, &needs) else {
            self.last_ticket += 1;
            self.begin(now, self.last_ticket, needs);
            return Ok((self.last_ticket, true));
        };
        self.make_room(now, at, request, decisions)?;
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        let patience = needs
            .iter()
            .filter_map(|id| self.limiters.get(id)?.settings.timeout)
            .reduce(f64::min);
        let gives_up = patience.map(|patience| (now + patience).max(0.0).to_bits());
        if let Some(moment) = gives_up {
            self.give_up.insert((moment, ticket));
        }
        let waiting = Waiting {
            needs,
            caller: Arc::from(request.caller),
            at,
            gives_up,
        };
        self.park(ticket, waiting);
        Ok((ticket, false))
    }

    /// A call is over, or waits no longer.
    pub fn leave(
        &mut self,
        now: f64,
        ticket: Ticket,
        verdict: Verdict,
        decisions: &mut Vec<Decision>,
    ) {
        if let Some(waiting) = self.waiting.remove(&ticket) {
            self.forget(ticket, &waiting);
            return;
        }
        self.judge(now, ticket, verdict, decisions);
        let Some(ended) = self.running.remove(&ticket) else {
            return;
        };
        for id in &ended.needs {
            let Some(limits) = self.limiters.get_mut(id) else {
                continue;
            };
            if ended.runs_on {
                limits.overrunning -= 1;
            } else {
                limits.running -= 1;
                limits.took(now - ended.began);
            }
        }
        self.drain(now, &ended.needs, decisions);
    }

    /// Takes a call's verdict about its source before the call is over: a stream has had its first event.
    pub fn judge(
        &mut self,
        now: f64,
        ticket: Ticket,
        verdict: Verdict,
        decisions: &mut Vec<Decision>,
    ) {
        let Some(running) = self.running.get_mut(&ticket) else {
            return;
        };
        if running.is_judged {
            return;
        }
        running.is_judged = true;
        let began = running.began;
        let needs = running.needs.clone();
        for id in needs {
            let breaker = self
                .limiters
                .get_mut(&id)
                .and_then(|limits| limits.breaker.as_mut());
            if breaker.is_some_and(|breaker| breaker.judge(now, ticket, began, verdict)) {
                self.refuse_waiting(now, id, decisions);
            }
        }
    }

    /// The call has ended before its handler: its permit is given back, unless too many handlers run on already.
    pub fn abandon(&mut self, now: f64, ticket: Ticket, decisions: &mut Vec<Decision>) {
        const AT_LEAST: usize = 16;
        let Some(running) = self.running.get_mut(&ticket) else {
            return;
        };
        let limiters = &self.limiters;
        let may_run_on = running.needs.iter().all(|id| {
            limiters.get(id).is_none_or(|limits| {
                let most = limits.settings.concurrency.map(|most| most.max(AT_LEAST));
                most.is_none_or(|most| limits.overrunning < most)
            })
        });
        if running.runs_on || !may_run_on {
            return;
        }
        running.runs_on = true;
        let needs = running.needs.clone();
        for id in &needs {
            if let Some(limits) = self.limiters.get_mut(id) {
                limits.running -= 1;
                limits.overrunning += 1;
            }
        }
        self.drain(now, &needs, decisions);
    }

    /// Time has passed.
    pub fn tick(&mut self, now: f64, decisions: &mut Vec<Decision>) {
        while let Some((moment, ticket)) = self.give_up.first().copied() {
            if f64::from_bits(moment) > now {
                break;
            }
            self.give_up.remove(&(moment, ticket));
            let at = self.waiting.get(&ticket).map(|waiting| waiting.at);
            if let Some(refusal) = at.and_then(|at| self.limiters.get_mut(&at)).map(|limits| {
                let reason = limits.full(now);
                limits.refuse(now, reason)
            }) {
                self.refuse(ticket, refusal, decisions);
            }
        }
        let throttled: Vec<LimiterId> = self.throttled.iter().copied().collect();
        self.drain(now, &throttled, decisions);
    }

    /// When time matters next, if a call waits for it.
    #[must_use]
    pub fn next_tick(&self, now: f64) -> Option<f64> {
        let patience = self
            .give_up
            .first()
            .map(|(moment, _)| f64::from_bits(*moment));
        let rates = self.throttled.iter().filter_map(|id| {
            let limits = self.limiters.get(id)?;
            limits
                .has_free_permit()
                .then(|| limits.window.as_ref()?.free_at(now, 0).into())?
        });
        rates.chain(patience).reduce(f64::min)
    }

    /// The statistics of a limiter.
    #[must_use]
    pub fn stats(&self, now: f64, id: LimiterId) -> Option<Stats> {
        let limits = self.limiters.get(&id)?;
        let breaker = limits.breaker.as_ref();
        Some(Stats {
            scope: limits.settings.scope.clone(),
            name: limits.settings.name.clone(),
            running: limits.running,
            waiting: limits.queue.len(),
            overrunning: limits.overrunning,
            admitted: limits.admitted,
            refused: limits.refused,
            breaker: breaker.map(|breaker| breaker.state(now).as_str()),
            opened: breaker.map(|breaker| breaker.opened),
        })
    }

    /// The first of the limiters that lets no further call begin.
    fn blocked_at(&self, now: f64, needs: &[LimiterId]) -> Option<LimiterId> {
        needs.iter().copied().find(|id| {
            let limits = self.limiters.get(id);
            limits.is_some_and(|limits| !limits.has_room(now) || !limits.queue.is_empty())
        })
    }

    fn begin(&mut self, now: f64, ticket: Ticket, needs: Vec<LimiterId>) {
        for id in &needs {
            let Some(limits) = self.limiters.get_mut(id) else {
                continue;
            };
            limits.running += 1;
            limits.admitted += 1;
            if let Some(window) = &mut limits.window {
                window.take(now);
            }
            if let Some(breaker) = &mut limits.breaker {
                breaker.admitted(now, ticket);
            }
        }
        let running = Running {
            needs,
            began: now,
            is_judged: false,
            runs_on: false,
        };
        self.running.insert(ticket, running);
    }

    /// Sees to it that one more can wait.
    fn make_room(
        &mut self,
        now: f64,
        at: LimiterId,
        request: AdmissionRequest<'_>,
        decisions: &mut Vec<Decision>,
    ) -> Result<(), Refusal> {
        let Some(limits) = self.limiters.get_mut(&at) else {
            return Ok(());
        };
        let begins = limits.begins_at(now);
        if request.deadline.is_some_and(|deadline| begins > deadline) {
            return Err(limits.refuse(now, Reason::RateLimited));
        }
        if limits.queue.len() < limits.settings.queue.unwrap_or(DEFAULT_QUEUE) {
            return Ok(());
        }
        let reason = limits.full(now);
        let refusal = limits.refuse(now, reason);
        match limits.queue.in_the_way_of(request.caller) {
            None => Err(refusal),
            Some(ticket) => {
                self.refuse(ticket, refusal, decisions);
                Ok(())
            }
        }
    }

    fn park(&mut self, ticket: Ticket, waiting: Waiting) {
        if let Some(limits) = self.limiters.get_mut(&waiting.at) {
            limits.queue.add(&waiting.caller, ticket);
            if limits.window.is_some() {
                self.throttled.insert(waiting.at);
            }
        }
        self.waiting.insert(ticket, waiting);
    }

    fn forget(&mut self, ticket: Ticket, waiting: &Waiting) {
        if let Some(moment) = waiting.gives_up {
            self.give_up.remove(&(moment, ticket));
        }
        if let Some(limits) = self.limiters.get_mut(&waiting.at) {
            limits.queue.remove(&waiting.caller, ticket);
            if limits.queue.is_empty() {
                self.throttled.remove(&waiting.at);
            }
        }
    }

    fn refuse(&mut self, ticket: Ticket, refusal: Refusal, decisions: &mut Vec<Decision>) {
        if let Some(waiting) = self.waiting.remove(&ticket) {
            self.forget(ticket, &waiting);
            decisions.push(Decision::Refused(ticket, refusal));
        }
    }

    /// A breaker has opened: calls that will not be tried do not wait.
    fn refuse_waiting(&mut self, now: f64, id: LimiterId, decisions: &mut Vec<Decision>) {
        let needs_it = |waiting: &Waiting| waiting.needs.contains(&id);
        let meant = self.waiting.iter().filter(|(_, waiting)| needs_it(waiting));
        let mut tickets: Vec<Ticket> = meant.map(|(ticket, _)| *ticket).collect();
        tickets.sort_unstable();
        for ticket in tickets {
            if let Some(limits) = self.limiters.get_mut(&id) {
                let refusal = limits.refuse(now, Reason::CircuitOpen);
                self.refuse(ticket, refusal, decisions);
            }
        }
    }

    /// Lets those begin who can now.
    fn drain(&mut self, now: f64, freed: &[LimiterId], decisions: &mut Vec<Decision>) {
        for id in freed {
            while let Some(limits) = self.limiters.get_mut(id) {
                if !limits.has_room(now) {
                    break;
                }
                let Some(ticket) = limits.queue.next() else {
                    self.throttled.remove(id);
                    break;
                };
                self.try_again(now, ticket, decisions);
            }
        }
    }

    /// One that was taken out of its queue begins, waits at another limiter, or is refused.
    fn try_again(&mut self, now: f64, ticket: Ticket, decisions: &mut Vec<Decision>) {
        let Some(mut waiting) = self.waiting.remove(&ticket) else {
            return;
        };
        for id in &waiting.needs {
            if let Some(limits) = self.limiters.get_mut(id)
                && let Err(refusal) = limits.refuse_broken(now)
            {
                self.forget(ticket, &waiting);
                decisions.push(Decision::Refused(ticket, refusal));
                return;
            }
        }
        let full = waiting.needs.iter().copied().find(|id| {
            let limits = self.limiters.get(id);
            limits.is_some_and(|limits| !limits.has_room(now))
        });
        if let Some(at) = full {
            waiting.at = at;
            self.park(ticket, waiting);
        } else {
            self.forget(ticket, &waiting);
            self.begin(now, ticket, waiting.needs);
            decisions.push(Decision::Admitted(ticket));
        }
    }
}

impl Limits {
    fn has_free_permit(&self) -> bool {
        self.settings
            .concurrency
            .is_none_or(|most| self.running < most)
    }

    fn has_room(&self, now: f64) -> bool {
        self.has_free_permit()
            && self
                .window
                .as_ref()
                .is_none_or(|window| window.has_room(now))
    }

    /// Why no call may begin.
    fn full(&self, now: f64) -> Reason {
        match &self.window {
            Some(window) if self.has_free_permit() && !window.has_room(now) => Reason::RateLimited,
            _ => Reason::Overloaded,
        }
    }

    /// The earliest moment at which one more could begin, as far as the rate goes.
    fn begins_at(&self, now: f64) -> f64 {
        let window = self.window.as_ref();
        window.map_or(now, |window| window.free_at(now, self.queue.len()))
    }

    fn refuse_broken(&mut self, now: f64) -> Result<(), Refusal> {
        let breaker = self.breaker.as_ref();
        if breaker.is_some_and(|breaker| breaker.closed_for(now).is_some()) {
            return Err(self.refuse(now, Reason::CircuitOpen));
        }
        Ok(())
    }

    fn refuse(&mut self, now: f64, reason: Reason) -> Refusal {
        let retry_after = match reason {
            Reason::Overloaded => {
                self.refused.overloaded += 1;
                self.next_permit_in()
            }
            Reason::RateLimited => {
                self.refused.rate_limited += 1;
                self.begins_at(now) - now
            }
            Reason::CircuitOpen => {
                self.refused.circuit_open += 1;
                let breaker = self.breaker.as_ref();
                breaker.map_or(0.0, |breaker| breaker.retry_after(now))
            }
        };
        Refusal {
            reason,
            by: self.settings.describe(),
            retry_after,
        }
    }

    /// A guess, by how long calls took lately: when all who wait will have begun.
    fn next_permit_in(&self) -> f64 {
        const UNKNOWN: f64 = 1_000.0;
        let most = self.settings.concurrency.unwrap_or(1).max(1) as f64;
        let ahead = (self.queue.len() + 1) as f64;
        let guess = self.typical.unwrap_or(UNKNOWN) * ahead / most;
        guess.clamp(100.0, 60_000.0)
    }

    fn took(&mut self, duration: f64) {
        const WEIGHT: f64 = 0.2;
        let typical = self.typical.unwrap_or(duration);
        self.typical = Some(typical + WEIGHT * (duration - typical));
    }
}

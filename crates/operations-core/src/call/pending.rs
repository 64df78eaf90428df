//! What becomes of a request: the state machine of pending calls and subscriptions.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::outcome::{
    malformed_answer, timed_out, too_slow, too_slow_for_size, was_aborted, was_silent,
    without_response,
};
use super::timers::{Schedule, Slot};
use crate::error::CallError;
use crate::table::Table;

/// How a request is consumed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// One answer, perhaps by a deadline (Unix milliseconds).
    Call {
        /// When to give up.
        deadline: Option<f64>,
    },
    /// Any number of answers.
    Subscription {
        /// The longest silence in milliseconds between arriving events.
        idle_timeout: Option<f64>,
        /// The other side sends only what was asked for. Then silence counts only while nothing waits for the
        /// consumer: before that it is the consumer who is silent.
        paced: bool,
    },
}

/// A request to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Correlates the events of one request.
    pub id: Arc<str>,
    /// `namespace.name`.
    pub operation_id: Arc<str>,
    /// The call that makes this one: aborting it aborts this one too.
    pub parent: Option<Arc<str>>,
    /// How it is consumed.
    pub kind: Kind,
}

/// What has arrived for a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// An envelope of so many bytes.
    Responded(usize),
    /// Something that should be an envelope and is not.
    Malformed,
    /// The call has failed.
    Failed(CallError),
    /// The subscription has ended.
    Completed,
    /// The other side, or someone here, has ended it.
    Aborted,
}

/// What is to be done. An output is not repeated here: it is that of the event which was handed in.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// The call is answered with the event's output.
    Resolve(Arc<str>),
    /// The subscription's consumer gets the event's output.
    Deliver(Arc<str>),
    /// The request ends with an error.
    Fail(Arc<str>, CallError),
    /// The subscription ends.
    End(Arc<str>),
    /// `call.aborted` goes to the other side.
    SendAborted(Arc<str>),
}

#[derive(Debug)]
struct Pending {
    operation_id: Arc<str>,
    parent: Option<Arc<str>>,
    kind: Kind,
    order: u64,
    timer: Option<Slot>,
    /// When something last arrived (subscriptions).
    heard: f64,
    /// The sizes of events that wait for the consumer, and their sum.
    waiting: VecDeque<usize>,
    waiting_bytes: usize,
    /// Consumers that wait for an event.
    asking: usize,
}

/// The requests that have no final answer yet. Each gets exactly one end; whatever comes after it is ignored.
#[derive(Debug)]
pub struct PendingRequests {
    requests: Table<Arc<str>, Pending>,
    /// By parent, in the order in which they were made.
    children: Table<Arc<str>, BTreeMap<u64, Arc<str>>>,
    schedule: Schedule,
    made: u64,
    max_waiting: usize,
    max_waiting_bytes: usize,
}

impl PendingRequests {
    /// No requests. `max_waiting` is how many events of a subscription may wait for its consumer.
    #[must_use]
    pub fn new(max_waiting: usize) -> Self {
        Self {
            requests: Table::default(),
            children: Table::default(),
            schedule: Schedule::default(),
            made: 0,
            max_waiting,
            max_waiting_bytes: usize::MAX,
        }
    }

    /// No further event is taken for a subscription while events of so many bytes wait for its consumer.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_waiting_bytes = bytes;
        self
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Whether a request has no final answer yet.
    #[must_use]
    pub fn contains(&self, id: &str) -> bool {
        self.requests.contains_key(id)
    }

    /// When [`PendingRequests::tick`] has something to do next.
    #[must_use]
    pub fn next_due(&self) -> Option<f64> {
        self.schedule.next()
    }

    /// Adds a request, which is then to be sent.
    ///
    /// # Errors
    ///
    /// When its deadline has passed already. Then nothing is sent.
    pub fn open(&mut self, now: f64, request: Request) -> Result<(), CallError> {
        let Request {
            id,
            operation_id,
            parent,
            kind,
        } = request;
        if let Kind::Call {
            deadline: Some(deadline),
        } = kind
            && deadline <= now
        {
            return Err(timed_out(&operation_id, deadline, None));
        }
        self.made += 1;
        let order = self.made;
        let timer = expiry(&kind, now).map(|time| self.schedule.add(time, &id));
        if let Some(parent) = &parent {
            self.children
                .entry(Arc::clone(parent))
                .or_default()
                .insert(order, Arc::clone(&id));
        }
        let pending = Pending {
            operation_id,
            parent,
            kind,
            order,
            timer,
            heard: now,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            asking: 0,
        };
        if let Some(replaced) = self.requests.insert(id, pending) {
            self.release(&replaced);
        }
        Ok(())
    }

    /// Something has arrived for a request.
    pub fn answer(&mut self, now: f64, id: &str, answer: Answer) -> Vec<Effect> {
        if answer == Answer::Aborted {
            return self.abort_tree(id);
        }
        let Some((id, pending)) = self.requests.get_key_value(id) else {
            return Vec::new();
        };
        let id = Arc::clone(id);
        let is_call = matches!(pending.kind, Kind::Call { .. });
        match answer {
            Answer::Responded(_) if is_call => {
                self.take(&id);
                vec![Effect::Resolve(id)]
            }
            Answer::Responded(bytes) => self.deliver(now, id, bytes),
            Answer::Malformed => self.fail(&id, malformed_answer(&id)),
            Answer::Failed(error) => self.fail(&id, error),
            Answer::Completed if is_call => {
                let error = without_response(&pending.operation_id);
                self.fail(&id, error)
            }
            Answer::Completed => self.end(&id),
            // Dealt with above.
            Answer::Aborted => Vec::new(),
        }
    }

    /// The consumer of a subscription asks for its next event, waiting or not. Gives the size of the one that has waited.
    pub fn ask(&mut self, now: f64, id: &str) -> usize {
        let Some(pending) = self.requests.get_mut(id) else {
            return 0;
        };
        let Some(bytes) = pending.waiting.pop_front() else {
            pending.asking += 1;
            return 0;
        };
        pending.waiting_bytes = pending.waiting_bytes.saturating_sub(bytes);
        // From here on the other side's silence counts.
        if pending.waiting.is_empty()
            && matches!(pending.kind, Kind::Subscription { paced: true, .. })
        {
            pending.heard = now;
        }
        bytes
    }

    /// A request is ended from here (`abort`): as if the other side had, which is notified.
    pub fn abort(&mut self, id: &str) -> Vec<Effect> {
        let mut effects = vec![Effect::SendAborted(Arc::from(id))];
        effects.append(&mut self.abort_tree(id));
        effects
    }

    /// The caller's own signal ends a request: an error also for a subscription.
    pub fn cancel(&mut self, id: &str) -> Vec<Effect> {
        match self.requests.get(id) {
            Some(pending) => {
                let error = was_aborted(&pending.operation_id);
                self.give_up(id, error)
            }
            None => Vec::new(),
        }
    }

    /// Something on this side makes an answer impossible.
    pub fn give_up(&mut self, id: &str, error: CallError) -> Vec<Effect> {
        let Some((id, _)) = self.requests.get_key_value(id) else {
            return Vec::new();
        };
        let id = Arc::clone(id);
        let mut effects = self.fail(&id, error);
        effects.push(Effect::SendAborted(Arc::clone(&id)));
        effects.append(&mut self.abort_tree(&id));
        effects
    }

    /// The consumer of a subscription leaves.
    pub fn leave(&mut self, id: &str) -> Vec<Effect> {
        let Some((id, _)) = self.take(id) else {
            return Vec::new();
        };
        let mut effects = vec![Effect::SendAborted(Arc::clone(&id))];
        effects.append(&mut self.abort_tree(&id));
        effects
    }

    /// Time has passed.
    pub fn tick(&mut self, now: f64) -> Vec<Effect> {
        let mut effects = Vec::new();
        while let Some(id) = self.schedule.pop(now) {
            let Some(pending) = self.requests.get_mut(&id) else {
                continue;
            };
            pending.timer = None;
            let error = match pending.kind {
                Kind::Call { deadline } => {
                    let after = Some(now - pending.heard);
                    timed_out(&pending.operation_id, deadline.unwrap_or(now), after)
                }
                Kind::Subscription {
                    idle_timeout,
                    paced,
                } => {
                    let idle_timeout = idle_timeout.unwrap_or_default();
                    let consumer_is_silent = paced && !pending.waiting.is_empty();
                    let due = if consumer_is_silent {
                        now + idle_timeout
                    } else {
                        pending.heard + idle_timeout
                    };
                    if due > now {
                        // Something was heard since; the schedule learns of it only now.
                        pending.timer = Some(self.schedule.add(due, &id));
                        continue;
                    }
                    was_silent(&pending.operation_id, idle_timeout)
                }
            };
            effects.append(&mut self.give_up(&id, error));
        }
        effects
    }

    fn deliver(&mut self, now: f64, id: Arc<str>, bytes: usize) -> Vec<Effect> {
        let limit = self.max_waiting;
        let max_bytes = self.max_waiting_bytes;
        let Some(pending) = self.requests.get_mut(&id) else {
            return Vec::new();
        };
        pending.heard = now;
        if pending.asking > 0 {
            pending.asking -= 1;
        } else if pending.waiting.len() >= limit {
            let error = too_slow(&pending.operation_id, limit);
            return self.give_up(&id, error);
        } else if pending.waiting_bytes >= max_bytes {
            let error = too_slow_for_size(&pending.operation_id, max_bytes);
            return self.give_up(&id, error);
        } else {
            pending.waiting.push_back(bytes);
            pending.waiting_bytes = pending.waiting_bytes.saturating_add(bytes);
        }
        vec![Effect::Deliver(id)]
    }

    fn fail(&mut self, id: &str, error: CallError) -> Vec<Effect> {
        match self.take(id) {
            Some((id, _)) => vec![Effect::Fail(id, error)],
            None => Vec::new(),
        }
    }

    /// It was aborted: a subscription is over, a call without an answer was aborted.
    fn end(&mut self, id: &str) -> Vec<Effect> {
        match self.take(id) {
            Some((id, pending)) => vec![match pending.kind {
                Kind::Call { .. } => Effect::Fail(id, was_aborted(&pending.operation_id)),
                Kind::Subscription { .. } => Effect::End(id),
            }],
            None => Vec::new(),
        }
    }

    /// Ends a request, and whatever it has itself called, and so on down: each child right after its parent. By
    /// a list of what is left to do, not by recursion: how deep calls nest is not ours to decide.
    fn abort_tree(&mut self, id: &str) -> Vec<Effect> {
        let mut effects = self.end(id);
        let mut left = self.children_of(id);
        while let Some(child) = left.pop() {
            effects.push(Effect::SendAborted(Arc::clone(&child)));
            effects.append(&mut self.end(&child));
            left.append(&mut self.children_of(&child));
        }
        effects
    }

    /// The last one first, ready to be popped.
    fn children_of(&self, id: &str) -> Vec<Arc<str>> {
        self.children
            .get(id)
            .map(|children| children.values().rev().cloned().collect())
            .unwrap_or_default()
    }

    fn take(&mut self, id: &str) -> Option<(Arc<str>, Pending)> {
        let (id, pending) = self.requests.remove_entry(id)?;
        self.release(&pending);
        Some((id, pending))
    }

    fn release(&mut self, pending: &Pending) {
        if let Some(slot) = pending.timer {
            self.schedule.remove(slot);
        }
        if let Some(parent) = &pending.parent
            && let Some(children) = self.children.get_mut(parent)
        {
            children.remove(&pending.order);
            if children.is_empty() {
                self.children.remove(parent);
            }
        }
    }
}

fn expiry(kind: &Kind, now: f64) -> Option<f64> {
    let time = match *kind {
        Kind::Call { deadline } => deadline?,
        Kind::Subscription { idle_timeout, .. } => now + idle_timeout?,
    };
    // A time that is no number is not worth waiting for; one without end never comes.
    if time.is_nan() {
        Some(now)
    } else {
        (time < f64::INFINITY).then_some(time)
    }
}

#[cfg(test)]
mod tests;

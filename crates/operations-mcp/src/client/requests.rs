//! What we have asked on one connection and wait for: who gets each answer, until when, and whose progress it is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use operations_core::lock::locked;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::task;
use crate::error::Failure;

/// Receives the parameters of a progress notification, as JSON.
pub type OnProgress = Arc<dyn Fn(&str) + Send + Sync>;

/// The same, while it is shared.
type Listener = Weak<dyn Fn(&str) + Send + Sync>;

/// Called once, by whichever thread learns how a request ended. The result is JSON as the server wrote it.
pub(crate) type Done = Box<dyn FnOnce(Result<String, Failure>) + Send>;

/// How long an answer is awaited.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    pub(crate) limit: Duration,
    /// Whether a sign of progress starts the time anew.
    pub(crate) reset_on_progress: bool,
    /// When it ends in any case.
    pub(crate) end: Option<Instant>,
}

impl Patience {
    /// So long, progress or not.
    pub(crate) fn of(limit: Duration) -> Self {
        Self {
            limit,
            reset_on_progress: false,
            end: None,
        }
    }

    /// Until when, counted from now.
    fn deadline(self) -> Instant {
        let deadline = Instant::now() + self.limit;
        self.end.map_or(deadline, |end| deadline.min(end))
    }
}

struct Waiting {
    done: Done,
    on_progress: Option<OnProgress>,
    patience: Patience,
    deadline: Instant,
    /// Whether the server may have it.
    sent: bool,
}

#[derive(Default)]
struct Table {
    last_id: u64,
    waiting: HashMap<u64, Waiting>,
    /// When the clock checks the deadlines next.
    next_look: Option<Instant>,
    /// Nothing can be asked any more.
    is_lost: bool,
    given_up: Option<u64>,
    answered_late: bool,
    /// Who hears of the progress of requests that were answered with a task, for as long as the task is awaited.
    tasks: Vec<(u64, Listener)>,
}

/// The requests in flight on one connection.
#[derive(Default)]
pub(crate) struct Requests {
    table: Mutex<Table>,
    sooner: Notify,
}

impl Requests {
    fn table(&self) -> MutexGuard<'_, Table> {
        locked(&self.table)
    }

    /// Notes a request that is about to be sent, and gives it a number. On a connection that is lost, hands
    /// `done` back.
    pub(crate) fn begin(
        &self,
        patience: Patience,
        on_progress: Option<OnProgress>,
        done: Done,
    ) -> Result<u64, Done> {
        let deadline = patience.deadline();
        let mut table = self.table();
        if table.is_lost {
            return Err(done);
        }
        table.last_id += 1;
        let id = table.last_id;
        let waiting = Waiting {
            done,
            on_progress,
            patience,
            deadline,
            sent: false,
        };
        table.waiting.insert(id, waiting);
        let is_sooner = table.next_look.is_none_or(|look| deadline < look);
        if is_sooner {
            table.next_look = Some(deadline);
            drop(table);
            self.sooner.notify_one();
        }
        Ok(id)
    }

    /// Ends a request. Returns whether it was waiting.
    pub(crate) fn settle(&self, id: u64, outcome: Result<String, Failure>) -> bool {
        let done = {
            let mut table = self.table();
            table.answered_late |= outcome.is_ok() && table.given_up == Some(id);
            let waiting = table.waiting.remove(&id);
            if let (Some(listener), Ok(result)) = (
                waiting.as_ref().and_then(|it| it.on_progress.as_ref()),
                &outcome,
            ) && result.contains(task::MARK)
            {
                table
                    .tasks
                    .retain(|(_, listener)| listener.strong_count() > 0);
                table.tasks.push((id, Arc::downgrade(listener)));
            }
            waiting
        };
        let was_awaited = done.is_some();
        if let Some(Waiting { done, .. }) = done {
            done(outcome);
        }
        was_awaited
    }

    /// Gives up on a request whose answer, should it come, is reported by [`Requests::answered_late`].
    pub(crate) fn give_up_on(&self, id: u64) {
        let mut table = self.table();
        if table.waiting.remove(&id).is_some() {
            table.given_up = Some(id);
        }
    }

    /// Whether a request that we gave up on was answered after all.
    pub(crate) fn answered_late(&self) -> bool {
        self.table().answered_late
    }

    /// How many requests there were so far.
    pub(crate) fn begun(&self) -> u64 {
        self.table().last_id
    }

    pub(crate) fn is_waiting(&self, id: u64) -> bool {
        self.table().waiting.contains_key(&id)
    }

    /// The request that waits, if there is exactly one.
    pub(crate) fn only_one(&self) -> Option<u64> {
        let table = self.table();
        let mut ids = table.waiting.keys();
        match (ids.next(), ids.next()) {
            (Some(id), None) => Some(*id),
            _ => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.table().waiting.is_empty()
    }

    /// A sign of progress. Requests are their own progress tokens.
    pub(crate) fn progress(&self, token: u64, params: &str) {
        let listener = {
            let mut table = self.table();
            if let Some(waiting) = table.waiting.get_mut(&token) {
                if waiting.patience.reset_on_progress {
                    waiting.deadline = waiting.patience.deadline();
                }
                waiting.on_progress.clone()
            } else {
                // A token is valid for as long as the task of its request.
                let mut tasks = table.tasks.iter();
                let task = tasks.find(|(id, _)| *id == token);
                task.and_then(|(_, listener)| listener.upgrade())
            }
        };
        if let Some(listener) = listener {
            listener(params);
        }
    }

    /// An answer that was too large to be read. When nothing says which request it is for, all of them fail.
    pub(crate) fn too_large(&self, id: Option<u64>, limit: usize) {
        let ids = match id {
            Some(id) => vec![id],
            None => self.table().waiting.keys().copied().collect(),
        };
        for id in ids {
            self.settle(id, Err(Failure::TooLarge(limit)));
        }
    }

    /// The request is about to leave us: from now on it may be carried out.
    pub(crate) fn mark_sent(&self, id: u64) {
        if let Some(waiting) = self.table().waiting.get_mut(&id) {
            waiting.sent = true;
        }
    }

    /// The connection is gone: waiting requests fail, and no more can be sent. `unsent` did not leave us
    /// after all.
    pub(crate) fn lose(&self, unsent: &[u64]) {
        let waiting = {
            let mut table = self.table();
            table.is_lost = true;
            for id in unsent {
                if let Some(waiting) = table.waiting.get_mut(id) {
                    waiting.sent = false;
                }
            }
            std::mem::take(&mut table.waiting)
        };
        self.sooner.notify_one();
        for Waiting { done, sent, .. } in waiting.into_values() {
            done(Err(Failure::Lost { sent }));
        }
    }

    /// Takes out what is late, and returns when to check again.
    fn expire(&self, now: Instant) -> (Vec<(u64, Waiting)>, Option<Instant>) {
        let mut table = self.table();
        let late: Vec<u64> = table
            .waiting
            .iter()
            .filter(|(_, waiting)| waiting.deadline <= now)
            .map(|(id, _)| *id)
            .collect();
        let late = late
            .into_iter()
            .filter_map(|id| Some((id, table.waiting.remove(&id)?)))
            .collect();
        table.next_look = table.waiting.values().map(|waiting| waiting.deadline).min();
        (late, table.next_look)
    }
}

/// Ends what takes too long, until the connection is lost. `withdraw` notifies the server.
pub(crate) async fn watch_deadlines(requests: Arc<Requests>, withdraw: impl Fn(u64)) {
    let mut look = None;
    loop {
        let sooner = requests.sooner.notified();
        match look {
            Some(look) => tokio::select! {
                () = sooner => {}
                () = sleep_until(look) => {}
            },
            None => sooner.await,
        }
        let (late, next) = requests.expire(Instant::now());
        for (id, waiting) in late {
            withdraw(id);
            (waiting.done)(Err(Failure::Timeout(waiting.patience.limit)));
        }
        if requests.table().is_lost {
            return;
        }
        look = next;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn begin(requests: &Requests, limit: Duration) -> (u64, mpsc::Receiver<String>) {
        let (sender, receiver) = mpsc::channel();
        let done = Box::new(move |outcome| sender.send(format!("{outcome:?}")).unwrap());
        let id = requests.begin(Patience::of(limit), None, done);
        (id.ok().unwrap(), receiver)
    }

    #[test]
    fn an_answer_reaches_its_request_once() {
        let requests = Requests::default();
        let (one, first) = begin(&requests, LONG);
        let (other, second) = begin(&requests, LONG);
        assert_ne!(one, other);
        assert!(requests.settle(other, Ok("{}".to_owned())));
        assert!(!requests.settle(other, Ok("{}".to_owned())));
        assert_eq!(second.recv().unwrap(), r#"Ok("{}")"#);
        assert!(second.recv().is_err() && first.try_recv().is_err());
        assert_eq!(requests.only_one(), Some(one));
    }

    #[test]
    fn a_lost_connection_ends_all_and_takes_nothing_more() {
        let requests = Requests::default();
        let (one, first) = begin(&requests, LONG);
        let (two, second) = begin(&requests, LONG);
        let (_, third) = begin(&requests, LONG);
        requests.mark_sent(one);
        requests.mark_sent(two);
        requests.lose(&[two]);
        assert_eq!(first.recv().unwrap(), "Err(Lost { sent: true })");
        assert_eq!(second.recv().unwrap(), "Err(Lost { sent: false })");
        assert_eq!(third.recv().unwrap(), "Err(Lost { sent: false })");
        let refused = requests.begin(Patience::of(LONG), None, Box::new(|_| {}));
        assert!(refused.is_err());
    }

    #[test]
    fn progress_reaches_its_call_and_no_other() {
        let requests = Requests::default();
        let (sender, receiver) = mpsc::channel();
        let listener: OnProgress =
            Arc::new(move |json: &str| sender.send(json.to_owned()).unwrap());
        let id = requests.begin(Patience::of(LONG), Some(listener), Box::new(|_| {}));
        let id = id.ok().unwrap();
        requests.progress(id, "1");
        requests.progress(id + 1, "2");
        requests.settle(id, Ok(String::new()));
        requests.progress(id, "3");
        drop(requests);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), ["1"]);
    }

    #[test]
    fn progress_goes_on_while_the_task_is_awaited() {
        let requests = Requests::default();
        let (sender, receiver) = mpsc::channel();
        let listener: OnProgress =
            Arc::new(move |json: &str| sender.send(json.to_owned()).unwrap());
        let waiting = Some(Arc::clone(&listener));
        let id = requests.begin(Patience::of(LONG), waiting, Box::new(|_| {}));
        let id = id.ok().unwrap();
        requests.settle(id, Ok(r#"{"task":{"taskId":"a"}}"#.to_owned()));
        requests.progress(id, "1");
        drop(listener);
        requests.progress(id, "2");
        assert_eq!(receiver.iter().collect::<Vec<_>>(), ["1"]);
    }

    #[test]
    fn an_answer_that_is_too_large_fails_its_request() {
        let requests = Requests::default();
        let (one, first) = begin(&requests, LONG);
        let (_, second) = begin(&requests, LONG);
        requests.too_large(Some(one), 5);
        assert_eq!(first.recv().unwrap(), "Err(TooLarge(5))");
        assert!(second.try_recv().is_err());
        requests.too_large(None, 5);
        assert_eq!(second.recv().unwrap(), "Err(TooLarge(5))");
    }

    #[test]
    fn what_was_given_up_is_noticed_when_it_is_answered_after_all() {
        let requests = Requests::default();
        let (id, receiver) = begin(&requests, LONG);
        requests.give_up_on(id);
        assert!(!requests.answered_late() && receiver.recv().is_err());
        requests.settle(id, Ok("{}".to_owned()));
        assert!(requests.answered_late());
    }

    #[test]
    fn the_shortest_deadline_ends_first_and_progress_may_move_it() {
        let requests = Requests::default();
        let (long, _) = begin(&requests, LONG);
        let (short, _) = begin(&requests, Duration::from_secs(1));
        let moving = Patience {
            limit: Duration::from_secs(2),
            reset_on_progress: true,
            end: None,
        };
        let moved = requests.begin(moving, None, Box::new(|_| {})).ok();
        let moved = moved.unwrap();
        let late = |seconds: u64| {
            let (late, _) = requests.expire(Instant::now() + Duration::from_secs(seconds));
            late.into_iter().map(|(id, _)| id).collect::<Vec<_>>()
        };
        assert_eq!(late(0), [0; 0]);
        assert_eq!(late(1), [short]);
        let mut table = requests.table();
        // As if it had begun long ago.
        table.waiting.get_mut(&moved).unwrap().deadline -= Duration::from_secs(1);
        drop(table);
        requests.progress(moved, "{}");
        assert_eq!(late(1), [0; 0]);
        assert_eq!(late(2), [moved]);
        assert_eq!(late(60), [long]);
    }

    #[tokio::test]
    async fn the_clock_ends_what_is_late() {
        let requests = Arc::new(Requests::default());
        let (withdrawn, seen) = mpsc::channel();
        let clock = tokio::spawn(watch_deadlines(Arc::clone(&requests), move |id| {
            withdrawn.send(id).unwrap();
        }));
        let (_, long) = begin(&requests, LONG);
        tokio::task::yield_now().await;
        let (short, receiver) = begin(&requests, Duration::from_millis(1));
        while requests.is_waiting(short) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(seen.recv().unwrap(), short);
        assert_eq!(receiver.recv().unwrap(), "Err(Timeout(1ms))");
        requests.lose(&[]);
        clock.await.unwrap();
        assert_eq!(long.recv().unwrap(), "Err(Lost { sent: false })");
    }
}

//! What has arrived and waits to be taken, many at a time.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use operations_core::error::CallError;
use serde_json::json;

/// Beyond either, nothing more is read from the socket.
const FULL_BYTES: usize = 32 * 1024 * 1024;
const FULL_ITEMS: usize = 65_536;
/// What one take hands out: enough to amortise the crossing, not so much that the taker is blocked for long.
const BATCH_BYTES: usize = 1024 * 1024;
const BATCH_ITEMS: usize = 4096;

/// Something to tell.
enum Item {
    /// A message: the type of the event and its detail as JSON.
    Message(String, String),
    /// A request that was not sent, or may not have been.
    Failed(String, CallError),
    /// Messages may have been missed.
    Lost(String),
}

impl Item {
    fn bytes(&self) -> usize {
        match self {
            Self::Message(kind, detail) => kind.len() + detail.len(),
            Self::Failed(id, error) => id.len() + error.message.len(),
            Self::Lost(reason) => reason.len(),
        }
    }

    /// The item as a JSON array that begins with its kind.
    fn write(&self, out: &mut String) {
        let written = match self {
            Self::Message(kind, detail) => write!(out, "[0,{},{detail}]", json!(kind)),
            Self::Failed(
                id,
                CallError {
                    code,
                    message,
                    details,
                },
            ) => {
                write!(out, "{}", json!([1, id, code, message, details]))
            }
            Self::Lost(reason) => write!(out, "{}", json!([2, reason])),
        };
        // Writing to a string does not fail.
        debug_assert!(written.is_ok());
    }
}

#[derive(Default)]
struct State {
    items: VecDeque<Item>,
    bytes: usize,
    /// The taker knows that there is something.
    is_announced: bool,
    /// Waits until there is room.
    reader: Option<Waker>,
    malformed: u64,
    too_large: u64,
}

impl State {
    fn is_full(&self) -> bool {
        self.bytes >= FULL_BYTES || self.items.len() >= FULL_ITEMS
    }
}

/// Filled on Tokio's threads, emptied on JavaScript's.
pub(crate) struct Mailbox {
    state: Mutex<State>,
    announce: Box<dyn Fn() + Send + Sync>,
}

impl Mailbox {
    /// `announce` is called when there is something to take; not again before it was.
    pub(crate) fn new(announce: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            state: Mutex::default(),
            announce: Box::new(announce),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics half-way; if it did, the state would still be a list of items.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn message(&self, event_type: &str, detail: &str) {
        self.change(|state| state.push(Item::Message(event_type.to_owned(), detail.to_owned())));
    }

    pub(crate) fn failed(&self, request_id: String, error: CallError) {
        self.change(|state| state.push(Item::Failed(request_id, error)));
    }

    pub(crate) fn lost(&self, reason: String) {
        self.change(|state| {
            // Lost twice with nothing in between is lost.
            if !matches!(state.items.back(), Some(Item::Lost(_))) {
                state.push(Item::Lost(reason));
            }
        });
    }

    pub(crate) fn malformed(&self) {
        self.change(|state| state.malformed += 1);
    }

    pub(crate) fn too_large(&self) {
        self.change(|state| state.too_large += 1);
    }

    /// Tells the taker that something outside has changed.
    pub(crate) fn announce(&self) {
        self.change(|_| ());
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let is_news = !std::mem::replace(&mut state.is_announced, true);
        drop(state);
        if is_news {
            (self.announce)();
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.lock().is_full()
    }

    /// Whether more may be read. If not, the task is woken when there is room.
    pub(crate) fn poll_room(&self, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if !state.is_full() {
            return Poll::Ready(());
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    /// What is there, as JSON: `{ more, malformed, tooLarge, waiting, items }`. With `more`, take again; without,
    /// the next item is announced. `waiting` is passed through.
    pub(crate) fn take(&self, waiting: usize) -> String {
        let mut state = self.lock();
        let mut items = String::new();
        let mut count = 0;
        while count < BATCH_ITEMS && items.len() < BATCH_BYTES {
            let Some(item) = state.items.pop_front() else {
                break;
            };
            state.bytes -= item.bytes();
            if count > 0 {
                items.push(',');
            }
            item.write(&mut items);
            count += 1;
        }
        let more = !state.items.is_empty();
        state.is_announced = more;
        let reader = if state.is_full() {
            None
        } else {
            state.reader.take()
        };
        let (malformed, too_large) = (state.malformed, state.too_large);
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
        format!(
            r#"{{"more":{more},"malformed":{malformed},"tooLarge":{too_large},"waiting":{waiting},"items":[{items}]}}"#
        )
    }
}

impl State {
    fn push(&mut self, item: Item) {
        self.bytes += item.bytes();
        self.items.push_back(item);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::Value;

    use super::*;

    fn mailbox() -> (Mailbox, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        let mailbox = Mailbox::new(move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        (mailbox, count)
    }

    fn take(mailbox: &Mailbox) -> Value {
        serde_json::from_str(&mailbox.take(0)).expect("JSON")
    }

    #[test]
    fn all_that_is_there_is_one_text_and_one_announcement() {
        let (mailbox, announced) = mailbox();
        mailbox.message("call.\"x\"", r#"{"a":[1]}"#);
        mailbox.failed("id".into(), CallError::new("C", "m"));
        mailbox.lost("gone".into());
        mailbox.malformed();
        assert_eq!(announced.load(Ordering::Relaxed), 1);
        let taken = take(&mailbox);
        assert_eq!(
            taken["items"],
            json!([[0, "call.\"x\"", {"a":[1]}], [1, "id", "C", "m", null], [2, "gone"]])
        );
        assert_eq!(
            (&taken["more"], &taken["malformed"]),
            (&json!(false), &json!(1))
        );
        mailbox.message("t", "1");
        assert_eq!(announced.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_large_backlog_is_handed_out_in_parts_and_stops_the_reader() {
        let (mailbox, announced) = mailbox();
        let cx = Context::from_waker(Waker::noop());
        let mut count = 0;
        while mailbox.poll_room(&cx).is_ready() {
            mailbox.message("t", "1");
            count += 1;
        }
        assert_eq!(count, FULL_ITEMS);
        let mut taken = 0;
        loop {
            let batch = take(&mailbox);
            taken += batch["items"].as_array().expect("items").len();
            assert!(mailbox.poll_room(&cx).is_ready());
            if batch["more"] == json!(false) {
                break;
            }
        }
        assert_eq!((taken, announced.load(Ordering::Relaxed)), (count, 1));
    }
}

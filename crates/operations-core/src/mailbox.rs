//! From native code to JavaScript: whatever has happened since it last looked, in one crossing.
//!
//! Native threads put [`Item`]s into a [`Mailbox`]; JavaScript is woken once and takes all of them as one JSON text, with
//! what JSON cannot carry, or not as fast, beside it. `facade/interop/inbox.ts` is the one reader.
//!
//! Nothing grows without end: most items answer something that JavaScript asked for; signs of progress are dropped,
//! the oldest first; of a state only the newest is kept; and readers of sockets wait while the mailbox is full.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use crate::lock::locked;

mod item;

pub use item::{Address, Attachment, Batch, Item, Kind};

/// What one take hands out: enough to be worth the crossing, not so much that JavaScript is blocked for long.
const BATCH_BYTES: usize = 1024 * 1024;
const BATCH_ITEMS: usize = 4096;
/// Beyond either, readers of sockets wait ([`Mailbox::poll_room`]).
const FULL_BYTES: usize = 32 * 1024 * 1024;
const FULL_ITEMS: usize = 65_536;
/// Signs of progress that wait. Beyond it the oldest go: a thread that is too busy to look is best served with the
/// newest.
const PROGRESS_BYTES: usize = 8 * 1024 * 1024;
#[derive(Default)]
struct State {
    items: VecDeque<Queued>,
    bytes: usize,
    progress_bytes: usize,
    /// The newest state of each thing, by whom it is for.
    changed: Vec<(String, Item)>,
    /// JavaScript was woken, or has promised to come again.
    is_announced: bool,
    /// Waits until there is room.
    reader: Option<Waker>,
}

struct Queued {
    item: Item,
    is_progress: bool,
}

impl State {
    fn is_full(&self) -> bool {
        self.bytes >= FULL_BYTES || self.items.len() >= FULL_ITEMS
    }

    fn push(&mut self, item: Item, is_progress: bool) {
        self.bytes += item.bytes();
        self.items.push_back(Queued { item, is_progress });
    }

    fn forget(&mut self, queued: &Queued) {
        let bytes = queued.item.bytes();
        self.bytes -= bytes;
        if queued.is_progress {
            self.progress_bytes -= bytes;
        }
    }
}

/// Filled on any thread, emptied on JavaScript's.
pub struct Mailbox {
    state: Mutex<State>,
    wake: Box<dyn Fn() + Send + Sync>,
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").finish_non_exhaustive()
    }
}

impl Mailbox {
    /// `wake` is called, from any thread, when there is something to take; not again before it was.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self {
            state: Mutex::default(),
            wake: Box::new(wake),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Puts an item in.
    pub fn push(&self, item: Item) {
        self.change(|state| state.push(item, false));
    }

    /// Puts items in without waking JavaScript: for those who hold a lock. When it says so, [`Mailbox::wake`] is to be
    /// called soon.
    #[must_use]
    pub fn add(&self, items: Vec<Item>) -> bool {
        if items.is_empty() {
            return false;
        }
        let mut state = self.lock();
        for item in items {
            state.push(item, false);
        }
        !std::mem::replace(&mut state.is_announced, true)
    }

    /// Has JavaScript look.
    pub fn wake(&self) {
        (self.wake)();
    }

    /// Puts a sign of progress in, for which older ones may have to go.
    pub fn push_progress(&self, item: Item) {
        self.change(|state| {
            state.progress_bytes += item.bytes();
            state.push(item, true);
            while state.progress_bytes > PROGRESS_BYTES {
                let oldest = state.items.iter().position(|queued| queued.is_progress);
                let Some(gone) = oldest.and_then(|oldest| state.items.remove(oldest)) else {
                    break;
                };
                state.forget(&gone);
            }
        });
    }

    /// Puts an item in, unless the one before it says the same already.
    pub fn push_once(&self, item: Item) {
        self.change(|state| {
            let last = state.items.back();
            if last.is_none_or(|last| last.item.kind() != item.kind()) {
                state.push(item, false);
            }
        });
    }

    /// Sets the newest state of something, in place of one that was not taken yet. `value` must be JSON.
    pub fn set(&self, what: &str, value: &str) {
        let item = Item::changed(what, value);
        self.change(
            |state| match state.changed.iter_mut().find(|(name, _)| name == what) {
                Some((_, before)) => *before = item,
                None => state.changed.push((what.to_owned(), item)),
            },
        );
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        let must_wake = !std::mem::replace(&mut state.is_announced, true);
        drop(state);
        if must_wake {
            self.wake();
        }
    }

    /// Whether readers of sockets have to wait.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.lock().is_full()
    }

    /// Whether more may be read from outside. If not, the task is woken when there is room.
    pub fn poll_room(&self, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if !state.is_full() {
            return Poll::Ready(());
        }
        state.reader = Some(cx.waker().clone());
        Poll::Pending
    }

    /// What is there; nothing when nothing is. When the result says that there is more, take again without waiting for a wake-up.
    pub fn take(&self) -> Option<Batch> {
        let mut state = self.lock();
        let mut bytes = 0;
        let mut taken = Vec::with_capacity(state.items.len().min(BATCH_ITEMS));
        while taken.len() < BATCH_ITEMS
            && let Some(next) = state.items.front()
        {
            bytes += next.item.bytes();
            // One that is larger than a batch goes alone.
            if bytes > BATCH_BYTES && !taken.is_empty() {
                break;
            }
            if let Some(queued) = state.items.pop_front() {
                state.forget(&queued);
                taken.push(queued.item);
            }
        }
        taken.extend(state.changed.drain(..).map(|(_, item)| item));
        let has_more = !state.items.is_empty();
        state.is_announced = has_more;
        let reader = if state.is_full() {
            None
        } else {
            state.reader.take()
        };
        drop(state);
        if let Some(reader) = reader {
            reader.wake();
        }
        (!taken.is_empty()).then(|| Batch::of(taken, has_more))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::{Value, json};

    use super::*;
    use crate::error::CallError;

    fn mailbox() -> (Mailbox, Arc<AtomicUsize>) {
        let woken = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&woken);
        let mailbox = Mailbox::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        (mailbox, woken)
    }

    fn read(batch: &Batch) -> Value {
        serde_json::from_str(&batch.text).expect("a batch is JSON")
    }

    fn take(mailbox: &Mailbox) -> Value {
        mailbox.take().map_or(Value::Null, |batch| read(&batch))
    }

    #[test]
    fn all_that_is_there_is_one_text_and_one_wake_up() {
        let (mailbox, woken) = mailbox();
        mailbox.push(Item::done(7, r#"{"a":[1]}"#));
        mailbox.push(Item::failed("id", &CallError::new("C", "m")));
        mailbox.push(Item::ended("call.\"x\"\n\\"));
        assert_eq!(woken.load(Ordering::Relaxed), 1);
        assert_eq!(
            take(&mailbox),
            json!([0, [0, 7, {"a": [1]}], [1, "id", {"code": "C", "message": "m"}], [3, "call.\"x\"\n\\"]])
        );
        assert!(mailbox.take().is_none());
        assert_eq!(woken.load(Ordering::Relaxed), 1);
        mailbox.push(Item::ready(1));
        assert_eq!(woken.load(Ordering::Relaxed), 2);
        assert_eq!(take(&mailbox), json!([0, [4, 1]]));
    }

    #[test]
    fn attachments_are_beside_the_text_in_the_order_of_their_items() {
        let (mailbox, _) = mailbox();
        let bytes = |byte| Attachment::Bytes(vec![byte]);
        mailbox.push(Item::done(1, "{}").with(bytes(1)));
        mailbox.push(Item::done(2, "{}"));
        let error = CallError::new("C", "m");
        mailbox.push(Item::failed(3, &error).with(Attachment::Text("t".into())));
        mailbox.push(Item::done(4, "{}").with(Attachment::Json("[]".into())));
        let batch = mailbox.take().expect("items");
        assert_eq!(
            read(&batch),
            json!([0, [0, 1, {}, 1], [0, 2, {}], [1, 3, {"code": "C", "message": "m"}, 1], [0, 4, {}, 2]])
        );
        let text = Attachment::Text("t".to_owned());
        let json = Attachment::Json("[]".to_owned());
        assert_eq!(batch.attachments, [bytes(1), text, json]);
    }

    #[test]
    fn a_large_backlog_is_handed_out_in_parts_and_stops_the_reader() {
        let (mailbox, woken) = mailbox();
        let cx = Context::from_waker(Waker::noop());
        let mut count = 0;
        while mailbox.poll_room(&cx).is_ready() {
            mailbox.push(Item::event("t", "1"));
            count += 1;
        }
        assert!(mailbox.is_full());
        assert_eq!(count, FULL_ITEMS);
        let mut taken = 0;
        loop {
            let batch = take(&mailbox);
            taken += batch.as_array().expect("items").len() - 1;
            assert!(mailbox.poll_room(&cx).is_ready());
            if batch[0] == json!(0) {
                break;
            }
        }
        assert_eq!((taken, woken.load(Ordering::Relaxed)), (count, 1));
        assert_eq!(mailbox.lock().bytes, 0);
    }

    #[test]
    fn an_item_that_is_larger_than_a_batch_goes_alone() {
        let (mailbox, _) = mailbox();
        let large = format!("\"{}\"", "x".repeat(2 * BATCH_BYTES));
        for value in ["1", &large, "2"] {
            mailbox.push(Item::event(1, value));
        }
        let sizes: Vec<usize> = std::iter::from_fn(|| mailbox.take())
            .map(|batch| batch.text.len())
            .collect();
        assert_eq!(sizes.len(), 3);
        assert!(sizes[1] > 2 * BATCH_BYTES && sizes[0] + sizes[2] < 100);
    }

    #[test]
    fn what_goes_beside_the_text_counts_for_the_size_of_a_batch() {
        let (mailbox, _) = mailbox();
        for id in 0..3 {
            let body = Attachment::Bytes(vec![0; BATCH_BYTES / 2]);
            mailbox.push(Item::done(id, "{}").with(body));
        }
        let batches = std::iter::from_fn(|| mailbox.take()).count();
        assert_eq!(batches, 3);
    }

    #[test]
    fn of_too_much_progress_the_oldest_goes_and_nothing_else() {
        let (mailbox, _) = mailbox();
        let text = format!("\"{}\"", "x".repeat(1000));
        mailbox.push(Item::done(1, "1"));
        for number in 0..10_000 {
            mailbox.push_progress(Item::event(number, &text));
        }
        mailbox.push(Item::done(2, "2"));
        let mut seen = Vec::new();
        while let Some(batch) = mailbox.take() {
            let items = read(&batch);
            for item in items.as_array().expect("items").iter().skip(1) {
                seen.push((item[0].as_u64(), item[1].as_u64().expect("a number")));
            }
        }
        let progress: Vec<u64> = seen
            .iter()
            .filter_map(|(kind, to)| (*kind == Some(2)).then_some(*to))
            .collect();
        assert_eq!(
            (seen.first(), seen.last()),
            (Some(&(Some(0), 1)), Some(&(Some(0), 2)))
        );
        assert!(
            (7_000..8_000).contains(&progress.len()),
            "{}",
            progress.len()
        );
        assert_eq!(progress.last(), Some(&9_999));
        assert!(progress.is_sorted());
        let state = mailbox.lock();
        assert_eq!((state.bytes, state.progress_bytes), (0, 0));
    }

    #[test]
    fn of_a_state_the_newest_is_kept_and_a_repeated_loss_is_one() {
        let (mailbox, woken) = mailbox();
        mailbox.set("tools", "[1]");
        mailbox.set("counts", "1");
        mailbox.push_once(Item::lost("a"));
        mailbox.push_once(Item::lost("b"));
        mailbox.set("tools", "[2]");
        assert_eq!(
            take(&mailbox),
            json!([0, [8, "", "a"], [9, "tools", [2]], [9, "counts", 1]])
        );
        assert_eq!(woken.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn adding_items_does_not_wake_the_reader() {
        let (mailbox, woken) = mailbox();
        assert!(!mailbox.add(Vec::new()));
        assert!(mailbox.add(vec![Item::ended(1)]));
        assert!(!mailbox.add(vec![Item::ended(2)]));
        assert_eq!(woken.load(Ordering::Relaxed), 0);
        mailbox.wake();
        assert_eq!(take(&mailbox), json!([0, [3, 1], [3, 2]]));
        assert_eq!(woken.load(Ordering::Relaxed), 1);
    }
}

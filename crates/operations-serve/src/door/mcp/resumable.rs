//! Streams that a client of 2025-11-25 may leave and come back to: the call goes on meanwhile, and what was said is said again from
//! where the client left (`Last-Event-ID`). The server may end such a stream itself, so that no connection stays open for as
//! long as a call takes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{StreamExt as _, stream};
use http::Response;
use operations_core::byte_budget::{Held, Share};
use operations_core::lock::locked;
use serde::{Deserialize, Deserializer};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use uuid::Uuid;

use super::events::{KEEP_ALIVE, comment, event_stream, last_words};
use super::request::Reply;
use super::{bounded, message, plain_answer, reply_text};
use crate::body::{self, Body};
use crate::limits::Permit;
use crate::service::{Answered, Shared};

/// What is done within this time is answered without a stream.
const QUICK: Duration = Duration::from_millis(100);
/// When a client that was sent away should come back, in milliseconds.
const RETRY: u64 = 500;
/// Streams at a time, and of one caller. Calls beyond them have streams that cannot be resumed.
const MOST: usize = 1_000;
const MOST_OF_ONE: usize = 100;
/// What is kept of notifications, in bytes. More is left out; the answer never is.
const MOST_KEPT: usize = 1024 * 1024;

/// How streams are resumed.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResumeOptions {
    /// How long a stream stays open before its client is sent away to come back; `None` for as long as the call takes.
    #[serde(default, deserialize_with = "duration")]
    pub hold: Option<Duration>,
    /// How long a call goes on without its client.
    #[serde(deserialize_with = "some_duration")]
    pub wait: Duration,
}

fn duration<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<Duration>, D::Error> {
    let given = Option::<f64>::deserialize(reader)?;
    Ok(given.map(operations_core::clock::milliseconds))
}

fn some_duration<'de, D: Deserializer<'de>>(reader: D) -> Result<Duration, D::Error> {
    f64::deserialize(reader).map(operations_core::clock::milliseconds)
}

/// The streams that can be resumed.
#[derive(Debug, Default)]
pub(super) struct Streams(Mutex<HashMap<Uuid, Arc<Resumable>>>);

/// A stream, and all that was said on it.
#[derive(Debug)]
struct Resumable {
    id: Uuid,
    session: String,
    caller: String,
    said: Mutex<Said>,
    /// How many messages there are.
    news: watch::Sender<usize>,
    /// How many read it.
    readers: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Said {
    messages: Vec<Arc<str>>,
    bytes: usize,
    is_over: bool,
    /// They count as long as they are kept.
    held: Option<Held>,
}

/// The session and caller of a stream.
#[derive(Debug, Clone)]
pub(super) struct Whose {
    pub(super) session: String,
    pub(super) caller: String,
}

impl Streams {
    fn open(&self, whose: Whose) -> Option<Arc<Resumable>> {
        let mut open = locked(&self.0);
        let of_caller = open.values().filter(|each| each.caller == whose.caller);
        if open.len() >= MOST || of_caller.count() >= MOST_OF_ONE {
            return None;
        }
        let made = Arc::new(Resumable {
            id: Uuid::new_v4(),
            session: whose.session,
            caller: whose.caller,
            said: Mutex::default(),
            news: watch::Sender::new(0),
            readers: watch::Sender::new(0),
        });
        open.insert(made.id, Arc::clone(&made));
        Some(made)
    }

    /// The rest of a stream, for a client that comes back with the id of the last event that it has seen. `None` if there is no
    /// such stream for it.
    pub(super) fn resume(
        &self,
        whose: &Whose,
        last_event: &str,
        options: &ResumeOptions,
        permit: Option<Permit>,
    ) -> Option<Response<Body>> {
        let (id, seen) = last_event.rsplit_once('.')?;
        let (id, seen) = (Uuid::try_parse(id).ok()?, seen.parse().ok()?);
        let found = locked(&self.0).get(&id).cloned()?;
        let is_theirs = found.session == whose.session && found.caller == whose.caller;
        is_theirs.then(|| event_stream(found.read(seen, false, options.hold, permit)))
    }
}

/// Answers a request on a stream that can be resumed. What is done quickly needs none.
pub(super) async fn streamed_call(
    shared: &Arc<Shared>,
    options: &ResumeOptions,
    whose: Whose,
    id: &str,
    mut work: BoxFuture<'static, Reply>,
    mut messages: mpsc::Receiver<String>,
    share: Arc<Share>,
) -> Answered {
    if let Ok(reply) = timeout(QUICK, &mut work).await {
        return match messages.try_recv() {
            Ok(first) => Ok(event_stream(last_words(id, first, messages, reply))),
            Err(_) => plain_answer(id, reply),
        };
    }
    let Some(stream) = shared.mcp.streams.open(whose) else {
        return super::events::streamed_call(id, work, messages, share).await;
    };
    locked(&stream.said).held = Some(share.hold_responses());
    let body = stream.read(0, true, options.hold, None);
    let (shared, wait, id) = (Arc::clone(shared), options.wait, id.to_owned());
    tokio::spawn(async move {
        let ended = tokio::select! {
            biased;
            () = shared.closing.cancelled() => None,
            () = stream.is_left(wait) => None,
            reply = stream.drive(&mut work, &mut messages) => reply_text(&id, bounded(reply, &share)),
        };
        // What is still running is aborted.
        drop(work);
        stream.end(ended);
        // The end may have been lost on the way.
        tokio::select! {
            () = sleep(wait) => {}
            () = shared.closing.cancelled() => {}
        }
        locked(&shared.mcp.streams.0).remove(&stream.id);
    });
    Ok(event_stream(body))
}

impl Resumable {
    async fn drive(
        &self,
        work: &mut BoxFuture<'static, Reply>,
        messages: &mut mpsc::Receiver<String>,
    ) -> Reply {
        loop {
            tokio::select! {
                biased;
                Some(message) = messages.recv() => self.say(message),
                reply = &mut *work => {
                    while let Ok(message) = messages.try_recv() {
                        self.say(message);
                    }
                    return reply;
                }
            }
        }
    }

    fn say(&self, message: String) {
        let mut said = locked(&self.said);
        let has_room = |held: &Held| held.try_add(message.len());
        if said.bytes + message.len() > MOST_KEPT || !said.held.as_ref().is_none_or(has_room) {
            return;
        }
        said.bytes += message.len();
        said.messages.push(message::one_line(message).into());
        self.news.send_replace(said.messages.len());
    }

    fn end(&self, last: Option<String>) {
        let mut said = locked(&self.said);
        if let (Some(held), Some(last)) = (&said.held, &last) {
            held.add(last.len());
        }
        said.messages
            .extend(last.map(|last| message::one_line(last).into()));
        said.is_over = true;
        self.news.send_replace(said.messages.len());
    }

    /// Waits until the stream had no reader for a while.
    async fn is_left(&self, wait: Duration) {
        let mut readers = self.readers.subscribe();
        loop {
            // The sender is ours.
            let _ = readers.wait_for(|readers| *readers == 0).await.is_ok();
            let came_back = timeout(wait, readers.wait_for(|readers| *readers > 0)).await;
            if came_back.is_err() {
                return;
            }
        }
    }

    /// What was said after the first `seen` messages, and what will be.
    fn read(
        self: &Arc<Self>,
        seen: usize,
        is_first: bool,
        hold: Option<Duration>,
        permit: Option<Permit>,
    ) -> Body {
        let reader = Reader::new(self, seen, is_first, hold);
        let pieces = stream::unfold((reader, permit), |(mut reader, permit)| async move {
            let piece = reader.next().await?;
            Some((piece, (reader, permit)))
        });
        body::streamed(pieces.boxed())
    }
}

/// A reader of a stream, for as long as this exists.
struct Reader {
    stream: Arc<Resumable>,
    seen: usize,
    is_first: bool,
    until: Option<Instant>,
    news: watch::Receiver<usize>,
}

impl Reader {
    fn new(stream: &Arc<Resumable>, seen: usize, is_first: bool, hold: Option<Duration>) -> Self {
        stream.readers.send_modify(|readers| *readers += 1);
        Self {
            seen,
            is_first,
            until: hold.map(|hold| Instant::now() + hold),
            news: stream.news.subscribe(),
            stream: Arc::clone(stream),
        }
    }

    async fn next(&mut self) -> Option<Bytes> {
        let id = self.stream.id;
        if std::mem::take(&mut self.is_first) {
            // An event without a message, so that the client knows where to come back to.
            return Some(format!("id: {id}.0\nretry: {RETRY}\ndata:\n\n").into());
        }
        loop {
            self.news.borrow_and_update();
            let (next, is_over) = {
                let said = locked(&self.stream.said);
                (said.messages.get(self.seen).cloned(), said.is_over)
            };
            if let Some(text) = next {
                self.seen += 1;
                let seen = self.seen;
                return Some(format!("id: {id}.{seen}\nevent: message\ndata: {text}\n\n").into());
            }
            if is_over {
                return None;
            }
            let until = self.until;
            let is_held = async {
                match until {
                    Some(until) => sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = self.news.changed() => changed.ok()?,
                () = is_held => return None,
                () = sleep(KEEP_ALIVE) => return Some(comment()),
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stream
            .readers
            .send_modify(|readers| *readers = readers.saturating_sub(1));
    }
}

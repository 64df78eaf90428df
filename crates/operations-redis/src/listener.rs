//! The connection on which messages arrive.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use operations_core::json::is_too_deep;
use operations_core::log::{Level, Logger};
use redis::Msg;
use redis::aio::{PubSub, PubSubSink, PubSubStream};
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::backoff::Backoff;
use crate::connect::{CONNECT_TIMEOUT, open};
use crate::options::Options;
use crate::problem::Problem;
use crate::reports::Reports;
use crate::resp_filter::TOO_LONG;
use crate::subscriptions::{Plan, Subscriptions};

/// How often a silent server is asked whether it is there, and how long it may take to answer.
const PING_EVERY: Duration = Duration::from_secs(10);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) struct Listener {
    pub(crate) options: Arc<Options>,
    pub(crate) subscriptions: Arc<Subscriptions>,
    pub(crate) reports: Arc<Reports>,
    pub(crate) logger: Logger,
}

impl Listener {
    /// Listens to what is wanted, over one connection after the other, for ever.
    pub(crate) async fn run(self) {
        let mut backoff = Backoff::new();
        loop {
            self.wait_for_subscriptions().await;
            let mut session = Session::default();
            let ended = self.listen(&mut session).await;
            self.subscriptions
                .lose(ended.as_ref().err().map(ToString::to_string));
            let Err(problem) = ended else {
                backoff.reset();
                continue;
            };
            if session.has_listened {
                backoff.reset();
                self.reports.lost(&format!(
                    "The connection to Redis was lost ({problem}): events may have been missed"
                ));
            }
            self.logger.log(
                Level::Warning,
                "redis",
                format!("Not listening to Redis, trying again: {problem}"),
                [("server", json!(self.options.server()))],
            );
            self.wait(backoff.wait()).await;
        }
    }

    async fn wait_for_subscriptions(&self) {
        while self.subscriptions.is_empty() {
            // A publisher that listens to nothing has no subscription to wait for.
            self.subscriptions.confirm(self.subscriptions.version());
            self.subscriptions.changed().await;
        }
    }

    /// Waits, unless there is nothing left to wait for.
    async fn wait(&self, duration: Duration) {
        let end = Instant::now() + duration;
        while !self.subscriptions.is_empty() {
            tokio::select! {
                () = sleep_until(end) => return,
                () = self.subscriptions.changed() => {}
            }
        }
    }

    /// One connection, until nothing is wanted any more or it is lost.
    async fn listen(&self, session: &mut Session) -> Result<(), Problem> {
        let (mut sink, mut stream) = timeout(CONNECT_TIMEOUT, self.connect())
            .await
            .map_err(|_| Problem::too_slow(&self.options))??;
        loop {
            let plan = self.subscriptions.plan(&session.subscribed);
            if plan.missing.is_empty() && session.subscribed.len() == plan.surplus.len() {
                return Ok(());
            }
            let look_again = plan.look_again;
            self.follow(plan, &mut sink, session).await?;
            tokio::select! {
                message = stream.next() => self.deliver(&message.ok_or_else(|| {
                    Problem::passing(format!("Redis at {} closed the connection", self.options.server()))
                })?),
                () = self.subscriptions.changed() => {}
                () = until(look_again) => {}
                () = sleep(PING_EVERY) => self.ping(&mut sink).await?,
            }
        }
    }

    async fn connect(&self) -> Result<(PubSubSink, PubSubStream), Problem> {
        let socket = open(&self.options, Some(Arc::clone(&self.reports.mailbox))).await?;
        let connection = PubSub::new(&self.options.login, socket)
            .await
            .map_err(|error| Problem::of(&error, &self.options))?;
        Ok(connection.split())
    }

    /// Subscribes and unsubscribes, and wakes those who wait for it.
    async fn follow(
        &self,
        plan: Plan,
        sink: &mut PubSubSink,
        session: &mut Session,
    ) -> Result<(), Problem> {
        let channels = |types: &[String]| -> Vec<String> {
            types
                .iter()
                .map(|each| self.options.channel(each))
                .collect()
        };
        if !plan.missing.is_empty() {
            self.answered(sink.subscribe(channels(&plan.missing)))
                .await?;
            session.subscribed.extend(plan.missing);
            session.has_listened = true;
        }
        if !plan.surplus.is_empty() {
            self.answered(sink.unsubscribe(channels(&plan.surplus)))
                .await?;
            for event_type in &plan.surplus {
                session.subscribed.remove(event_type);
            }
        }
        self.subscriptions.confirm(plan.version);
        Ok(())
    }

    /// A server that has gone without a word is noticed by its silence.
    async fn ping(&self, sink: &mut PubSubSink) -> Result<(), Problem> {
        // While the mailbox is full, nothing is read from the socket, not even the answer to a ping.
        if self.reports.mailbox.is_full() {
            return Ok(());
        }
        self.answered(sink.ping::<redis::Value>()).await.map(drop)
    }

    async fn answered<T>(
        &self,
        answer: impl Future<Output = redis::RedisResult<T>>,
    ) -> Result<T, Problem> {
        timeout(ANSWER_TIMEOUT, answer)
            .await
            .map_err(|_| {
                Problem::passing(format!(
                    "Redis at {} does not answer",
                    self.options.server()
                ))
            })?
            .map_err(|error| Problem::of(&error, &self.options))
    }

    fn deliver(&self, message: &Msg) {
        let Some(event_type) = message
            .get_channel_name()
            .strip_prefix(self.options.prefix.as_str())
            .filter(|event_type| self.subscriptions.has_listener(event_type))
        else {
            return;
        };
        match read(message.get_payload_bytes()) {
            Ok(detail) => self.reports.message(event_type, detail),
            Err(Unusable::TooLong) => self.reports.too_large(),
            Err(Unusable::Malformed) => self.reports.malformed(),
        }
    }
}

/// What one connection has seen.
#[derive(Default)]
struct Session {
    subscribed: HashSet<String>,
    has_listened: bool,
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

#[derive(Debug, PartialEq)]
enum Unusable {
    TooLong,
    Malformed,
}

/// A message as JSON text. An empty one is an event without a detail.
fn read(payload: &[u8]) -> Result<&str, Unusable> {
    if payload.is_empty() {
        return Ok("null");
    }
    if payload == TOO_LONG {
        return Err(Unusable::TooLong);
    }
    let text = std::str::from_utf8(payload).map_err(|_| Unusable::Malformed)?;
    // Passed over without recursion, and so without a limit on depth.
    serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(|_| Unusable::Malformed)?;
    if is_too_deep(text) {
        return Err(Unusable::Malformed);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_is_passed_on() {
        assert_eq!(read(b"{\"a\":[1,null]}"), Ok("{\"a\":[1,null]}"));
        assert_eq!(read(b""), Ok("null"));
        assert_eq!(read(TOO_LONG), Err(Unusable::TooLong));
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(read(nested(10_000).as_bytes()).is_ok());
        assert_eq!(read(nested(10_001).as_bytes()), Err(Unusable::Malformed));
        let quoted = format!(r#"["\\\"{}"]"#, "[".repeat(20_000));
        assert!(read(quoted.as_bytes()).is_ok());
        for broken in [&b"{"[..], b"1]", b"1,2", b"\xff", b"NaN", b"{'a':1}", b"\0"] {
            assert_eq!(read(broken), Err(Unusable::Malformed));
        }
    }
}

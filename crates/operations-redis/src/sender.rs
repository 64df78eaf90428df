//! The connection on which messages are published.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use operations_core::error::{CallError, InfrastructureErrorCode};
use operations_core::log::{Level, Logger};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, RedisResult, Value};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::backoff::Backoff;
use crate::connect::{CONNECT_TIMEOUT, open};
use crate::options::Options;
use crate::outbox::{Outbox, Outgoing};
use crate::problem::{Delivery, Problem, is_login_refused};
use crate::reports::Reports;
use crate::subscriptions::Subscriptions;

/// How long Redis may take to accept a batch.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// For this long after Redis has come back, those who serve may be on their way back too: the longest pause between two of
/// their attempts, and a little.
const SERVERS_RETURN: Duration = Duration::from_secs(6);

/// How often a request without receivers in that time is sent again.
const SEND_AGAIN: Duration = Duration::from_millis(50);

/// An open connection.
struct Connection {
    commands: MultiplexedConnection,
    driver: JoinHandle<()>,
    /// The server alone knows who listens, so that "no receivers" is conclusive.
    counts_receivers: bool,
    /// Until when a missing listener may still come back.
    returning: Option<Instant>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

pub(crate) struct Sender {
    pub(crate) options: Arc<Options>,
    pub(crate) outbox: Arc<Outbox>,
    pub(crate) subscriptions: Arc<Subscriptions>,
    pub(crate) reports: Arc<Reports>,
    pub(crate) logger: Logger,
}

impl Sender {
    /// Sends what there is, over one connection after the other, for ever.
    pub(crate) async fn run(self) {
        let mut backoff = Backoff::new();
        let mut connection: Option<Connection> = None;
        let mut was_away = false;
        loop {
            self.outbox.is_filled().await;
            was_away |= connection
                .as_ref()
                .is_some_and(|open| open.driver.is_finished());
            let open = match connection.take().filter(|open| !open.driver.is_finished()) {
                Some(open) => Ok(open),
                None => self.connect_in_time(was_away).await,
            };
            match open {
                Ok(mut open) => {
                    backoff.reset();
                    was_away = self.send_batch(&mut open).await.is_err();
                    connection = (!was_away).then_some(open);
                }
                Err(problem) => {
                    was_away = true;
                    self.postpone(&problem, backoff.wait()).await;
                }
            }
        }
    }

    /// Connects while the first message may wait for it.
    async fn connect_in_time(&self, was_away: bool) -> Result<Connection, Problem> {
        let end = Instant::now() + CONNECT_TIMEOUT;
        let end = self.outbox.first().map_or(end, |(_, until)| until.min(end));
        timeout_at(end, self.connect(was_away))
            .await
            .unwrap_or_else(|_| Err(Problem::too_slow(&self.options)))
    }

    async fn connect(&self, was_away: bool) -> Result<Connection, Problem> {
        let socket = open(&self.options, None).await?;
        let config = AsyncConnectionConfig::new()
            .set_response_timeout(Some(ANSWER_TIMEOUT))
            .set_connection_timeout(None);
        let problem = |error| Problem::of(&error, &self.options);
        let (mut commands, driver) =
            MultiplexedConnection::new_with_config(&self.options.login, socket, config)
                .await
                .map_err(problem)?;
        let driver = tokio::spawn(driver);
        // Servers before Redis 6 do not know the command, and a user may not be allowed to give it; then nothing
        // is concluded.
        let about: RedisResult<HashMap<String, Value>> =
            redis::cmd("HELLO").query_async(&mut commands).await;
        if let Err(error) = &about
            && is_login_refused(error)
        {
            return Err(Problem::of(error, &self.options));
        }
        let counts_receivers = about.is_ok_and(|about| {
            let says = |field: &str, word: &[u8]| {
                matches!(about.get(field), Some(Value::BulkString(text)) if text == word)
            };
            says("mode", b"standalone") && says("role", b"master")
        });
        Ok(Connection {
            commands,
            driver,
            counts_receivers,
            returning: was_away.then(|| Instant::now() + SERVERS_RETURN),
        })
    }

    /// There is no connection: what has waited long enough fails, the others wait on.
    async fn postpone(&self, problem: &Problem, wait: Duration) {
        let end = Instant::now() + wait;
        loop {
            let now = Instant::now();
            let overdue = self
                .outbox
                .take(|next, _| problem.is_lasting || next.until <= now);
            self.not_sent(overdue, problem, Delivery::NotSent);
            match self.outbox.first() {
                Some((_, until)) if until < end => sleep_until(until).await,
                _ => break,
            }
        }
        sleep_until(end).await;
    }

    /// Sends the next messages in one go. Fails if the connection is no longer of use.
    async fn send_batch(&self, open: &mut Connection) -> Result<(), Problem> {
        let Some((after, until)) = self.outbox.first() else {
            return Ok(());
        };
        // An answer must find its listeners.
        if timeout_at(until, self.subscriptions.is_confirmed(after))
            .await
            .is_err()
        {
            let now = Instant::now();
            let overdue = self.outbox.take(|next, _| next.until <= now);
            let reason = self
                .subscriptions
                .trouble()
                .unwrap_or_else(|| format!("Redis at {} does not answer", self.options.server()));
            let problem =
                Problem::passing(format!("there is no listener for the answer: {reason}"));
            self.not_sent(overdue, &problem, Delivery::NotSent);
            return Ok(());
        }
        let batch = self.outbox.take_batch(after);
        let mut pipeline = redis::Pipeline::with_capacity(batch.len());
        for message in &batch {
            pipeline
                .cmd("PUBLISH")
                .arg(&message.channel)
                .arg(&message.text);
        }
        let outcome: RedisResult<Vec<RedisResult<u64>>> = pipeline
            .ignore_errors()
            .query_async(&mut open.commands)
            .await;
        match outcome {
            Ok(receivers) => {
                let returned = self.sent(batch, receivers, open);
                if !returned.is_empty() {
                    self.outbox.put_back(returned);
                    sleep(SEND_AGAIN).await;
                }
                Ok(())
            }
            Err(error) => {
                let problem = Problem::of(&error, &self.options);
                self.not_sent(batch, &problem, Delivery::MaybeSent);
                Err(problem)
            }
        }
    }

    /// Sees to what became of messages. Returns those without receivers, if a listener may soon be back: a request, and
    /// what followed it, which may be its abort.
    fn sent(
        &self,
        batch: Vec<Outgoing>,
        receivers: Vec<RedisResult<u64>>,
        open: &Connection,
    ) -> Vec<Outgoing> {
        let is_conclusive = open.counts_receivers && self.options.require_receiver;
        let now = Instant::now();
        let may_return = open.returning.is_some_and(|until| now < until);
        let mut returned: Vec<Outgoing> = Vec::new();
        for (message, receivers) in batch.into_iter().zip(receivers) {
            let is_next = message.request_id.is_some() || !returned.is_empty();
            match receivers {
                Ok(0) if is_conclusive && may_return && is_next && now < message.until => {
                    returned.push(message);
                }
                Ok(0) if is_conclusive => self.no_listeners(message),
                Ok(_) => self.finished(),
                Err(error) => {
                    let problem = Problem::of(&error, &self.options);
                    self.not_sent(vec![message], &problem, Delivery::NotSent);
                }
            }
        }
        returned
    }

    fn finished(&self) {
        self.reports.finished(self.outbox.finish());
    }

    fn no_listeners(&self, message: Outgoing) {
        if let Some(request_id) = message.request_id {
            let error = CallError::new(
                InfrastructureErrorCode::OperationNotFound,
                format!(
                    "Calls are not served: no one listens to the channel {} of Redis at {}",
                    message.channel,
                    self.options.server()
                ),
            )
            .with_details(json!({
                "reason": "no-worker",
                "delivery": "none",
                "channel": message.channel,
                "server": self.options.server(),
            }));
            self.reports.failed(&request_id, &error);
        }
        self.finished();
    }

    fn not_sent(&self, messages: Vec<Outgoing>, problem: &Problem, delivery: Delivery) {
        let mut answers = 0_u64;
        for message in messages {
            match message.request_id {
                Some(request_id) => {
                    let error = problem.clone().into_error(delivery, &self.options);
                    self.reports.failed(&request_id, &error);
                }
                None => answers += 1,
            }
            self.finished();
        }
        if answers > 0 {
            self.logger.log(
                Level::Warning,
                "redis",
                format!("{answers} events that no caller waits for {delivery}: {problem}"),
                [("server", json!(self.options.server()))],
            );
        }
    }
}

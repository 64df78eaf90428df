//! The bus as its user sees it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use operations_core::error::CallError;
use operations_core::log::Logger;
use operations_core::mailbox::Mailbox;
use serde_json::json;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::listener::Listener;
use crate::options::Options;
use crate::outbox::{Outbox, Outgoing};
use crate::problem::refused;
use crate::reports::Reports;
use crate::sender::Sender;
use crate::subscriptions::Subscriptions;

/// Publishes events to the channels of a Redis, and listens to them. Connects when there is something to do.
pub struct RedisBus {
    options: Arc<Options>,
    subscriptions: Arc<Subscriptions>,
    outbox: Arc<Outbox>,
    closed: CancellationToken,
}

impl RedisBus {
    /// A bus, and the work that drives it, which ends when the bus is closed or dropped. What arrives goes to the
    /// mailbox: messages and failures to send, losses, and `counts` of what was dropped and what was finished.
    pub fn new(
        options: Options,
        logger: Logger,
        mailbox: Arc<Mailbox>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let bus = Self {
            options: Arc::new(options),
            subscriptions: Arc::new(Subscriptions::new()),
            outbox: Arc::default(),
            closed: CancellationToken::new(),
        };
        let reports = Arc::new(Reports::new(mailbox));
        let listener = Listener {
            options: Arc::clone(&bus.options),
            subscriptions: Arc::clone(&bus.subscriptions),
            reports: Arc::clone(&reports),
            logger: logger.clone(),
        };
        let sender = Sender {
            options: Arc::clone(&bus.options),
            outbox: Arc::clone(&bus.outbox),
            subscriptions: Arc::clone(&bus.subscriptions),
            reports: Arc::clone(&reports),
            logger,
        };
        let closed = bus.closed.clone();
        let work = async move {
            let running = async { tokio::join!(listener.run(), sender.run()) };
            let guarded = AssertUnwindSafe(running).catch_unwind();
            let outcome = tokio::select! {
                () = closed.cancelled() => return,
                outcome = guarded => outcome,
            };
            // A defect of ours: waiting requests fail, and nothing more is accepted.
            if let Err(panic) = outcome {
                closed.cancel();
                reports.lost(&CallError::from_panic(&*panic).message);
            }
        };
        (bus, work)
    }

    /// Events of this type have a listener from now on.
    pub fn listen(&self, event_type: &str) {
        self.subscriptions.listen(event_type);
    }

    /// Events of this type have no listeners any more.
    pub fn unlisten(&self, event_type: &str) {
        self.subscriptions.unlisten(event_type);
    }

    /// Sends an event. If `request_id` is given and the event cannot be sent, the mailbox has that.
    ///
    /// # Errors
    ///
    /// If the bus is closed, the message is too large, or too many wait already.
    pub fn publish(
        &self,
        event_type: &str,
        detail: String,
        request_id: Option<String>,
    ) -> Result<(), CallError> {
        if self.closed.is_cancelled() {
            return Err(refused(
                "The connection to Redis was closed by close(): nothing can be sent".to_owned(),
                "closed",
                &self.options,
            ));
        }
        let limit = self.options.max_message_bytes;
        if detail.len() > limit {
            let message = format!(
                "An event {event_type} of {} bytes is larger than maxMessageBytes ({limit}): send less, or raise the limit on both sides",
                detail.len()
            );
            return Err(CallError::invalid(message).with_details(json!({
                "bytes": detail.len(),
                "maxMessageBytes": limit,
                "delivery": "none",
            })));
        }
        let message = Outgoing {
            channel: self.options.channel(event_type),
            text: detail,
            request_id,
            after: self.subscriptions.version(),
            until: Instant::now() + self.options.publish_timeout,
        };
        self.outbox.push(message, &self.options)
    }

    /// Ends both connections. What is not sent yet is not sent.
    pub fn close(&self) {
        self.closed.cancel();
    }
}

impl Drop for RedisBus {
    fn drop(&mut self) {
        self.close();
    }
}

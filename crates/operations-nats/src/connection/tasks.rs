//! What runs beside a connection for as long as it is open.

use std::sync::Arc;

use async_nats::connection::State as Link;
use async_nats::{ClientError, Event};
use operations_core::clock::milliseconds;
use operations_core::lock::locked;
use operations_core::log::Level;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::{MODULE, Outbound, Shared, send};

/// Hands messages to the client, in their order. It shares a thread with the client's own task, which writes once
/// this one waits: what is there at a time is one write.
pub(super) async fn publish(shared: Arc<Shared>) {
    loop {
        if shared.has_submitted() {
            shared.act(|_, _, _| ());
        }
        let batch = std::mem::take(&mut *locked(&shared.outbox));
        if batch.is_empty() {
            shared.outgoing.notified().await;
            continue;
        }
        for outbound in batch {
            match outbound {
                Outbound::Message(message) => send(&shared.client, message).await,
                Outbound::Flush(done) => {
                    let _ = shared.client.flush().await;
                    let _ = done.send(());
                }
            }
        }
    }
}

/// Deadlines, signs of life, and what else has its time.
pub(super) async fn keep_time(shared: Arc<Shared>) {
    loop {
        let due = shared.act(|now, state, _| state.next_due() - now);
        let wait = milliseconds(due.min(1_000.0));
        tokio::select! {
            () = sleep(wait) => {}
            () = shared.clock.notified() => continue,
        }
        check_link(&shared);
        shared.act(|now, state, todo| state.time(now, todo));
    }
}

/// Events of the client about the connection.
pub(super) async fn follow(shared: Arc<Shared>, mut events: mpsc::UnboundedReceiver<Event>) {
    while let Some(event) = events.recv().await {
        match event {
            Event::Connected | Event::Disconnected => check_link(&shared),
            Event::SlowConsumer(_) => shared.logger.log(
                Level::Warning,
                MODULE,
                "Messages were dropped: they arrived faster than they could be read",
                [],
            ),
            Event::ServerError(error) => {
                let text = error.to_string();
                if !take_refusal(&shared, &text) {
                    shared.act(|_, state, _| state.status.failed(&text));
                }
                let message = format!("The NATS server reports: {text}");
                shared.logger.log(Level::Warning, MODULE, message, []);
            }
            Event::ClientError(error) => attempt_failed(&shared, &error),
            Event::LameDuckMode | Event::Draining | Event::Closed => {}
        }
    }
}

/// What the server does not let this account do. Says whether that is what the text is about.
fn take_refusal(shared: &Arc<Shared>, text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    if !lower.contains("permissions violation") {
        return false;
    }
    let Some(subject) = text.split('"').nth(1) else {
        return true;
    };
    if lower.contains("for publish") {
        shared.act(|now, state, todo| state.on_forbidden(now, subject, todo));
    } else {
        locked(&shared.forbidden).insert(subject.to_owned());
    }
    true
}

/// An attempt to connect has failed. The same problem, again and again, is one warning.
fn attempt_failed(shared: &Arc<Shared>, error: &ClientError) {
    let problem = error.to_string();
    let is_new = shared.act(|_, state, _| {
        let is_new = state.status.failed(&problem);
        if is_new {
            shared.report_status(state);
        }
        is_new
    });
    let level = if is_new { Level::Warning } else { Level::Debug };
    let message = format!("No connection to NATS: {problem}");
    shared.logger.log(level, MODULE, message, []);
}

/// Updates the state with whether there is a connection. Events of the client can be lost, its state cannot.
fn check_link(shared: &Arc<Shared>) {
    let is_up = shared.client.connection_state() == Link::Connected;
    let max_payload = shared.client.max_payload();
    let changed = shared.act(|now, state, todo| {
        if state.is_connected() == is_up {
            return false;
        }
        if is_up {
            state.connected(now, max_payload, todo);
        } else {
            state.disconnected(now);
        }
        shared.report_status(state);
        true
    });
    if changed {
        let message = if is_up {
            "The connection to NATS is back"
        } else {
            "The connection to NATS is lost; it is being restored"
        };
        shared.logger.log(Level::Warning, MODULE, message, []);
    }
}

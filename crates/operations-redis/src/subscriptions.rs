//! Which events have listeners, and whether Redis knows.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use operations_core::lock::locked;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// How long a channel stays subscribed when its last listener has gone. A caller that makes one call after the
/// other would otherwise subscribe and unsubscribe for each.
const LINGER: Duration = Duration::from_secs(1);

#[derive(Default)]
struct State {
    /// Event types, and since when they have no listeners.
    types: HashMap<String, Option<Instant>>,
    /// Grows when there is something new to subscribe to.
    version: u64,
    /// Why nothing can be subscribed to at the moment.
    trouble: Option<String>,
}

/// What the listener must do.
pub(crate) struct Plan {
    pub(crate) version: u64,
    pub(crate) missing: Vec<String>,
    pub(crate) surplus: Vec<String>,
    /// When to look again, even if nothing changes.
    pub(crate) look_again: Option<Instant>,
}

pub(crate) struct Subscriptions {
    state: Mutex<State>,
    changed: Notify,
    confirmed: watch::Sender<u64>,
}

impl Subscriptions {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::default(),
            changed: Notify::new(),
            confirmed: watch::Sender::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    pub(crate) fn listen(&self, event_type: &str) {
        let mut state = self.lock();
        if state.types.insert(event_type.to_owned(), None).is_none() {
            state.version += 1;
            self.changed.notify_one();
        }
    }

    pub(crate) fn unlisten(&self, event_type: &str) {
        if let Some(idle) = self.lock().types.get_mut(event_type) {
            idle.get_or_insert_with(Instant::now);
            self.changed.notify_one();
        }
    }

    /// Whether there are listeners now.
    pub(crate) fn has_listener(&self, event_type: &str) -> bool {
        matches!(self.lock().types.get(event_type), Some(None))
    }

    /// Forgets what had no listeners for a while; says whether anything is left.
    pub(crate) fn is_empty(&self) -> bool {
        let mut state = self.lock();
        state.types.retain(|_, idle| !is_over(*idle));
        state.types.is_empty()
    }

    /// The difference between what is wanted and what is subscribed.
    pub(crate) fn plan(&self, subscribed: &HashSet<String>) -> Plan {
        let mut state = self.lock();
        state.types.retain(|_, idle| !is_over(*idle));
        let State { types, version, .. } = &*state;
        Plan {
            version: *version,
            missing: types
                .keys()
                .filter(|each| !subscribed.contains(*each))
                .cloned()
                .collect(),
            surplus: subscribed
                .iter()
                .filter(|each| !types.contains_key(*each))
                .cloned()
                .collect(),
            look_again: types
                .values()
                .filter_map(|idle| idle.map(|since| since + LINGER))
                .min(),
        }
    }

    /// Waits until something may have changed.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// What a message that is sent now has to wait for: an answer must find its listeners subscribed.
    pub(crate) fn version(&self) -> u64 {
        self.lock().version
    }

    /// Redis knows everything up to this version.
    pub(crate) fn confirm(&self, version: u64) {
        self.lock().trouble = None;
        self.confirmed.send_replace(version);
    }

    /// Redis knows nothing, because the connection is lost.
    pub(crate) fn lose(&self, trouble: Option<String>) {
        self.lock().trouble = trouble;
        self.confirmed.send_replace(0);
    }

    pub(crate) fn trouble(&self) -> Option<String> {
        self.lock().trouble.clone()
    }

    /// Waits until Redis knows a version.
    pub(crate) async fn is_confirmed(&self, version: u64) {
        // The sender lives as long as this object.
        let _ = self
            .confirmed
            .subscribe()
            .wait_for(|confirmed| *confirmed >= version)
            .await;
    }
}

fn is_over(idle: Option<Instant>) -> bool {
    idle.is_some_and(|since| since.elapsed() >= LINGER)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_plan_is_the_difference() {
        let subscriptions = Subscriptions::new();
        subscriptions.listen("a");
        subscriptions.listen("b");
        subscriptions.listen("b");
        let plan = subscriptions.plan(&HashSet::from(["b".to_owned(), "c".to_owned()]));
        assert_eq!(
            (plan.version, plan.missing, plan.surplus),
            (2, vec!["a".to_owned()], vec!["c".to_owned()])
        );
        assert!(plan.look_again.is_none());
    }

    #[test]
    fn a_channel_lingers_and_can_be_taken_up_again() {
        let subscriptions = Subscriptions::new();
        subscriptions.listen("a");
        subscriptions.unlisten("a");
        assert!(!subscriptions.has_listener("a") && !subscriptions.is_empty());
        let plan = subscriptions.plan(&HashSet::from(["a".to_owned()]));
        assert!(plan.surplus.is_empty() && plan.look_again.is_some());
        subscriptions.listen("a");
        assert!(subscriptions.has_listener("a"));
        // Redis never knew of the pause, so there is nothing to wait for.
        assert_eq!(subscriptions.version(), 1);
        subscriptions.unlisten("unknown");
        assert!(!subscriptions.has_listener("unknown"));
    }

    #[test]
    fn a_message_waits_for_what_was_listened_to_before() {
        let subscriptions = Subscriptions::new();
        let is_confirmed = || {
            subscriptions
                .is_confirmed(subscriptions.version())
                .now_or_never()
                .is_some()
        };
        assert!(is_confirmed());
        subscriptions.listen("a");
        assert!(!is_confirmed());
        subscriptions.confirm(1);
        assert!(is_confirmed());
        subscriptions.lose(Some("gone".to_owned()));
        assert!(!is_confirmed());
        assert_eq!(subscriptions.trouble().as_deref(), Some("gone"));
    }
}

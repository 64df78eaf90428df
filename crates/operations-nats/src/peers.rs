//! Who is there. Only those with whom there is something going on are watched.

use std::sync::Arc;

use operations_core::table::Table;

use crate::limits::{GONE_WHEN_ABSENT, GONE_WHEN_SILENT};

#[derive(Debug)]
struct Peer {
    heard: f64,
    /// Since when the broker says that there are no listeners.
    absent_since: Option<f64>,
}

/// The connections that this one waits for, or works for.
#[derive(Debug, Default)]
pub struct Peers {
    known: Table<Arc<str>, Peer>,
}

impl Peers {
    /// Begins to watch a peer, if it is not watched yet.
    pub fn watch(&mut self, now: f64, peer: &Arc<str>) {
        self.known.entry(Arc::clone(peer)).or_insert(Peer {
            heard: now,
            absent_since: None,
        });
    }

    /// The peer has sent something.
    pub fn heard(&mut self, now: f64, peer: &str) {
        if let Some(peer) = self.known.get_mut(peer) {
            peer.heard = now;
            peer.absent_since = None;
        }
    }

    /// The broker says that there are no listeners.
    pub fn absent(&mut self, now: f64, peer: &str) {
        if let Some(peer) = self.known.get_mut(peer) {
            peer.absent_since.get_or_insert(now);
        }
    }

    /// This side was cut off: what was not heard in that time says nothing.
    pub fn forgive(&mut self, now: f64) {
        for peer in self.known.values_mut() {
            peer.heard = now;
            peer.absent_since = None;
        }
    }

    /// Who is watched.
    pub fn ids(&self) -> impl Iterator<Item = &Arc<str>> {
        self.known.keys()
    }

    /// Those who are gone. They are not watched any more.
    pub fn take_gone(&mut self, now: f64) -> Vec<Arc<str>> {
        self.known
            .extract_if(|_, peer| {
                let absent = peer
                    .absent_since
                    .is_some_and(|since| now - since >= GONE_WHEN_ABSENT);
                absent || now - peer.heard >= GONE_WHEN_SILENT
            })
            .map(|(id, _)| id)
            .collect()
    }

    /// Watches only those for whom `is_needed` says yes; these are who is to be asked now.
    pub fn keep(&mut self, is_needed: impl Fn(&str) -> bool) -> Vec<Arc<str>> {
        self.known.retain(|id, _| is_needed(id));
        self.known.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gone_after_a_while_of_absence_or_silence() {
        let (a, b): (Arc<str>, Arc<str>) = (Arc::from("a"), Arc::from("b"));
        let mut peers = Peers::default();
        peers.watch(0.0, &a);
        peers.watch(0.0, &b);
        peers.absent(100.0, "a");
        peers.absent(600.0, "a");
        assert!(peers.take_gone(2_000.0).is_empty());
        peers.heard(2_100.0, "a");
        assert!(peers.take_gone(2_700.0).is_empty());
        peers.absent(3_000.0, "a");
        assert_eq!(peers.take_gone(5_500.0), [Arc::clone(&a)]);
        assert_eq!(peers.take_gone(6_000.0), [b]);
        peers.watch(0.0, &a);
        peers.forgive(50_000.0);
        assert!(peers.take_gone(50_001.0).is_empty());
        assert!(peers.keep(|_| false).is_empty());
        assert!(peers.take_gone(f64::MAX).is_empty());
    }
}

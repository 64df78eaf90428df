//! Whether there is a connection, and why not, for operators.

use serde_json::{Value, json};

/// What is with a connection, to a broker or to a hub.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// There was none yet.
    Connecting,
    /// It is there.
    Connected,
    /// It is lost, and is being restored.
    Disconnected,
    /// It was closed, for good.
    Closed,
}

impl Link {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Connected => "connected",
            Self::Disconnected => "disconnected",
            Self::Closed => "closed",
        }
    }
}

/// The connection as it is now, and how often that has changed: a late reader still sees what happened in between.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    link: Link,
    since: f64,
    problem: Option<String>,
    connections: u64,
    losses: u64,
}

impl Status {
    /// A connection that is being made.
    #[must_use]
    pub fn new(now: f64) -> Self {
        Self {
            link: Link::Connecting,
            since: now,
            problem: None,
            connections: 0,
            losses: 0,
        }
    }

    /// What is with it now.
    #[must_use]
    pub fn link(&self) -> Link {
        self.link
    }

    /// It has changed.
    pub fn change(&mut self, now: f64, link: Link) {
        if self.link == link {
            return;
        }
        match link {
            Link::Connected => {
                self.connections += 1;
                self.problem = None;
            }
            Link::Disconnected => self.losses += 1,
            Link::Connecting | Link::Closed => {}
        }
        self.link = link;
        self.since = now;
    }

    /// How often it came back.
    #[must_use]
    pub fn reconnections(&self) -> u64 {
        self.connections.saturating_sub(1)
    }

    /// Why there is no connection. Says whether that is news.
    pub fn failed(&mut self, problem: &str) -> bool {
        let is_new = self.problem.as_deref() != Some(problem);
        if is_new {
            self.problem = Some(problem.to_owned());
        }
        is_new
    }

    /// For users; `connections` and `losses` are for those who tell them of changes.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "state": self.link.as_str(),
            "since": self.since,
            "problem": self.problem,
            "connections": self.connections,
            "losses": self.losses,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_counted_once() {
        let mut status = Status::new(1.0);
        assert!(status.failed("refused") && !status.failed("refused"));
        status.change(2.0, Link::Connected);
        status.change(3.0, Link::Connected);
        assert_eq!(status.reconnections(), 0);
        assert_eq!(
            status.to_json(),
            json!({"state": "connected", "since": 2.0, "problem": null, "connections": 1, "losses": 0})
        );
        status.change(4.0, Link::Disconnected);
        status.change(5.0, Link::Connected);
        assert_eq!(status.reconnections(), 1);
        status.change(6.0, Link::Closed);
        assert_eq!(status.link(), Link::Closed);
    }
}

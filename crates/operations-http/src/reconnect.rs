//! When a stream is opened again, and from where.

use std::time::Duration;

use crate::message::Request;
use crate::message::retry::{Failure as Why, reconnection_delay};

use crate::random;

/// The longest pause that a server may ask for.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// How a stream is opened again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reconnect {
    /// Attempts in a row that bring no event.
    pub(crate) max_retries: u32,
}

/// What is known when a stream has ended, or an attempt to open it again has failed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lost {
    /// Attempts in a row that brought no event.
    pub attempts: u32,
    /// How the last attempt failed; nothing when the stream has ended.
    pub why: Option<Why>,
    /// What the stream said in `retry:`, in milliseconds.
    pub stream_asks: Option<u64>,
    /// What the server said in `Retry-After`.
    pub server_asks: Option<Duration>,
}

impl Reconnect {
    /// The pause before the next attempt, or nothing when there is to be none.
    #[must_use]
    pub fn pause(self, lost: Lost) -> Option<Duration> {
        let hopeless = match lost.why {
            Some(Why::Status(status)) => !matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504),
            Some(Why::NeverConnected | Why::ConnectionLost) | None => false,
        };
        let asked = lost.server_asks.unwrap_or_default();
        if hopeless || lost.attempts >= self.max_retries || asked > LONGEST_PAUSE {
            return None;
        }
        let attempt = lost.attempts.saturating_add(1);
        let pause = reconnection_delay(lost.stream_asks, attempt, random::fraction());
        Some(pause.max(asked))
    }
}

/// Makes the request ask for what comes after the event with this id. An id that no header can carry
/// is not sent.
pub fn resume_after(request: &mut Request, id: &str) {
    if id.is_empty() {
        return;
    }
    // Headers are written as Latin-1, and this one is UTF-8: each byte is a character of its own.
    let bytes: String = id.bytes().map(char::from).collect();
    let _ = request.headers.set("Last-Event-ID", &bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: Reconnect = Reconnect { max_retries: 2 };

    #[test]
    fn attempts_and_reasons_decide() {
        let pause = |attempts, why| {
            POLICY.pause(Lost {
                attempts,
                why,
                ..Lost::default()
            })
        };
        assert!(pause(0, None).is_some());
        assert!(pause(1, Some(Why::ConnectionLost)).is_some());
        assert!(pause(1, Some(Why::Status(503))).is_some());
        assert!(pause(2, None).is_none());
        assert!(pause(0, Some(Why::Status(404))).is_none());
    }

    #[test]
    fn the_longest_wish_counts_up_to_a_limit() {
        let pause = |server_asks| {
            POLICY.pause(Lost {
                stream_asks: Some(20),
                server_asks,
                ..Lost::default()
            })
        };
        let usual = pause(None).unwrap_or_default();
        assert!(usual >= Duration::from_millis(20) && usual <= Duration::from_millis(30));
        assert_eq!(
            pause(Some(Duration::from_secs(9))),
            Some(Duration::from_secs(9))
        );
        assert_eq!(pause(Some(Duration::from_secs(301))), None);
    }
}

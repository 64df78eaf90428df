//! A response that is a stream, and how it is opened again.

use std::time::{Duration, Instant};

use operations_core::error::CallError;

use super::feed::{Feed, StreamKind};
use super::retry::{Cause, Lost, random_fraction};
use super::{Machine, OpenStream, Output, State};
use crate::message::ResponseHead;

/// How long a stream that was opened again has to last, with an event, before the attempts are forgotten.
const HOLDS: Duration = Duration::from_secs(5);

impl Machine {
    pub(super) fn begin_stream(&mut self, head: ResponseHead, kind: StreamKind, now: Instant) {
        let int64 = self.int64();
        let is_served = self.is_served();
        match &mut self.feed {
            Some(feed) if feed.kind() == kind => feed.begin_again(),
            other => {
                let mut feed = Feed::new(kind, self.rules.event_limits, &self.last_event_id, int64);
                if is_served {
                    feed.open_envelopes();
                }
                // What it took to open the stream does not count against opening it again.
                if other.replace(Box::new(feed)).is_none() {
                    self.tries = 1;
                }
            }
        }
        self.head = Some((head, kind));
        self.state = State::Streaming;
        self.opened = Some(OpenStream {
            since: now,
            had_event: false,
        });
        // The time limit of a stream is for its head.
        self.limit = None;
    }

    /// After the feed has read something: what cannot be read ends the stream.
    pub(super) fn look_at_feed(&mut self) {
        let Some(feed) = &mut self.feed else { return };
        if let Some(stream) = &mut self.opened {
            stream.had_event |= feed.has_events();
        }
        if let Some(error) = feed.take_failure() {
            self.fail(error.into());
        }
    }

    /// The connection of a stream has ended, with an error or without.
    pub(super) fn on_stream_end(&mut self, error: Option<CallError>, now: Instant) {
        if let Some(feed) = &mut self.feed {
            feed.finish();
        }
        self.look_at_feed();
        if self.last.is_some() {
            return;
        }
        let has_held = |stream: &OpenStream| {
            stream.had_event && now.saturating_duration_since(stream.since) >= HOLDS
        };
        if self.opened.as_ref().is_some_and(has_held) {
            self.tries = 1;
        }
        let pause = self.reopening_delay(None, None);
        match (pause.and_then(|pause| now.checked_add(pause)), error) {
            (Some(until), _) => self.pause(until),
            (None, Some(error)) => self.fail(error.into()),
            (None, None) => self.finish(Output::End),
        }
    }

    pub(super) fn reopening_delay(
        &self,
        cause: Option<Cause>,
        asked: Option<Duration>,
    ) -> Option<Duration> {
        let feed = self.feed.as_ref()?;
        // A stream of lines has no ids to go on from: what was sent would be sent again.
        let policy = self.rules.reconnect?;
        if !policy.any_method && self.outgoing.first_method() != "GET" {
            return None;
        }
        let lost = Lost {
            attempts: self.tries - 1,
            cause,
            stream_asks: feed.reconnection_time(),
            server_asks: asked,
        };
        let pause = policy.delay(lost, random_fraction());
        pause.filter(|_| feed.kind() == StreamKind::Events)
    }
}
